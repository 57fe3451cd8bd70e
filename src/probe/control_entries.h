/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_CONTROL_ENTRIES_H
#define TARE_PROBE_CONTROL_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "p4rt/entry.h"

/*
 * The entries of a control plan: entry i of switch s follows from i, s and the seed, and
 * from an entry's key follows its i. So what a switch holds can be judged without a
 * list of what it should hold. Pure.
 *
 * One key carries the index: the widest exact, lpm, ternary or optional one, by a permutation of up to 24 bits
 * (i * stride + offset, stride odd). lpm keys have their full length, ternary keys all bits; further ternary, range
 * and optional keys are there in one entry of two. Parameters are random bits but for those called port.
 */
enum { CONTROL_INDEX_BITS = 24, CONTROL_KEY_BITS_MOST = 512 };

struct control_table {
	const struct p4info *info;
	const struct p4info_table *table;
	const struct p4info_action *actions[2]; /* by generation: of inserts, and of modifies */
	uint32_t key;                           /* which one carries the index */
	uint32_t index_bits;
	uint32_t stride, stride_inverse, offset; /* modulo 1 << index_bits */
	uint64_t seed;
	uint32_t port;
};

/*
 * Which table and action a plan means, by name or (NULL) by default: the largest table that can be written, its first
 * action with parameters. `count` entries must differ. ERR_USAGE names what does not fit.
 */
int control_table_init(const struct p4info *info, const char *table, const char *action, uint32_t port, uint32_t count,
		       uint64_t seed, struct control_table *ret, struct err *err);

struct control_entry {
	struct p4rt_entry entry;
	struct p4rt_match match[P4INFO_FIELDS_LIMIT];
	struct p4rt_bytes params[P4INFO_FIELDS_LIMIT];
	uint8_t values[P4INFO_FIELDS_LIMIT][2][8];
	uint8_t param_values[P4INFO_FIELDS_LIMIT][8];
	uint8_t masks[P4INFO_FIELDS_LIMIT][CONTROL_KEY_BITS_MOST / 8];
};

/* Entry `index` of switch `at`. ret->entry borrows from *ret. */
void control_entry_make(const struct control_table *t, uint32_t at, uint32_t index, unsigned generation,
			struct control_entry *ret);

/* The index whose key an entry of this table has; false: of none. Compare the entry with it: only one field was looked at. */
bool control_entry_index(const struct control_table *t, const struct p4rt_entry *entry, uint32_t *ret_index);

/* The value of the key that carries it: what packets for this entry are sent to. */
uint64_t control_entry_key(const struct control_table *t, uint32_t index);

/* Does an entry alone decide where packets to its key go? ret_bits: 32 an IPv4 address, 48 a MAC address. */
bool control_table_forwards(const struct control_table *t, uint32_t *ret_bits);

#endif
