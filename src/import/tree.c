/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "import/csv.h"
#include "import/tsc_run.h"

const char *const second_csv_columns[] = { "run", "pkt_id", "silicon_diff_ns", NULL };

enum { DEPTH_MOST = 8, FILES_MOST = 100000, NUMBER_MOST = 9999 };

/* A file and where it belongs, before all are sorted into programs. */
struct found {
	enum { FOUND_RUN, FOUND_SECOND, FOUND_CAPTURE } kind;
	const char *tag, *path;
	uint32_t session, run;
};

struct walk {
	struct arena *arena;
	struct tree *tree;
	VEC(struct found) found;
	VEC(const char *) traces;
	VEC(const char *) ignored;
	uint32_t files;
	struct err *err;
};

static int no_memory(struct walk *w)
{
	return err_set(w->err, ERR_HOST, ENOMEM, "out of memory");
}

/* The number that a text ends with, over 0; 0: none. *ret_length: of what is before it. */
static uint32_t number_behind(const char *text, size_t length, size_t *ret_length)
{
	size_t at = length;
	uint32_t n = 0;

	while (at && isdigit((unsigned char)text[at - 1]))
		at--;
	for (size_t i = at; i < length && n <= NUMBER_MOST; i++)
		n = n * 10 + (uint32_t)(text[i] - '0');
	*ret_length = at;
	return n <= NUMBER_MOST ? n : 0;
}

/* "CS_s1" -> "CS", 1. */
static bool session_of(struct walk *w, const char *name, size_t length, const char **ret_tag, uint32_t *ret_session)
{
	uint32_t n = number_behind(name, length, &length);

	if (n == 0 || length < 3 || strncmp(name + length - 2, "_s", 2) != 0)
		return false;
	*ret_session = n;
	*ret_tag = arena_strndup(w->arena, name, length - 2);
	return *ret_tag != NULL;
}

/* "f_run01.csv" -> 1, and how much stands before "_run". */
static uint32_t run_of(const char *name, size_t *ret_before)
{
	size_t length = strlen(name) - 4;
	uint32_t n = number_behind(name, length, &length);

	if (n == 0 || length < 3 || strncmp(name + length - 3, "run", 3) != 0)
		return 0;
	*ret_before = length >= 4 && name[length - 4] == '_' ? length - 4 : length - 3;
	return n;
}

static int add_run(struct walk *w, const char *path, const char *dir, const char *name)
{
	const char *folder = strrchr(dir, '/') ? strrchr(dir, '/') + 1 : dir;
	struct found f = { .kind = FOUND_RUN, .path = path };
	size_t before = 0;
	struct stat st;

	f.run = run_of(name, &before);
	if (!f.run)
		return err_set(w->err, ERR_USAGE, EINVAL, "%s: which run is it? expected a name such as f_run01.csv",
			       path);
	if (!session_of(w, name, before, &f.tag, &f.session) &&
	    !session_of(w, folder, strlen(folder), &f.tag, &f.session))
		return err_set(w->err, ERR_USAGE, EINVAL,
			       "%s: which program and session is it? expected a folder such as CS_s1", path);
	w->tree->bytes += stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
	w->tree->run_count++;
	return vec_push(&w->found, f) < 0 ? no_memory(w) : 0;
}

/* silicon_TAG_sN.csv, refl_TAG_sN.pcap */
static int add_second(struct walk *w, const char *path, const char *name, const char *prefix, size_t suffix, int kind)
{
	struct found f = { .kind = kind, .path = path };
	size_t skip = strlen(prefix);

	if (!session_of(w, name + skip, strlen(name) - skip - suffix, &f.tag, &f.session))
		return err_set(w->err, ERR_USAGE, EINVAL,
			       "%s: which program and session is it? expected a name such as %sCS_s1%s", path, prefix,
			       name + strlen(name) - suffix);
	return vec_push(&w->found, f) < 0 ? no_memory(w) : 0;
}

static int add_csv(struct walk *w, const char *path, const char *dir, const char *name)
{
	bool named_run = fnmatch("*run[0-9]*.csv", name, 0) == 0, named_second = fnmatch("silicon_*.csv", name, 0) == 0;
	bool is_run = false, is_second = false;
	struct csv csv;
	const char *line;
	size_t length;
	int r;

	/* by what it holds; what only its name says must open */
	r = lines_open(&csv.lines, path, w->err);
	if (r < 0)
		return r;
	if (lines_next(&csv.lines, &line, &length, named_run || named_second ? w->err : NULL) == 1) {
		is_run = csv_header_has(line, length, tsc_run_columns);
		is_second = csv_header_has(line, length, second_csv_columns);
	}
	lines_release(&csv.lines);
	if (is_run)
		return add_run(w, path, dir, name);
	if (is_second && !named_second)
		return err_set(w->err, ERR_USAGE, EINVAL,
			       "%s: which program and session is it? expected a name such as silicon_CS_s1.csv", path);
	if (is_second)
		return add_second(w, path, name, "silicon_", 4, FOUND_SECOND);
	if (!named_run && !named_second)
		return vec_push(&w->ignored, path) < 0 ? no_memory(w) : 0;
	r = csv_open(&csv, path, named_run ? tsc_run_columns : second_csv_columns, w->err);
	TARE_ASSERT(r < 0);
	return r;
}

