/* SPDX-License-Identifier: Apache-2.0 */
#include "import/latencylab.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/build.h"
#include "target/target.h"

/* The programs as published. */
static const struct known {
	const char *tag, *name, *null, *trace;
} known[] = {
	{ "CS", "Checksum", "NC", "checksum" },
	{ "FT", "FiveTuple", "NT", "fivetuple" },
	{ "FWD", "Forward", "NF", "forward" },
	{ "RH", "RemoveHeader", "NR", "rmvhdr" },
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* --- which program has which null --- */

/* "A=B,C=D": the null of a tag, in `arena`; NULL: not said. */
static const char *said_null(const char *tares, const char *tag, struct arena *arena)
{
	size_t length = strlen(tag);

	for (const char *at = tares; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, tag, length) == 0 && at[length] == '=')
			return arena_strndup(arena, at + length + 1, strcspn(at + length + 1, ","));
	return NULL;
}

static int tares_check(const char *tares, const struct tree *tree, struct arena *arena, struct err *err)
{
	for (const char *at = tares; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t length = strcspn(at, ","), first = strcspn(at, "=,");
		const char *tag = arena_strndup(arena, at, first), *null;

		null = first < length ? arena_strndup(arena, at + first + 1, length - first - 1) : "";
		if (!tag || !null)
			return no_memory(err);
		if (!*tag || !*null)
			return err_set(err, ERR_USAGE, EINVAL, "tares: '%.*s'; expected PROGRAM=NULL such as CS=NC",
				       (int)length, at);
		if (!tree_find(tree, tag) || !tree_find(tree, null))
			return err_set(err, ERR_USAGE, ENOENT, "tares: no sessions of '%s' in the directory",
				       tree_find(tree, tag) ? null : tag);
	}
	return 0;
}

static const struct known *known_find(const char *tag)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].tag, tag) == 0)
			return &known[i];
	return NULL;
}

static bool starts_with_word(const char *name, const char *word)
{
	size_t n = strlen(word);

	return strncasecmp(name, word, n) == 0 && !isalnum((unsigned char)name[n]);
}

/* The trace of a program: by its published word, else by its tag; the shortest name of several. */
static const char *trace_of(const struct tree *tree, const struct known *k, const char *tag)
{
	const char *best = NULL;

	for (uint32_t i = 0; i < tree->trace_count; i++) {
		const char *name = file_name(tree->traces[i]);

		if (!starts_with_word(name, tag) && !(k && starts_with_word(name, k->trace)))
			continue;
		if (!best || strlen(name) < strlen(file_name(best)))
			best = tree->traces[i];
	}
	return best;
}

static bool is_null(const struct lab_study *s, const char *tag)
{
	for (uint32_t i = 0; i < s->program_count; i++)
		if (s->programs[i].null && strcmp(s->programs[i].null->tag, tag) == 0)
			return true;
	return false;
}

static int add_program(struct lab_study *s, const struct tree_program *p, const char *null)
{
	const struct known *k = known_find(p->tag);

	if (!null && k)
		null = k->null;
	s->programs[s->program_count++] = (struct lab_program){
		.name = k ? k->name : p->tag,
		.self = p,
		.null = null ? tree_find(&s->tree, null) : NULL,
		.trace = trace_of(&s->tree, k, p->tag),
		.cell = CELL_NONE,
		.tare = CELL_NONE,
	};
	return s->programs[s->program_count - 1].name ? 0 : -ENOMEM;
}

/* A null whose program is not there is a cell all the same. */
static void add_lone_null(struct lab_study *s, const struct tree_program *p)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].null, p->tag) == 0)
			s->programs[s->program_count++] = (struct lab_program){
				.name = known[i].name,
				.null = p,
				.trace = trace_of(&s->tree, &known[i], known[i].tag),
				.cell = CELL_NONE,
				.tare = CELL_NONE,
			};
}

static bool is_known_null(const char *tag)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].null, tag) == 0)
			return true;
	return false;
}

