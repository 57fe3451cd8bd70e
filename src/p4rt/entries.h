/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_ENTRIES_H
#define TARE_P4RT_ENTRIES_H

#include "base/arena.h"
#include "base/err.h"
#include "p4rt/entry.h"
#include "p4rt/p4info.h"

/*
 * What to program into a switch, as a text file: one update a line, # comments.
 *
 *	table=routes destination=10.0.0.0/24 action=next_hop mac=00:00:00:00:00:02 port=2
 *	table=acl ipv4.source=10.0.0.0&&&0xff000000 ports.destination=80 action=drop priority=10
 *	table=routes default action=drop
 *	op=delete table=routes destination=10.0.0.0/24
 *	register=switch_id index=0 value=7
 *	multicast=1 ports=1,2,3
 *	clone=100 ports=2
 *
 * Keys stand before action=, parameters after it; both go by full name or any suffix at a dot that is unique. Numbers
 * are decimal, 0x, dotted IPv4, IPv6 or MAC with colons. lpm takes value/length, ternary value&&&mask or value/length,
 * range low..high; `*` is "do not care". Exact and lpm keys must be there, the others may be left out.
 */
enum p4rt_update_kind { P4RT_UPDATE_ENTRY, P4RT_UPDATE_REGISTER, P4RT_UPDATE_MULTICAST, P4RT_UPDATE_CLONE };

struct p4rt_update {
	enum p4rt_update_kind kind;
	enum p4rt_op op; /* insert unless the line says; modify for default actions and registers */
	unsigned line;
	struct p4rt_entry entry;
	const struct p4info_object *reg;
	int64_t index;
	struct p4rt_bytes value;
	uint32_t group; /* or clone session */
	const uint32_t *ports;
	size_t ports_count;
};

struct p4rt_entries {
	struct arena arena;
	struct p4rt_update *items;
	size_t count;
};

/* `where` names the input in messages: "routes.entries:3: ...". */
int p4rt_entries_parse(const struct p4info *info, const char *text, size_t length, const char *where,
		       struct p4rt_entries **ret_entries, struct err *err);
int p4rt_entries_read(const struct p4info *info, const char *path, struct p4rt_entries **ret_entries, struct err *err);
void p4rt_entries_destroy(struct p4rt_entries *entries); /* NULL is fine */

/* All of them, ready for the wire. */
int p4rt_entries_encode(const struct p4rt_entries *entries, struct p4rt_updates *updates);

#endif
