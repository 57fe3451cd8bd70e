/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_SHAPE_H
#define TARE_REPORT_SHAPE_H

#include <stddef.h>

/*
 * The result model, described: every member by name, type, unit and meaning.
 * JSON is written, read and documented from these tables, and CSV columns are
 * chosen from them, so a member is named and explained in one place.
 */
enum field_type {
	FIELD_TEXT,    /* const char *; "" and NULL are both the empty string */
	FIELD_TEXTS,   /* const char **, count */
	FIELD_BOOL,    /* bool */
	FIELD_COUNT,   /* uint64_t */
	FIELD_COUNT32, /* uint32_t */
	FIELD_INTEGER, /* int64_t */
	FIELD_NUMBER,  /* double; NaN is null, +infinity "lost" */
	FIELD_NUMBERS, /* double *, count; written to 0.001 */
	FIELD_EXACT,   /* a number whose unit is not ns: written to 12 digits */
	FIELD_EXACTS,  /* double *, count; the same */
	FIELD_FIGURE,  /* struct figure: a number, null, "lost" or "n<368" */
	FIELD_OBJECT,  /* the struct itself */
	FIELD_LIST,    /* pointer to structs, count (uint32_t) */
};

struct shape;

struct field {
	const char *name;
	enum field_type type;
	size_t offset, count_offset;
	const struct shape *of; /* FIELD_OBJECT, FIELD_LIST */
	const char *unit;       /* "ns", "%", "pps", ...; NULL: none */
	const char *help;
};

struct shape {
	const char *name; /* of the definition in the schema: "cell" */
	const char *help;
	size_t size_bytes;
	const struct field *fields; /* ends with a NULL name */
};

extern const struct shape shape_result, shape_cell, shape_restart, shape_run, shape_block, shape_ledger,
	shape_quantiles, shape_span, shape_budget, shape_mode, shape_second, shape_problem, shape_fact, shape_event,
	shape_chain, shape_ratio, shape_range, shape_quantity, shape_family, shape_sweep, shape_series, shape_point;
extern const struct shape shape_cause, shape_cause_side, shape_bound;

/* All of them, the root first; NULL-terminated. */
extern const struct shape *const shapes[];

#endif
