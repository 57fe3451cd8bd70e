/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_CONTROL_NAMES_H
#define TARE_SWITCH_CONTROL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "program/program.h"

/*
 * The controller's names of what a program has: P4Info, held against the program
 * when it is loaded. Ids, names, widths and match kinds must fit; what does not
 * is refused, by its name.
 */
enum name_kind {
	NAME_NONE,
	NAME_TABLE,
	NAME_ACTION,
	NAME_PROFILE,
	NAME_COUNTER,
	NAME_DIRECT_COUNTER,
	NAME_METER,
	NAME_DIRECT_METER,
	NAME_REGISTER,
	NAME_VALUE_SET,
	NAME_DIGEST,
};

enum action_scope { SCOPE_BOTH, SCOPE_TABLE_ONLY, SCOPE_DEFAULT_ONLY };

struct name_action {
	uint32_t id;
	const char *name;
	uint32_t *param_ids, *param_bits;
	uint32_t param_count;
};

/* An action as a table may use it. */
struct name_action_ref {
	uint32_t id, action; /* index in the program's actions */
	enum action_scope scope;
};

struct name_table {
	uint32_t id; /* 0: P4Info does not name this table */
	uint32_t *field_ids;
	uint32_t *kinds; /* enum match_kind of each field, as controllers see it: p4c makes optional keys ternary */
	struct name_action_ref *refs;
	uint32_t ref_count;
	bool is_const, with_priority, with_timeout;
	uint32_t counter_id, meter_id; /* of direct ones; 0: none */
};

struct name_profile {
	uint32_t id;
	uint32_t max_group_size; /* 0: no limit */
	uint32_t table;          /* one whose actions its members may run */
};

struct name_value_set {
	uint32_t id;
	uint32_t *field_ids;
	uint32_t *kinds; /* enum match_kind */
	uint32_t field_count;
	uint32_t size;
};

enum digest_shape { DIGEST_BITS, DIGEST_TUPLE, DIGEST_STRUCT };

struct name_digest {
	uint32_t id;
	enum digest_shape shape;
};

/* The fields of the header between the switch and the controller. */
struct name_packet_header {
	uint32_t *ids, *bits;
	uint32_t count;
	uint32_t bytes;
};

struct names {
	struct arena arena;
	const struct program *program;
	struct name_slot {
		uint32_t id, index;
		enum name_kind kind;
	} * slots; /* open hash by id */
	uint32_t slot_mask;
	struct name_action *actions; /* as P4Info numbers them */
	uint32_t action_count;
	/* by the program's index */
	struct name_table *tables;
	struct name_profile *profiles;
	uint32_t *counter_ids, *meter_ids, *register_ids;
	bool *register_signed; /* the program's JSON does not tell */
	struct name_value_set *value_sets;
	struct name_digest *digests;
	struct name_packet_header packet_in, packet_out;
};

/* `p4info` is a packed p4.config.v1.P4Info. ERR_USAGE: it does not fit. The program must outlive the names. */
int names_create(const uint8_t *p4info, size_t length, const struct program *program, struct names **ret_names,
		 struct err *err);
void names_destroy(struct names *names); /* NULL is fine */

/* The program's index of an id of that kind; NOWHERE. */
uint32_t names_find(const struct names *names, enum name_kind kind, uint32_t id);
enum name_kind names_kind(const struct names *names, uint32_t id);

#endif