static int add_file(struct walk *w, const char *path, const char *dir, const char *name)
{
	if (++w->files > FILES_MOST)
		return err_set(w->err, ERR_USAGE, EINVAL, "%s: over %d files: not the directory of a study", dir,
			       FILES_MOST);
	if (fnmatch("*.csv", name, FNM_CASEFOLD) == 0)
		return add_csv(w, path, dir, name);
	if (fnmatch("refl_*.pcap", name, 0) == 0)
		return add_second(w, path, name, "refl_", 5, FOUND_CAPTURE);
	if (fnmatch("*.pcap", name, FNM_CASEFOLD) == 0 && vec_push(&w->traces, path) < 0)
		return no_memory(w);
	return 0;
}

static int walk(struct walk *w, const char *dir, int depth)
{
	struct dirent **names;
	int count = scandir(dir, &names, NULL, alphasort), r = 0;

	if (count < 0)
		return err_set(w->err, ERR_USAGE, errno, "%s: cannot read the directory: %s", dir, strerror(errno));
	for (int i = 0; i < count; i++) {
		const char *name = names[i]->d_name, *path;
		struct stat st;

		if (r == 0 && name[0] != '.') {
			path = arena_printf(w->arena, "%s/%s", dir, name);
			if (!path)
				r = no_memory(w);
			else if (lstat(path, &st) != 0)
				r = err_set(w->err, ERR_USAGE, errno, "%s: %s", path, strerror(errno));
			else if (S_ISDIR(st.st_mode) && depth < DEPTH_MOST)
				r = walk(w, path, depth + 1);
			else if (!S_ISDIR(st.st_mode))
				r = add_file(w, path, dir, name);
		}
		free(names[i]);
	}
	free(names);
	return r;
}

static int by_place(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int c = strcmp(x->tag, y->tag);

	if (c == 0)
		c = (x->session > y->session) - (x->session < y->session);
	if (c == 0)
		c = (int)x->kind - (int)y->kind;
	return c ? c : (x->run > y->run) - (x->run < y->run);
}

/* One session's files, `count` of them. */
static int session_fill(struct walk *w, const struct found *f, uint32_t count, struct tree_session *s)
{
	*s = (struct tree_session){ .session = f->session, .runs = arena_array(w->arena, count, sizeof(*s->runs)) };
	if (!s->runs)
		return no_memory(w);
	for (uint32_t i = 0; i < count; i++) {
		const char **place = f[i].kind == FOUND_SECOND ? &s->second_csv : &s->capture;

		if (i && f[i].kind == f[i - 1].kind && f[i].run == f[i - 1].run)
			return err_set(w->err, ERR_USAGE, EEXIST, "%s: the same run, session and program as %s",
				       f[i].path, f[i - 1].path);
		if (f[i].kind == FOUND_RUN)
			s->runs[s->run_count++] = (struct tree_run){ f[i].run, f[i].path };
		else
			*place = f[i].path;
	}
	return 0;
}

static int sort_in(struct walk *w)
{
	const struct found *all = w->found.items;
	uint32_t count = (uint32_t)w->found.count, next;
	struct tree *tree = w->tree;
	int r = 0;

	if (count)
		qsort(w->found.items, count, sizeof(*all), by_place);
	tree->programs = arena_array(w->arena, count + 1, sizeof(*tree->programs));
	if (!tree->programs)
		return no_memory(w);
	for (uint32_t i = 0; r == 0 && i < count; i = next) {
		struct tree_program *p = tree->program_count ? &tree->programs[tree->program_count - 1] : NULL;

		next = i + 1;
		while (next < count && strcmp(all[next].tag, all[i].tag) == 0 && all[next].session == all[i].session)
			next++;
		if (!p || strcmp(p->tag, all[i].tag) != 0) {
			p = &tree->programs[tree->program_count++];
			p->tag = all[i].tag;
			p->sessions = arena_array(w->arena, count - i, sizeof(*p->sessions));
			if (!p->sessions)
				return no_memory(w);
		}
		r = session_fill(w, &all[i], next - i, &p->sessions[p->session_count]);
		/* a capture whose session has no runs by the TSC says nothing by itself */
		p->session_count += r == 0 && p->sessions[p->session_count].run_count > 0;
	}
	return r;
}

static const char **copy_names(struct walk *w, const char **names, size_t count)
{
	const char **copy = arena_array(w->arena, count + 1, sizeof(char *));

	for (size_t i = 0; copy && i < count; i++)
		copy[i] = names[i];
	return copy;
}

int tree_read(const char *dir, struct arena *arena, struct tree *ret, struct err *err)
{
	struct walk w = { .arena = arena, .tree = ret, .err = err };
	const char *root = arena_strdup(arena, dir);
	size_t length = strlen(dir);
	int r;

	*ret = (struct tree){ 0 };
	while (root && length > 1 && root[length - 1] == '/')
		root = arena_strndup(arena, dir, --length);
	r = root ? walk(&w, root, 0) : no_memory(&w);
	if (r == 0)
		r = sort_in(&w);
	ret->traces = copy_names(&w, w.traces.items, w.traces.count);
	ret->ignored = copy_names(&w, w.ignored.items, w.ignored.count);
	ret->trace_count = (uint32_t)w.traces.count;
	ret->ignored_count = (uint32_t)w.ignored.count;
	if (r == 0 && (!ret->traces || !ret->ignored))
		r = no_memory(&w);
	free(w.found.items);
	free(w.traces.items);
	free(w.ignored.items);
	if (r == 0 && ret->run_count == 0)
		r = err_set(err, ERR_USAGE, ENOENT,
			    "%s: no runs in it; expected folders such as CS_s1 with f_run01.csv and so on", dir);
	return r;
}

const struct tree_program *tree_find(const struct tree *tree, const char *tag)
{
	for (uint32_t i = 0; i < tree->program_count; i++)
		if (strcmp(tree->programs[i].tag, tag) == 0)
			return &tree->programs[i];
	return NULL;
}