static bool said_as_null(const char *tares, const char *tag)
{
	size_t length = strlen(tag);

	for (const char *at = tares; at && (at = strchr(at, '=')); at++)
		if (strncmp(at + 1, tag, length) == 0 && (at[length + 1] == ',' || !at[length + 1]))
			return true;
	return false;
}

int lab_study_read(const char *dir, const char *tares, struct lab_study *s, struct err *err)
{
	int r;

	memset(s, 0, sizeof(*s));
	arena_init(&s->arena, 0);
	r = tree_read(dir, &s->arena, &s->tree, err);
	if (r == 0)
		r = tares_check(tares, &s->tree, &s->arena, err);
	if (r < 0)
		return r;
	s->programs = arena_array(&s->arena, s->tree.program_count, sizeof(*s->programs));
	if (!s->programs)
		return no_memory(err);
	for (uint32_t i = 0; i < s->tree.program_count; i++) {
		const struct tree_program *p = &s->tree.programs[i];

		if (p->session_count == 0 || said_as_null(tares, p->tag) || is_known_null(p->tag))
			continue;
		if (add_program(s, p, said_null(tares, p->tag, &s->arena)) < 0)
			return no_memory(err);
	}
	for (uint32_t i = 0; i < s->tree.program_count; i++) {
		const struct tree_program *p = &s->tree.programs[i];

		if (p->session_count && is_known_null(p->tag) && !is_null(s, p->tag))
			add_lone_null(s, p);
	}
	return 0;
}

void lab_study_release(struct lab_study *s)
{
	for (uint32_t i = 0; i < s->program_count; i++)
		import_ids_release(&s->programs[i].ids);
	arena_release(&s->arena);
}

/* --- as a plan --- */

static const struct target_ops target_lab = { .kind = "imported", .summary = "a card measured by others" };

static int add_cell(struct lab_study *s, struct lab_program *p, bool tare)
{
	struct plan *plan = &s->plan;
	struct cell *cell = &plan->cells[plan->cell_count];
	const char **values = arena_array(&s->arena, 2, sizeof(*values));

	if (!values)
		return -ENOMEM;
	values[0] = tare ? "null" : p->name;
	values[1] = p->trace ? file_name(p->trace) : p->self ? p->self->tag : p->null->tag;
	*cell = (struct cell){
		.index = plan->cell_count++,
		.is_tare = tare,
		.tare = tare ? plan->cell_count - 1 : p->tare,
		.label = arena_printf(&s->arena, "%s%s trace=%s", tare ? "tare" : "program=", tare ? "" : p->name,
				      values[1]),
		.values = values,
	};
	*(tare ? &p->tare : &p->cell) = cell->index;
	return cell->label ? 0 : -ENOMEM;
}

static const struct tree_session *session_find(const struct tree_program *p, uint32_t number)
{
	for (uint32_t i = 0; p && i < p->session_count; i++)
		if (p->sessions[i].session == number)
			return &p->sessions[i];
	return NULL;
}

static void add_turn(struct lab_study *s, const struct lab_program *p, const struct tree_session *session,
		     uint32_t block, bool tare)
{
	struct plan *plan = &s->plan;

	if (!session)
		return;
	s->turns[plan->turn_count] = (struct lab_turn){ p, session };
	plan->turns[plan->turn_count++] =
		(struct turn){ .cell = tare ? p->tare : p->cell, .restart = tare ? 2 * block : block, .block = block };
	if (session->run_count > plan->runs)
		plan->runs = session->run_count;
}

