/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_SPEC_H
#define TARE_TARGET_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * A P4 program as p4c's dpdk backend writes it (`.spec`), read into memory. The
 * language is line by line: a line opens a block (`struct NAME {`), belongs to
 * one, closes it (`}`), or stands alone (`metadata instanceof NAME`). Tokens are
 * separated by blanks; `;`, `#` and `//` at the start of a token begin a comment.
 *
 * The parser is pure: text in, model out, no DPDK, no files, no globals. It
 * checks what can be checked without DPDK: names declared once and before they
 * are referred to, types and sizes, labels. Instructions stay text, with their
 * blanks made single, as DPDK wants them; DPDK judges their operands.
 * Everything lives in the arena of the caller.
 */

enum spec_match { SPEC_EXACT, SPEC_WILDCARD, SPEC_LPM };

struct spec_field {
	const char *name;
	uint32_t line;
	uint32_t bits;
};

struct spec_struct {
	const char *name;
	uint32_t line;
	struct spec_field *fields;
	uint32_t field_count;
	uint32_t bits; /* of all fields */
	bool variable; /* the last field is varbit: up to its bits */
};

struct spec_header {
	const char *name;
	uint32_t line;
	const struct spec_struct *type;
};

struct spec_instruction {
	const char *text;   /* without its label, tokens one blank apart */
	const char *label;  /* NULL: none */
	const char *opcode; /* first token of text */
	const char *target; /* label it jumps to; NULL: it does not jump */
	uint32_t line;
};

struct spec_code {
	struct spec_instruction *items;
	uint32_t count;
};

struct spec_action {
	const char *name;
	uint32_t line;
	const struct spec_struct *args; /* NULL: none */
	struct spec_code code;
};

struct spec_key {
	const char *field; /* "h.ipv4.dst" or "m.key" */
	uint32_t line;
	uint32_t bits;
	enum spec_match match; /* learners: exact */
};

struct spec_table_action {
	const struct spec_action *action;
	uint32_t line;
	bool for_entries, for_default;
};

/* A table, or a learner: a table that enters what it misses. */
struct spec_table {
	const char *name;
	uint32_t line;
	bool learner;
	struct spec_key *keys;
	uint32_t key_count;
	struct spec_table_action *actions;
	uint32_t action_count;
	const struct spec_action *default_action;
	const char *default_args; /* "NAME VALUE ..."; NULL: none */
	bool default_const;
	const char *hash;   /* NULL: DPDK's choice */
	const char *type;   /* `instanceof`: recommended table type; NULL: none */
	const char *pragma; /* NULL: none */
	uint32_t size;
	uint32_t *timeouts_s; /* learners only */
	uint32_t timeout_count;
};

struct spec_selector {
	const char *name;
	uint32_t line;
	const char *group_id, *member_id;
	const char **fields;
	uint32_t field_count;
	uint32_t groups_max, members_max;
};

struct spec_array {
	const char *name;
	uint32_t line;
	bool meters;
	uint32_t size;
	uint64_t initial;
};

/* A declaration that this parser knows by name only: `extobj`, `rss`. Whoever builds the program refuses it. */
struct spec_other {
	const char *keyword, *name;
	uint32_t line;
};

struct spec {
	const char *path;   /* for messages */
	const char *origin; /* the comment before the first statement that names p4c: "p4c-dpdk 1.2.5"; NULL: none */
	struct spec_struct *structs;
	struct spec_header *headers;
	struct spec_action *actions;
	struct spec_table *tables;
	struct spec_selector *selectors;
	struct spec_array *arrays;
	struct spec_other *others;
	uint32_t struct_count, header_count, action_count, table_count, selector_count, array_count, other_count;
	const struct spec_struct *metadata;
	uint32_t metadata_line;
	struct spec_code apply;
	uint32_t apply_line;
};

/*
 * Parse `length` bytes of text (no terminating 0 needed). `path` is copied, for
 * messages: "PATH:LINE: what is wrong, what was expected". -EINVAL: not a
 * program; -ENOMEM: the arena is exhausted; the arena then holds rubbish.
 */
int spec_parse(const char *text, size_t length, const char *path, struct arena *arena, struct spec **ret_spec,
	       struct err *err);

/* Look up by name; NULL: not there. */
const struct spec_struct *spec_find_struct(const struct spec *spec, const char *name);
const struct spec_header *spec_find_header(const struct spec *spec, const char *name);
const struct spec_action *spec_find_action(const struct spec *spec, const char *name);
const struct spec_table *spec_find_table(const struct spec *spec, const char *name);

/* Width in bits of "h.HEADER.FIELD" or "m.FIELD"; 0: no such field. */
uint32_t spec_operand_bits(const struct spec *spec, const char *operand);

/*
 * Most bytes of headers that the program can put into a frame that had none of them: emitted, never extracted, made
 * valid somewhere. A header that was extracted and is emitted again is the frame's own. What a frame really gets may be
 * less: a parser that reads a header on one way only and an action that makes it valid on another is not told apart.
 */
uint32_t spec_inserted_bytes(const struct spec *spec);

#endif
