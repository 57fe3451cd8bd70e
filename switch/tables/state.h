/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_TABLES_STATE_H
#define TARE_SWITCH_TABLES_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "program/program.h"
#include "tables/quiesce.h"

/*
 * What a program needs at run time beside the packet: entries, action profiles,
 * registers, counters, meters, value sets, multicast groups and clone sessions.
 *
 * This header is the data plane's side: any number of threads, which never lock
 * and never wait, and which see each entry whole: as it was before a change or as
 * it is after. What a lookup returns stays valid until the thread's next
 * quiesce_pass. change.h is the control thread's side.
 */
struct state;

/*
 * Tables empty but for the program's own entries, all else zero. The program must outlive the state. `shared`: more
 * than one data-plane thread counts (counters are then added to atomically). Errors: ERR_USAGE names what in the
 * program cannot be had; -ENOMEM.
 */
int state_create(const struct program *program, struct quiesce *quiesce, bool shared, struct state **ret_state,
		 struct err *err);
void state_destroy(struct state *state); /* no reader may use it any more; NULL is fine */
const struct program *state_program(const struct state *state);

enum {
	TABLE_KEY_WORDS_MOST = 256, /* packed keys up to 16,384 bits; a program with a longer one is refused */
};

/* --- tables --- */

struct action_data {
	uint32_t action;        /* index in the program's actions, or NOWHERE: no action is set */
	uint32_t param_slots;   /* of that action */
	const uint64_t *params; /* ready to be copied to the program's params_slot */
};

/* How the action is chosen. */
enum entry_kind { ENTRY_ACTION, ENTRY_MEMBER, ENTRY_GROUP };

struct member;
struct group;
struct entry_cell; /* direct counter, direct meter and last hit: lives as long as the entry, through its changes */

struct entry_link {
	_Atomic(struct entry_link *) next[2];
	uint64_t hash;
};

struct entry {
	struct entry_link link;
	struct action_data action; /* ENTRY_ACTION */
	struct entry_cell *cell;   /* or NULL */
	uint8_t kind;              /* enum entry_kind */
	bool is_const, is_default;
	bool owns_target; /* a group made for this entry alone */
	uint32_t table;
	uint32_t prefix_bits; /* LPM tables */
	int32_t priority;     /* larger wins; among equals the lower handle, as BMv2 has it */
	uint32_t handle;
	const void *target; /* struct member or struct group */
	struct entry_notes *notes;
	uint64_t words[]; /* value, then mask (ternary) or low and high (range), then parameters */
};

/*
 * Look up the table's key in a packet's memory. Never NULL: the default entry when nothing matches, whose action may
 * be NOWHERE.
 */
const struct entry *table_lookup(const struct state *state, uint32_t table, const uint64_t *memory, bool *ret_hit);

/* The entry chooses among the members of a group: compute the selector's hash for entry_action. */
static inline bool entry_wants_hash(const struct entry *entry)
{
	return entry->kind == ENTRY_GROUP;
}

const struct action_data *entry_action_indirect(const struct entry *entry, uint64_t hash);

/* What to run. `hash` matters only if entry_wants_hash. An empty group has no action: NOWHERE. */
static inline const struct action_data *entry_action(const struct entry *entry, uint64_t hash)
{
	return entry->kind == ENTRY_ACTION ? &entry->action : entry_action_indirect(entry, hash);
}

enum colour { COLOUR_GREEN, COLOUR_YELLOW, COLOUR_RED };

/* What hangs on an entry; each does nothing (green) where the table has no such thing. Times: µs, never backwards. */
void entry_count_packet(const struct state *state, const struct entry *entry, uint32_t length_bytes);
enum colour entry_meter_packet(const struct state *state, const struct entry *entry, uint32_t length_bytes,
			       uint64_t now_us);
void entry_touch(const struct entry *entry, uint64_t now_us);

/* --- arrays; false: the index is outside, nothing happened --- */

bool register_read(const struct state *state, uint32_t array, uint64_t index, uint64_t *ret_slots);
bool register_write(struct state *state, uint32_t array, uint64_t index, const uint64_t *slots);
bool counter_count(struct state *state, uint32_t array, uint64_t index, uint32_t length_bytes);

/* Two rates, three colours, colour-blind (RFC 2698); one that is not configured is green. */
bool meter_execute(struct state *state, uint32_t array, uint64_t index, uint32_t length_bytes, uint64_t now_us,
		   enum colour *ret_colour);

/* --- parser value sets --- */

/* `key`: packed as the select that uses the set packs it. */
bool value_set_has(const struct state *state, uint32_t set, const uint64_t *key);

/* --- packet replication --- */

struct replica {
	uint32_t port, instance;
};

struct replicas {
	uint32_t count;
	struct replica items[];
};

struct clone_session {
	uint32_t class_of_service;
	uint32_t length_bytes; /* truncate to; 0: whole */
	const struct replicas *replicas;
};

/* NULL: there is no such group or session. */
const struct replicas *multicast_group(const struct state *state, uint32_t id);
const struct clone_session *clone_session(const struct state *state, uint32_t id);

#endif
