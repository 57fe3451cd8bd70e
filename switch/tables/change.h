/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_TABLES_CHANGE_H
#define TARE_SWITCH_TABLES_CHANGE_H

#include "tables/state.h"

/*
 * The control thread's side of a state: one thread, while any number of readers
 * run. Every change is one step for a reader. Functions return 0, or
 *
 *   -EEXIST  it is there already          -ENOENT  there is none
 *   -ENOSPC  full                         -EPERM   constant: the program forbids it
 *   -EINVAL  cannot be (message)          -ENOMEM
 *   -EBUSY   still referred to
 *
 * with a message in *err. Pointers to entries, members and groups that these
 * functions return are valid until the next quiesce_collect.
 */

/* --- table entries --- */

/* Packed like the table's key. Exact: value; LPM: value and prefix_bits of the LPM key; ternary and range tables: by key
 * value and mask, of range keys low and high, of exact keys the value alone. Values are taken as masked. */
struct match_spec {
	const uint64_t *value, *mask;
	uint32_t prefix_bits;
	int32_t priority;
};

struct choice {
	uint32_t action; /* must be one of the table's */
	const uint64_t *params;
	uint32_t weight;
	uint32_t watch_port; /* kept, or NOWHERE */
};

enum spec_kind { SPEC_ACTION, SPEC_MEMBER, SPEC_GROUP, SPEC_CHOICES };

struct entry_spec {
	enum spec_kind kind;
	struct choice action;         /* SPEC_ACTION */
	uint32_t id;                  /* SPEC_MEMBER, SPEC_GROUP */
	const struct choice *choices; /* SPEC_CHOICES: a group of its own */
	uint32_t choice_count;

	/* kept for the controller */
	int64_t idle_timeout_ns;
	uint64_t controller_metadata;
	const uint8_t *metadata;
	size_t metadata_bytes;
};

/* ret_entry may be NULL. */
int table_insert(struct state *state, uint32_t table, const struct match_spec *match, const struct entry_spec *spec,
		 const struct entry **ret_entry, struct err *err);
int table_modify(struct state *state, uint32_t table, const struct match_spec *match, const struct entry_spec *spec,
		 const struct entry **ret_entry, struct err *err);
int table_delete(struct state *state, uint32_t table, const struct match_spec *match, struct err *err);
const struct entry *table_find(const struct state *state, uint32_t table, const struct match_spec *match);

/* NULL spec: back to the program's default. */
int table_set_default(struct state *state, uint32_t table, const struct entry_spec *spec, struct err *err);
const struct entry *table_default(const struct state *state, uint32_t table);
bool table_default_changed(const struct state *state, uint32_t table); /* it is not the program's */

/* The entries that came with the program are ordinary ones (`entries`, not `const entries`). */
void table_set_mutable(struct state *state, uint32_t table);

uint32_t table_entries(const struct state *state, uint32_t table);

/* Undo: an entry that was unlinked comes back with its counters; what is in its place goes. */
int table_restore(struct state *state, const struct entry *entry, struct err *err);

/* All entries, in no order: start from {0}; NULL at the end. No change between two calls. */
struct entry_cursor {
	uint64_t group, bucket;
	const struct entry_link *link;
};
const struct entry *table_next(const struct state *state, uint32_t table, struct entry_cursor *cursor);

/* What an entry says. Words are packed as in match_spec. */
static inline const uint64_t *entry_value(const struct entry *entry)
{
	return entry->words;
}
const uint64_t *entry_mask(const struct state *state, const struct entry *entry); /* ternary and range tables */

struct entry_notes {
	int64_t idle_timeout_ns;
	uint64_t controller_metadata;
	size_t metadata_bytes;
	uint8_t metadata[];
};

/* µs of entry_touch; 0: never. */
uint64_t entry_last_hit_us(const struct entry *entry);

/* --- action profiles --- */

struct group_member {
	uint32_t member_id, weight;
	uint32_t watch_port; /* or NOWHERE */
};

