/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_ENTRY_H
#define TARE_P4RT_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "p4rt/p4info.h"

/*
 * Table entries: as a struct, as readable text, and on the wire. Byte strings are
 * canonical everywhere: big-endian, without leading zero bytes, at least one byte.
 */
struct p4rt_bytes {
	const uint8_t *data;
	size_t length;
};

/* One key of an entry. data NULL: "do not care", and it is not sent. */
struct p4rt_match {
	struct p4rt_bytes value; /* range: the low end */
	struct p4rt_bytes mask;  /* ternary: the mask; range: the high end */
	uint32_t prefix_bits;    /* lpm */
};

/* Borrows what it points to. `match` has table->keys_count elements, `params` action->params_count. */
struct p4rt_entry {
	const struct p4info_table *table;
	const struct p4rt_match *match;
	const struct p4info_action *action; /* NULL: deletes, and reads by key */
	const struct p4rt_bytes *params;
	int32_t priority; /* > 0 where table->needs_priority, else 0; higher wins */
	bool is_default;  /* the table's default action; no keys */
};

enum p4rt_op { P4RT_INSERT = 1, P4RT_MODIFY = 2, P4RT_DELETE = 3 }; /* numbers of the wire */

/* The shortest form of a number, into at least 8 bytes of storage. */
struct p4rt_bytes p4rt_number(uint64_t value, uint8_t storage[8]);
/* The same value in its shortest form: leading zeros skipped. */
struct p4rt_bytes p4rt_canonical(const uint8_t *data, size_t length);

/*
 * Everything a target would refuse an entry for that its P4Info says: exact and LPM keys present, values within their
 * width, LPM bits beyond the prefix and ternary bits outside the mask zero, action allowed, priority where due.
 */
int p4rt_entry_check(const struct p4rt_entry *entry, enum p4rt_op op, struct err *err);

/* Equal in all a controller sets (key, priority, action, parameters); key: only what tells entries of a table apart. */
bool p4rt_entry_equal(const struct p4rt_entry *a, const struct p4rt_entry *b);
bool p4rt_entry_same_key(const struct p4rt_entry *a, const struct p4rt_entry *b);
uint64_t p4rt_entry_key_hash(const struct p4rt_entry *entry);

/* "table=routes destination=10.0.0.0/24 action=next_hop mac=... port=2", as p4rt_entries_parse reads it; the length. */
size_t p4rt_entry_format(const struct p4rt_entry *entry, char *buf, size_t size_bytes);

/*
 * Updates ready for the wire, one after another: encoded once, sent in any grouping. Start from all zeros. The
 * encoder writes p4.v1.Update and its length as WriteRequest holds it.
 */
struct p4rt_updates {
	uint8_t *bytes;
	size_t length_bytes, capacity_bytes;
	size_t *ends; /* of each update, in bytes */
	size_t count, capacity;
};

int p4rt_updates_add(struct p4rt_updates *updates, enum p4rt_op op, const struct p4rt_entry *entry); /* 0, -ENOMEM */
/* A register's cell, of bit<W>. */
int p4rt_updates_add_register(struct p4rt_updates *updates, const struct p4info_object *reg, int64_t index,
			      struct p4rt_bytes value);
/* A multicast group to ports (replica instances 1, 2, ...). */
int p4rt_updates_add_multicast(struct p4rt_updates *updates, enum p4rt_op op, uint32_t group, const uint32_t *ports,
			       size_t ports_count);
/* A clone session to ports, whole packets. */
int p4rt_updates_add_clone(struct p4rt_updates *updates, enum p4rt_op op, uint32_t session, const uint32_t *ports,
			   size_t ports_count);
void p4rt_updates_clear(struct p4rt_updates *updates); /* keeps the memory */
void p4rt_updates_release(struct p4rt_updates *updates);

/* p4.v1.TableEntry alone; the bytes it takes, written only when they fit. */
size_t p4rt_entry_encode(const struct p4rt_entry *entry, uint8_t *buf, size_t size_bytes);

/*
 * From p4.v1.TableEntry. match and params are the caller's storage, the values borrow from data. -EPROTO with a
 * message when it is not one, or names what this P4Info does not.
 */
struct p4rt_entry_storage {
	struct p4rt_match match[P4INFO_FIELDS_LIMIT];
	struct p4rt_bytes params[P4INFO_FIELDS_LIMIT];
};
int p4rt_entry_decode(const struct p4info *info, const uint8_t *data, size_t length_bytes,
		      struct p4rt_entry_storage *storage, struct p4rt_entry *ret_entry, struct err *err);

#endif
