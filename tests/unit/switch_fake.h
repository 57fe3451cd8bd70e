/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_SWITCH_FAKE_H
#define TARE_TESTS_SWITCH_FAKE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

/*
 * A program of one table, made by hand: key k is a field of its own, action 0
 * takes nothing, action 1 one parameter of one slot, action 2 one of two slots.
 * Good for one table and what hangs on it; it runs nothing.
 */
struct fake {
	struct program program;
	struct p4_table table;
	struct p4_key keys[8];
	struct p4_action actions[3];
	struct p4_profile profile;
	struct p4_counter counters[2];
	struct p4_meter meters[2];
	struct p4_register registers[2];
	struct p4_value_set set;
	struct p4_select select;
	uint32_t action_ids[3];
	uint64_t constants[1];
};

struct fake_key {
	enum match_kind kind;
	uint32_t bits;
};

static inline void fake_init(struct fake *f, const struct fake_key *keys, uint32_t count, uint32_t size)
{
	uint32_t slot = 0, kinds = 0;

	memset(f, 0, sizeof(*f));
	f->table.name = "T";
	for (uint32_t i = 0; i < count; i++) {
		uint32_t slots = (keys[i].bits + 63) / 64;

		f->keys[i] = (struct p4_key){ .name = "k",
					      .kind = keys[i].kind,
					      .slot = slot,
					      .bits = keys[i].bits,
					      .slots = slots,
					      .word = slot };
		slot += slots;
		kinds |= 1u << keys[i].kind;
	}
	f->table.keys = f->keys;
	f->table.key_count = count;
	f->table.key_words = slot;
	f->table.match = kinds & 1u << MATCH_RANGE                              ? TABLE_RANGE
			 : kinds & (1u << MATCH_TERNARY | 1u << MATCH_OPTIONAL) ? TABLE_TERNARY
			 : kinds & 1u << MATCH_LPM                              ? TABLE_LPM
										: TABLE_EXACT;
	f->table.size = size;
	for (uint32_t i = 0; i < 3; i++) {
		f->action_ids[i] = i;
		f->actions[i] = (struct p4_action){ .name = "a", .param_slots = i };
	}
	f->table.actions = f->action_ids;
	f->table.action_count = 3;
	f->table.profile = f->table.meter = NOWHERE;
	f->table.default_action = 0;
	f->table.default_params = f->constants;
	f->counters[0] = (struct p4_counter){ "c", 4, NOWHERE };
	f->meters[0] = (struct p4_meter){ .name = "m", .size = 4, .table = NOWHERE };
	f->meters[1] = (struct p4_meter){ .name = "direct", .size = size, .table = 0, .counts_bytes = true };
	f->registers[0] = (struct p4_register){ "r", 4, 128, 2, false };
	f->profile = (struct p4_profile){ "P", 8, true, 0 };
	f->select.words = 2;
	f->set = (struct p4_value_set){ "s", 96, 0 };
	f->program = (struct program){ .tables = &f->table,
				       .table_count = 1,
				       .actions = f->actions,
				       .action_count = 3,
				       .profiles = &f->profile,
				       .profile_count = 1,
				       .counters = f->counters,
				       .counter_count = 1,
				       .meters = f->meters,
				       .meter_count = 2,
				       .registers = f->registers,
				       .register_count = 1,
				       .value_sets = &f->set,
				       .value_set_count = 1,
				       .selects = &f->select,
				       .select_count = 1,
				       .constants = f->constants };
}

#endif
