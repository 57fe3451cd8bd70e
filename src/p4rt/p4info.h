/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_P4INFO_H
#define TARE_P4RT_P4INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * What a controller may say to a program: its tables, keys, actions, registers
 * and so on, with the numbers they have on the wire. Read from P4Info as p4c
 * writes it, in protobuf's text form (.p4info.txtpb) or in binary. Immutable
 * once built; everything lives in its arena.
 */
struct p4info_name {
	uint32_t id;
	const char *name;  /* "IngressPipe.routes" */
	const char *alias; /* "routes": p4c's shortest unique suffix; the name where there is none */
};

enum p4info_match { /* numbers of the wire */
		    P4INFO_MATCH_OTHER = 0,
		    P4INFO_EXACT = 2,
		    P4INFO_LPM = 3,
		    P4INFO_TERNARY = 4,
		    P4INFO_RANGE = 5,
		    P4INFO_OPTIONAL = 6,
};

enum { P4INFO_FIELDS_LIMIT = 64 }; /* keys of a table, parameters of an action: more is refused */

/* A key of a table, a parameter of an action, a metadata field of a packet header. */
struct p4info_field {
	uint32_t id;
	const char *name;
	uint32_t bits;           /* 0: translated, any byte string */
	enum p4info_match match; /* keys only */
};

struct p4info_action {
	struct p4info_name is;
	const struct p4info_field *params;
	size_t params_count;
};

struct p4info_action_ref {
	const struct p4info_action *action;
	bool in_entries, as_default;
};

struct p4info_table {
	struct p4info_name is;
	const struct p4info_field *keys;
	size_t keys_count;
	const struct p4info_action_ref *actions;
	size_t actions_count;
	int64_t size;               /* entries it promises room for */
	uint32_t implementation_id; /* action profile, or 0 */
	bool is_const, const_default;
	bool needs_priority; /* some key is ternary, range or optional */
};

enum p4info_kind {
	P4INFO_COUNTER,
	P4INFO_DIRECT_COUNTER,
	P4INFO_METER,
	P4INFO_DIRECT_METER,
	P4INFO_REGISTER,
	P4INFO_ACTION_PROFILE,
	P4INFO_DIGEST,
};

/* Everything else with an id. */
struct p4info_object {
	struct p4info_name is;
	enum p4info_kind kind;
	int64_t size;
	uint32_t bits;         /* register of a bit<W>: W; else 0 */
	uint32_t unit;         /* counters: 1 bytes, 2 packets, 3 both; meters: 1 bytes, 2 packets */
	uint32_t direct_table; /* direct ones: the table's id */
};

/* Metadata of packet_in or packet_out. */
struct p4info_header {
	struct p4info_name is;
	const struct p4info_field *fields;
	size_t fields_count;
};

struct p4info {
	struct arena arena;
	const char *arch; /* "v1model", or "" */
	const struct p4info_table *tables;
	const struct p4info_action *actions;
	const struct p4info_object *objects;
	const struct p4info_header *headers;
	size_t tables_count, actions_count, objects_count, headers_count;
	const uint8_t
		*wire; /* p4.config.v1.P4Info as SetForwardingPipelineConfig carries it, unknown text fields left out */
	size_t wire_bytes;
};

/* Either form, told apart by what it contains. `where` names the input in messages, which give the line. */
int p4info_parse(const char *bytes, size_t length_bytes, const char *where, struct p4info **ret_info, struct err *err);
int p4info_read(const char *path, struct p4info **ret_info, struct err *err);
void p4info_destroy(struct p4info *info); /* NULL is fine */

/*
 * By full name, alias, or a suffix of the full name at a dot that only one has. NULL with a message that lists the
 * names there are, or those that `name` could mean.
 */
const struct p4info_table *p4info_table(const struct p4info *info, const char *name, struct err *err);
const struct p4info_action *p4info_table_action(const struct p4info_table *table, const char *name, struct err *err);
const struct p4info_field *p4info_key(const struct p4info_table *table, const char *name, struct err *err);
const struct p4info_field *p4info_param(const struct p4info_action *action, const char *name, struct err *err);
const struct p4info_object *p4info_object(const struct p4info *info, enum p4info_kind kind, const char *name,
					  struct err *err);

/*
 * Do both describe one program to a controller: the same tables, keys, actions and objects under the same ids? What a
 * server may leave out when it hands P4Info back (documentation, annotations, sizes) does not count.
 */
bool p4info_same(const struct p4info *a, const struct p4info *b);

/* By id; NULL when there is none. */
const struct p4info_table *p4info_table_by_id(const struct p4info *info, uint32_t id);
const struct p4info_action *p4info_action_by_id(const struct p4info *info, uint32_t id);

#endif