static int add_turns(struct lab_study *s)
{
	struct plan *plan = &s->plan;
	uint32_t last = 0, turns = 0;

	for (uint32_t i = 0; i < s->tree.program_count; i++) {
		const struct tree_program *p = &s->tree.programs[i];

		turns += p->session_count;
		if (p->session_count && p->sessions[p->session_count - 1].session > last)
			last = p->sessions[p->session_count - 1].session;
	}
	/* a null may serve several programs */
	turns *= s->program_count;
	plan->turns = arena_array(&s->arena, turns, sizeof(*plan->turns));
	s->turns = arena_array(&s->arena, turns, sizeof(*s->turns));
	if (!plan->turns || !s->turns)
		return -ENOMEM;
	for (uint32_t n = 1; n <= last; n++) {
		uint32_t before = plan->turn_count;

		for (uint32_t i = 0; i < s->program_count; i++) {
			const struct lab_program *p = &s->programs[i];

			add_turn(s, p, session_find(p->null, n), plan->restarts, true);
			add_turn(s, p, session_find(p->self, n), plan->restarts, false);
		}
		plan->restarts += plan->turn_count > before;
	}
	return 0;
}

/* What is in the place of a plan's text: where each cell is from. Every line a comment. */
static void describe(FILE *out, const struct lab_study *s, const char *dir)
{
	fprintf(out, "# no plan: imported by tare %s from %s (format latencylab)\n", build_version(), dir);
	for (uint32_t i = 0; i < s->program_count; i++) {
		const struct lab_program *p = &s->programs[i];

		fprintf(out,
			"# %s: %s, null %s; %u probes a run by %s, %u of them without a readable id, %u sharing one\n",
			p->name, p->self ? p->self->tag : "no sessions", p->null ? p->null->tag : "none", p->ids.count,
			p->ids.exact ? file_name(p->trace) : "the ids its runs have seen", p->ids.unreadable,
			p->ids.shared);
	}
	for (uint32_t i = 0; i < s->plan.turn_count; i++)
		fprintf(out, "# restart %u: %u runs, from %s on\n", i, s->turns[i].session->run_count,
			s->turns[i].session->runs[0].path);
}

static const char *description(struct lab_study *s, const char *dir)
{
	char *text = NULL;
	const char *copy;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		return NULL;
	describe(out, s, dir);
	copy = fclose(out) == 0 ? arena_strndup(&s->arena, text, length) : NULL;
	free(text);
	return copy;
}

static uint64_t fnv1a64(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

/* Of the directory, as a plan's name may be. */
static const char *name_of(const char *dir, struct arena *arena)
{
	size_t length = strlen(dir);
	const char *start;
	char *name;

	while (length && dir[length - 1] == '/')
		length--;
	start = dir + length;
	while (start > dir && start[-1] != '/')
		start--;
	name = arena_strndup(arena, start, (size_t)(dir + length - start) > 64 ? 64 : (size_t)(dir + length - start));
	for (char *c = name; c && *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			*c = '-';
	return name && (!*name || *name == '.' || *name == '-') ? "latencylab" : name;
}

int lab_study_plan(struct lab_study *s, const char *dir, struct err *err)
{
	static const char *const axes[] = { "program", "trace" };
	struct plan *plan = &s->plan;
	int r = 0;

	*plan = (struct plan){
		.path = dir,
		.directory = ".",
		.name = name_of(dir, &s->arena),
		.measure = MEASURE_DIFFERENTIAL,
		.seed = 1,
		.axes = axes,
		.axis_count = 2,
		.target = &target_lab,
		.tare_program = "null",
		.cells = arena_array(&s->arena, (size_t)s->program_count * 2, sizeof(*plan->cells)),
	};
	if (!plan->cells || !plan->name)
		return no_memory(err);
	/* tares first: a cell names its tare */
	for (uint32_t i = 0; r == 0 && i < s->program_count; i++)
		if (s->programs[i].null)
			r = add_cell(s, &s->programs[i], true);
	for (uint32_t i = 0; r == 0 && i < s->program_count; i++)
		if (s->programs[i].self)
			r = add_cell(s, &s->programs[i], false);
	if (r == 0)
		r = add_turns(s);
	plan->text = r == 0 ? description(s, dir) : NULL;
	if (r < 0 || !plan->text)
		return no_memory(err);
	plan->text_hash = fnv1a64(plan->text);
	return 0;
}