int member_insert(struct state *state, uint32_t profile, uint32_t id, uint32_t action, const uint64_t *params,
		  struct err *err);
int member_modify(struct state *state, uint32_t profile, uint32_t id, uint32_t action, const uint64_t *params,
		  struct err *err);
int member_delete(struct state *state, uint32_t profile, uint32_t id, struct err *err);
const struct member *member_find(const struct state *state, uint32_t profile, uint32_t id);
uint32_t member_id(const struct member *member);
const struct action_data *member_action(const struct member *member);

/* max_size 0: no limit of its own; of weights. */
int group_insert(struct state *state, uint32_t profile, uint32_t id, const struct group_member *members, uint32_t count,
		 uint32_t max_size, struct err *err);
int group_modify(struct state *state, uint32_t profile, uint32_t id, const struct group_member *members, uint32_t count,
		 struct err *err);
int group_delete(struct state *state, uint32_t profile, uint32_t id, struct err *err);
const struct group *group_find(const struct state *state, uint32_t profile, uint32_t id);
uint32_t group_id(const struct group *group);
uint32_t group_max_size(const struct group *group);
/* Its members in the order they are chosen in. Of an entry's own choices the ids are 0; group_choice says what they do. */
uint32_t group_members(const struct group *group, const struct group_member **ret_members);
const struct action_data *group_choice(const struct group *group, uint32_t member);

/* By index, 0 to count - 1, in no order. */
uint32_t profile_member_count(const struct state *state, uint32_t profile);
const struct member *profile_member(const struct state *state, uint32_t profile, uint32_t index);
uint32_t profile_group_count(const struct state *state, uint32_t profile);
const struct group *profile_group(const struct state *state, uint32_t profile, uint32_t index);

/* --- counters and meters --- */

struct counts {
	uint64_t packets, bytes;
};

bool counter_get(const struct state *state, uint32_t array, uint64_t index, struct counts *ret);
bool counter_set(struct state *state, uint32_t array, uint64_t index, const struct counts *counts);
bool entry_counts(const struct entry *entry, struct counts *ret); /* false: the table has no counters */
bool entry_set_counts(const struct entry *entry, const struct counts *counts);

struct meter_rates {
	uint64_t committed_per_s, committed_burst; /* packets or bytes */
	uint64_t peak_per_s, peak_burst;           /* not below the committed rate */
};

/* Get: false when it is not configured (or outside). Set: NULL: not configured again. */
bool meter_get(const struct state *state, uint32_t array, uint64_t index, struct meter_rates *ret);
int meter_set(struct state *state, uint32_t array, uint64_t index, const struct meter_rates *rates, struct err *err);
bool entry_meter(const struct entry *entry, struct meter_rates *ret);
int entry_set_meter(struct state *state, const struct entry *entry, const struct meter_rates *rates, struct err *err);

/* --- value sets, replication --- */

struct value_set_view {
	uint32_t count, words;
	uint64_t items[]; /* value, mask; value, mask; ... each of `words` */
};

/* All members at once; `items` as in the view. */
int value_set_set(struct state *state, uint32_t set, const uint64_t *items, uint32_t count, struct err *err);
const struct value_set_view *value_set_get(const struct state *state, uint32_t set); /* NULL: empty */

int multicast_insert(struct state *state, uint32_t id, const struct replica *replicas, uint32_t count, struct err *err);
int multicast_modify(struct state *state, uint32_t id, const struct replica *replicas, uint32_t count, struct err *err);
int multicast_delete(struct state *state, uint32_t id, struct err *err);
uint32_t multicast_count(const struct state *state);
uint32_t multicast_id(const struct state *state, uint32_t index); /* in no order */

/* session->replicas is copied. */
int clone_insert(struct state *state, uint32_t id, const struct clone_session *session, struct err *err);
int clone_modify(struct state *state, uint32_t id, const struct clone_session *session, struct err *err);
int clone_delete(struct state *state, uint32_t id, struct err *err);
uint32_t clone_count(const struct state *state);
uint32_t clone_id(const struct state *state, uint32_t index);

#endif
