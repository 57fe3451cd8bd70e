/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct setting global_options[] = {
	{ .name = "help", .short_name = 'h', .type = SETTING_FLAG, .help = "say how to use this, and exit" },
	{ .name = "version",
	  .short_name = 'V',
	  .type = SETTING_FLAG,
	  .help = "say which versions these are, and exit" },
	{ .name = "quiet", .short_name = 'q', .type = SETTING_FLAG, .help = "results and errors only" },
	{ .name = "verbose", .short_name = 'v', .type = SETTING_FLAG, .help = "say more" },
	{ .name = "json", .type = SETTING_FLAG, .help = "data as JSON on the standard output" },
	{ .name = "no-color", .type = SETTING_FLAG, .help = "no colours; NO_COLOR in the environment says the same" },
	{ .name = NULL },
};

static const struct setting no_options[] = { { .name = NULL } };

const struct verb *verb_find(const char *name)
{
	for (const struct verb *const *v = verbs; *v; v++)
		if (strcmp((*v)->name, name) == 0)
			return *v;
	return NULL;
}

struct reader {
	char *const *next; /* the argument to be read, NULL at the end */
	const struct verb *verb;
	struct settings global;
	struct settings own;
	const char **arguments;
	unsigned argument_count;
};

const char *option_value_name(const struct setting *option)
{
	static const char *const by_dim[] = {
		[QUANTITY_COUNT] = "N",         [QUANTITY_TIME] = "TIME", [QUANTITY_SIZE] = "SIZE",
		[QUANTITY_BITRATE] = "BITRATE", [QUANTITY_RATE] = "RATE", [QUANTITY_FREQUENCY] = "FREQUENCY",
		[QUANTITY_SHARE] = "SHARE",
	};

	if (option->type == SETTING_FLAG)
		return NULL;
	if (option->value_name)
		return option->value_name;
	return option->type == SETTING_QUANTITY ? by_dim[option->dim]
	       : option->type == SETTING_CHOICE ? "WORD"
						: "TEXT";
}

static const char *help_hint(const struct reader *r, char *buf, size_t size)
{
	snprintf(buf, size, "tare %s%s--help", r->verb ? r->verb->name : "", r->verb ? " " : "");
	return buf;
}

static int option_unknown(const struct reader *r, const char *option, const char *name, struct err *err)
{
	enum { MOST = 96 };
	const char *names[MOST + 1], *near = NULL;
	char hint[64];
	unsigned count = 0;

	for (const struct setting *s = r->own.table; s->name && count < MOST; s++)
		names[count++] = s->name;
	for (const struct setting *s = global_options; s->name && count < MOST; s++)
		names[count++] = s->name;
	names[count] = NULL;
	if (name)
		near = nearest_name(name, names);
	help_hint(r, hint, sizeof(hint));
	if (near)
		return err_set(err, ERR_USAGE, EINVAL, "unknown option '%s'; did you mean '--%s'?", option, near);
	return err_set(err, ERR_USAGE, EINVAL, "unknown option '%s'; '%s' lists them", option, hint);
}

/* `option` as the user wrote it, for messages; `value` NULL: in the next argument, if it takes one. */
static int option_set(struct reader *r, struct settings *settings, const struct setting *def, const char *option,
		      const char *value, struct err *err)
{
	struct err inner = { 0 };
	int rc;

	if (def->type == SETTING_FLAG && value)
		return err_set(err, ERR_USAGE, EINVAL, "option '%s' takes no value; found '%s'", option, value);
	if (def->type == SETTING_FLAG) {
		value = "yes";
	} else if (!value) {
		value = *r->next;
		if (!value)
			return err_set(err, ERR_USAGE, EINVAL, "option '%s' needs a value: %s", option,
				       option_value_name(def));
		r->next++;
	}
	if (def->type == SETTING_TEXT && value[0] == '\0')
		return err_set(err, ERR_USAGE, EINVAL, "option '%s' needs a value: %s", option, option_value_name(def));
	rc = settings_set(settings, def->name, value, &inner);
	return rc < 0 ? err_set(err, inner.kind, inner.code, "--%s", inner.message) : 0;
}

static const struct setting *long_find(struct reader *r, const char *name, struct settings **ret_settings)
{
	const struct setting *def = setting_find(r->own.table, name);

	*ret_settings = &r->own;
	if (!def) {
		def = setting_find(global_options, name);
		*ret_settings = &r->global;
	}
	return def;
}

static const struct setting *short_find(struct reader *r, char name, struct settings **ret_settings)
{
	*ret_settings = &r->own;
	for (const struct setting *s = r->own.table; s->name; s++)
		if (s->short_name == name)
			return s;
	*ret_settings = &r->global;
	for (const struct setting *s = global_options; s->name; s++)
		if (s->short_name == name)
			return s;
	return NULL;
}

