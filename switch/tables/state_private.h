/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_TABLES_STATE_PRIVATE_H
#define TARE_SWITCH_TABLES_STATE_PRIVATE_H

#include <stddef.h>
#include <stdlib.h>

#include "base/vec.h"
#include "tables/change.h"
#include "tables/hash.h"
#include "tables/lpm.h"
#include "tables/tuple.h"

/* For the implementers of state.h and change.h. */

/* --- meters and counters --- */

/* A token bucket in one word, so that a packet is one compare-and-swap: tokens now = min(made(now) + level, burst). */
struct rate {
	uint64_t per_s, burst;
	_Atomic uint64_t level;
};

struct meter {
	struct rate committed, peak;
};

struct counter {
	_Atomic uint64_t packets, bytes; /* the data plane's: only ever grow */
	struct counts base;              /* the control thread's: what to take off */
};

struct entry_cell {
	struct counter counter;
	_Atomic(struct meter *) meter;
	_Atomic uint64_t last_hit_us;
	uint32_t refs; /* versions of the entry; the control thread's */
	bool counts, meters, meter_bytes;
};

enum colour meter_run(struct meter *meter, uint64_t amount, uint64_t now_us);
int meter_create(const struct meter_rates *rates, struct meter **ret_meter, struct err *err);
void meter_rates_of(const struct meter *meter, struct meter_rates *ret);
void counter_add(struct counter *counter, bool shared, uint32_t length_bytes);
void counter_read(const struct counter *counter, struct counts *ret);
void counter_write(struct counter *counter, const struct counts *counts);

/* --- action profiles --- */

struct member_data {
	struct action_data action;
	uint64_t params[];
};

struct member {
	struct entry_link link;
	uint32_t id, index, profile;
	uint32_t refs; /* entries and groups */
	uint64_t order;
	_Atomic(struct member_data *) data;
};

/* The members, and each as often as its weight says. */
struct group_view {
	uint32_t member_count, slot_count;
	struct group_member *members;
	const struct member **slots;
};

struct group {
	struct entry_link link;
	uint32_t id, index, profile, max_size;
	uint32_t refs;
	bool is_private; /* an entry's own choices: freed with its last version */
	_Atomic(struct group_view *) view;
};

struct profile {
	const struct p4_profile *p4;
	struct hash members_by_id, groups_by_id;
	VEC(struct member *) members;
	VEC(struct group *) groups;
	uint64_t created;
	uint32_t used; /* members and private choices */
};

int profile_init(struct profile *profile, const struct p4_profile *p4);
void profile_release(struct profile *profile);
int group_create_private(struct state *state, uint32_t profile, const struct choice *choices, uint32_t count,
			 struct group **ret_group, struct err *err);
void group_free_private(struct group *group);                     /* no reader holds it; see profile_unuse */
void profile_use(struct state *state, const struct group *group); /* by an entry */
void profile_unuse(struct state *state, const struct group *group);

/* --- tables --- */

struct table {
	const struct p4_table *p4;
	uint32_t index;
	uint32_t key_words;
	uint32_t *slots;      /* of each word of the key in a packet's memory */
	uint64_t *keep;       /* the bits of each word that count */
	uint32_t entry_words; /* value, and mask where there is one */
	uint32_t count;
	struct hash by_key; /* exact and LPM tables */
	struct lpm lpm;
	struct tuples tuples;
	_Atomic(struct entry *) fallback; /* the default entry */
	bool fallback_changed;
	bool is_const; /* entries stay as they came with the program */
};

int table_init(struct state *state, struct table *table, const struct p4_table *p4, uint32_t index, struct err *err);
int table_fill(struct state *state, struct table *table, struct err *err); /* the program's own entries */
void table_release(struct state *state, struct table *table);

/* --- value sets, replication --- */

struct replication {
	struct entry_link link;
	uint32_t id, index;
	struct clone_session session; /* its replicas follow in the same memory */
};

struct replications {
	struct hash by_id;
	VEC(struct replication *) items;
};

int replications_init(struct replications *r);
void replications_release(struct replications *r);

/* --- all of it --- */

struct state {
	const struct program *program;
	struct quiesce *quiesce;
	bool shared;
	struct table *tables;
	struct profile *profiles;
	_Atomic uint64_t **registers;
	struct counter **counters;
	_Atomic(struct meter *) **meters;
	_Atomic(struct value_set_view *) *value_sets;
	struct replications multicast, clones;
};

int arrays_init(struct state *state, struct err *err);
void arrays_release(struct state *state);

#endif
