/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BASE_SETTINGS_H
#define TARE_BASE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/quantity.h"

/*
 * Named values described by a table: the options of a verb, the parameters of a
 * target, the probes section of a plan. The table feeds the parser, the help, the
 * man page and the completion, so a setting is written down once.
 */
enum setting_type {
	SETTING_FLAG,     /* yes or no; on a command line it takes no value */
	SETTING_QUANTITY, /* a number with the unit of .dim */
	SETTING_CHOICE,   /* one of .choices */
	SETTING_TEXT,     /* anything */
};

struct setting {
	const char *name; /* as written in a plan, and after -- on a command line */
	char short_name;  /* command line only; 0: none */
	enum setting_type type;
	enum quantity_dim dim;      /* SETTING_QUANTITY */
	const char *const *choices; /* SETTING_CHOICE; ends with NULL */
	const char *fallback;       /* default, in the same notation; NULL: none, stays unset */
	const char *value_name;     /* shown in help: "DIR"; NULL: taken from the type */
	const char *help;           /* one line */
	int64_t least, most;        /* SETTING_QUANTITY, in the base unit; most 0: no upper bound */
};

struct setting_value {
	bool set; /* given by the user (true) or taken from the table's default (false) */
	bool present;
	int64_t number;   /* flag 0/1, quantity in its base unit, choice index */
	const char *text; /* as written; NULL when not present */
};

/* One filled table. Values live in the arena. */
struct settings {
	const struct setting *table; /* ends with a NULL name */
	struct setting_value *values;
	struct arena *arena;
};

/* Fill with the table's defaults. 0, -ENOMEM. A default that does not parse is a bug. */
int settings_init(struct settings *s, const struct setting *table, struct arena *arena);

/*
 * Set one by name from its text. Unknown name: -ENOENT, and the message lists
 * the names there are (nearest first). Bad value: the message of quantity_parse
 * or the choices, after the setting's name.
 */
int settings_set(struct settings *s, const char *name, const char *text, struct err *err);

/* Value by name; the name must be in the table (else a bug). */
const struct setting_value *settings_get(const struct settings *s, const char *name);
int64_t settings_number(const struct settings *s, const char *name);   /* must be present */
const char *settings_text(const struct settings *s, const char *name); /* NULL: not present */
bool settings_flag(const struct settings *s, const char *name);

/* Parse as settings_set would, keeping nothing: 0 and *ret_number (may be NULL), or the same error. For lists of values. */
int settings_try(const struct settings *s, const char *name, const char *text, int64_t *ret_number, struct err *err);

/* The table's row of that name, or NULL. */
const struct setting *setting_find(const struct setting *table, const char *name);

/* The name in a NULL-terminated list nearest to `text` by edit distance, or NULL if none is near. For messages. */
const char *nearest_name(const char *text, const char *const *names);

#endif