static int long_read(struct reader *r, const char *option, struct arena *arena, struct err *err)
{
	const char *equals = strchr(option, '=');
	const char *name = equals ? arena_strndup(arena, option + 2, (size_t)(equals - option) - 2) : option + 2;
	const char *shown = equals && name ? arena_printf(arena, "--%s", name) : option;
	struct settings *settings;
	const struct setting *def;

	if (!name || !shown)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	def = long_find(r, name, &settings);
	if (!def)
		return option_unknown(r, shown, name, err);
	return option_set(r, settings, def, shown, equals ? equals + 1 : NULL, err);
}

static int short_read(struct reader *r, const char *group, struct err *err)
{
	for (const char *p = group + 1; *p; p++) {
		char option[3] = { '-', *p, '\0' };
		struct settings *settings;
		const struct setting *def = short_find(r, *p, &settings);
		int rc;

		if (!def)
			return option_unknown(r, p == group + 1 ? group : option, NULL, err);
		if (def->type != SETTING_FLAG)
			return option_set(r, settings, def, option, p[1] ? p + 1 : NULL, err);
		rc = option_set(r, settings, def, option, NULL, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int verb_read(struct reader *r, const char *name, struct arena *arena, struct err *err)
{
	enum { MOST = 64 };
	const char *names[MOST + 1], *near;
	unsigned count = 0;

	r->verb = verb_find(name);
	if (r->verb)
		return settings_init(&r->own, r->verb->options ? r->verb->options : no_options, arena) < 0
			       ? err_set(err, ERR_HOST, ENOMEM, "out of memory")
			       : 0;
	for (; count < MOST && verbs[count]; count++)
		names[count] = verbs[count]->name;
	names[count] = NULL;
	near = nearest_name(name, names);
	if (near)
		return err_set(err, ERR_USAGE, EINVAL, "unknown verb '%s'; did you mean '%s'?", name, near);
	return err_set(err, ERR_USAGE, EINVAL, "unknown verb '%s'; 'tare --help' lists them", name);
}

static int words_read(struct reader *r, struct arena *arena, struct err *err)
{
	bool options_end = false, help_verb = false;
	int rc = 0;

	while (rc == 0 && *r->next) {
		const char *word = *r->next++;

		if (!options_end && strcmp(word, "--") == 0)
			options_end = true;
		else if (!options_end && word[0] == '-' && word[1] == '-')
			rc = long_read(r, word, arena, err);
		else if (!options_end && word[0] == '-' && word[1])
			rc = short_read(r, word, err);
		else if (!r->verb && !help_verb && strcmp(word, "help") == 0)
			help_verb = true, rc = settings_set(&r->global, "help", "yes", err);
		else if (!r->verb)
			rc = verb_read(r, word, arena, err);
		else
			r->arguments[r->argument_count++] = word;
	}
	return rc;
}

static int arguments_check(const struct reader *r, struct err *err)
{
	const struct verb *verb = r->verb;

	if (!verb)
		return err_set(err, ERR_USAGE, EINVAL, "expected a verb; 'tare --help' lists them");
	if (r->argument_count < verb->least_arguments)
		return err_set(err, ERR_USAGE, EINVAL, "%s: an argument is missing; expected 'tare %s %s'", verb->name,
			       verb->name, verb->arguments);
	if (r->argument_count > verb->most_arguments)
		return err_set(err, ERR_USAGE, EINVAL, "%s: '%s' is one argument too many; expected 'tare %s%s%s'",
			       verb->name, r->arguments[verb->most_arguments], verb->name,
			       verb->arguments[0] ? " " : "", verb->arguments);
	if (settings_flag(&r->global, "json") && !verb->json)
		return err_set(err, ERR_USAGE, EINVAL, "%s: has no --json", verb->name);
	return 0;
}

static bool color_wanted(const struct reader *r)
{
	const char *no_color = getenv("NO_COLOR");

	return !settings_flag(&r->global, "no-color") && !(no_color && no_color[0]) && isatty(STDOUT_FILENO);
}

int options_parse(int argc, char *const *argv, struct arena *arena, enum request *ret_request, struct invocation *ret,
		  struct err *err)
{
	struct reader r = { .next = argv + (argc > 0) };
	int rc;

	r.arguments = arena_array(arena, (size_t)argc + 1, sizeof(*r.arguments));
	if (!r.arguments || settings_init(&r.global, global_options, arena) < 0 ||
	    settings_init(&r.own, no_options, arena) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	rc = words_read(&r, arena, err);
	if (rc < 0)
		return rc;
	*ret_request = settings_flag(&r.global, "help")      ? REQUEST_HELP
		       : settings_flag(&r.global, "version") ? REQUEST_VERSION
							     : REQUEST_RUN;
	if (*ret_request == REQUEST_RUN) {
		rc = arguments_check(&r, err);
		if (rc < 0)
			return rc;
	}
	*ret = (struct invocation){ .verb = r.verb,
				    .options = r.own,
				    .arguments = r.arguments,
				    .argument_count = r.argument_count,
				    .quiet = settings_flag(&r.global, "quiet"),
				    .verbose = settings_flag(&r.global, "verbose"),
				    .json = settings_flag(&r.global, "json"),
				    .color = color_wanted(&r) };
	return 0;
}
