/* SPDX-License-Identifier: Apache-2.0 */
#include "import/latencylab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/import.h"
#include "import/output.h"
#include "import/second_run.h"
#include "import/tsc_run.h"

struct work {
	const struct import_options *options;
	struct lab_study study;
	struct import_output out;
	struct import_counts counts;
	struct pair *pairs; /* of one run */
	uint64_t foreign;   /* rows whose id nobody sent, all runs */
	uint64_t done_bytes;
	struct err *err;
};

static bool is_interrupted(const struct work *w)
{
	return w->options->interrupted && atomic_load_explicit(w->options->interrupted, memory_order_relaxed);
}

/* To the user, and into the campaign once there is one. */
static int note(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int note(struct work *w, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (w->options->note)
		w->options->note(w->options->context, text);
	return store_put_event(w->out.store, "import", text, w->err);
}

static void progress(struct work *w, const char *what)
{
	if (w->options->progress)
		w->options->progress(w->options->context, what, w->done_bytes, w->study.tree.bytes);
}

/* --- which probes were sent --- */

static int note_sessions(struct work *w, const struct tree_program *p, struct import_seen *seen)
{
	int r = 0;

	for (uint32_t i = 0; p && i < p->session_count; i++)
		for (uint32_t k = 0; r == 0 && k < p->sessions[i].run_count; k++) {
			if (is_interrupted(w))
				return err_set(w->err, ERR_INTERRUPTED, EINTR, "interrupted");
			r = tsc_run_note(p->sessions[i].runs[k].path, seen, w->err);
		}
	return r;
}

static int find_ids(struct work *w, struct lab_program *p)
{
	struct import_seen seen = { 0 };
	int r;

	if (p->trace)
		return import_ids_from_trace(p->trace, &p->ids, w->err);
	r = note_sessions(w, p->self, &seen);
	if (r == 0)
		r = note_sessions(w, p->null, &seen);
	if (r == 0) {
		r = import_ids_from_seen(&seen, w->options->sent, &p->ids, w->err);
		if (r < 0)
			err_wrap(w->err, "%s: ", p->name);
	}
	import_seen_release(&seen);
	return r;
}

/* What is assumed, once a program. */
static int note_ids(struct work *w, const struct lab_program *p)
{
	const char *trace = p->trace && strrchr(p->trace, '/') ? strrchr(p->trace, '/') + 1 : p->trace;

	if (p->ids.exact && p->ids.unreadable + p->ids.shared)
		return note(w,
			    "%s: of %u packets in %s %u have no readable id and %u share one; they are in the ledger "
			    "(unparsed, shadowed) and rank in no quantile",
			    p->name, p->ids.count, trace, p->ids.unreadable, p->ids.shared);
	if (p->ids.exact)
		return 0;
	if (p->ids.unreadable)
		return note(w,
			    "%s: %u of the %u probes that are said to have been sent were never seen in any run; they "
			    "are taken "
			    "as unreadable and rank in no quantile",
			    p->name, p->ids.unreadable, p->ids.count);
	return note(
		w,
		"%s: the trace that was sent is not there, so %u probes a run are assumed: the ids that any run has "
		"seen; probes that none has seen, and ids that several packets share, cannot be counted",
		p->name, p->ids.count);
}

/* --- writing --- */

static int put_second(struct work *w, const struct second_set *set, const struct tree_run *run)
{
	const struct second_of_run *second = second_set_find(set, run->run);

	if (!second)
		return 0;
	w->counts.second_pairs += second->clock.pairs;
	return store_put_second(w->out.store, &second->clock, second->rows, w->err);
}

static int put_run(struct work *w, const struct lab_program *p, const struct tree_run *run,
		   const struct second_set *set)
{
	struct run_record record;
	struct stat st;
	int r;

	if (is_interrupted(w))
		return err_set(w->err, ERR_INTERRUPTED, EINTR, "interrupted");
	progress(w, run->path);
	r = tsc_run_read(run->path, &p->ids, w->pairs, &record, w->err);
	if (r < 0)
		return r;
	record.run = run->run - 1;
	r = store_put_run(w->out.store, &record, w->pairs, p->ids.count, w->err);
	if (r == 0)
		r = put_second(w, set, run);
	w->foreign += record.ledger.foreign / 2;
	w->counts.runs++;
	w->counts.probes += p->ids.count;
	w->counts.records += record.ledger.arrived / 2;
	w->done_bytes += stat(run->path, &st) == 0 ? (uint64_t)st.st_size : 0;
	return r;
}

/* Differences where they are there, unless captures are asked for. */
static int read_second(struct work *w, const struct lab_turn *turn, struct second_set *set)
{
	const struct tree_session *s = turn->session;

	if (s->capture && (w->options->captures || !s->second_csv))
		return second_from_capture(s->capture, &turn->program->ids, set, w->err);
	return s->second_csv ? second_from_csv(s->second_csv, &turn->program->ids, set, w->err) : 0;
}

static int note_second(struct work *w, const struct lab_turn *turn, const struct second_set *set, const char *label)
{
	const struct tree_session *s = turn->session;
	uint32_t without = 0;

	for (uint32_t k = 0; k < s->run_count; k++)
		without += second_set_find(set, s->runs[k].run) == NULL;
	/* a study without a second clock at all needs no word of it */
	if (without == 0 || (set->run_count == 0 && !s->second_csv && !s->capture))
		return 0;
	return note(w, "%s, session %u: the second clock has %u of its %u runs", label, s->session,
		    s->run_count - without, s->run_count);
}

static int put_turn(struct work *w, uint32_t position)
{
	const struct lab_turn *turn = &w->study.turns[position];
	const char *label = w->study.plan.cells[w->study.plan.turns[position].cell].label;
	struct second_set set = { 0 };
	int r;

	if (is_interrupted(w))
		return err_set(w->err, ERR_INTERRUPTED, EINTR, "interrupted");
	r = store_begin_restart(w->out.store, position, w->err);
	if (r == 0)
		r = read_second(w, turn, &set);
	for (uint32_t k = 0; r == 0 && k < turn->session->run_count; k++)
		r = put_run(w, turn->program, &turn->session->runs[k], &set);
	if (r == 0)
		r = note_second(w, turn, &set, label);
	if (r == 0)
		r = store_commit_restart(w->out.store, NULL, NULL, w->err);
	second_set_release(&set);
	w->counts.restarts += r == 0;
	return r;
}

static int put_facts(struct work *w, const char *dir)
{
	const struct stored_fact facts[] = {
		{ "import.format", "latencylab" },
		{ "import.from", dir },
		{ "import.clock", "TSC, converted by its receiver; whole ns" },
	};
	int r = store_put_facts(w->out.store, facts, sizeof(facts) / sizeof(facts[0]), w->err);

	if (r == 0)
		r = note(w, "imported: sessions stand in blocks by their number and did not run in this order; send "
			    "times, poll "
			    "gaps and the rate's uncertainty were not recorded");
	for (uint32_t i = 0; r == 0 && i < w->study.program_count; i++)
		r = note_ids(w, &w->study.programs[i]);
	for (uint32_t i = 0; r == 0 && i < w->study.program_count; i++)
		if (!w->study.programs[i].null)
			r = note(w, "%s: no sessions of its null (say which with --tares)", w->study.programs[i].name);
	for (uint32_t i = 0; r == 0 && i < w->study.tree.ignored_count; i++)
		r = note(w, "%s: left out, its columns are neither those of a run nor of a second clock",
			 w->study.tree.ignored[i]);
	return r;
}

static int write_all(struct work *w, const char *dir)
{
	uint32_t most = 1;
	int r;

	for (uint32_t i = 0; i < w->study.program_count; i++)
		if (w->study.programs[i].ids.count > most)
			most = w->study.programs[i].ids.count;
	w->pairs = malloc(most * sizeof(*w->pairs));
	if (!w->pairs)
		return err_set(w->err, ERR_HOST, ENOMEM, "out of memory for a run of %u probes", most);
	r = put_facts(w, dir);
	for (uint32_t t = 0; r == 0 && t < w->study.plan.turn_count; t++)
		r = put_turn(w, t);
	if (r == 0 && w->foreign)
		r = note(w, "%" PRIu64 " rows carry an id that no packet of the trace has: read as another's",
			 w->foreign);
	if (r == 0)
		progress(w, "");
	return r;
}

int import_latencylab(const char *dir, const struct import_options *options, struct import_counts *ret, struct err *err)
{
	struct work w = { .options = options, .err = err };
	int r = lab_study_read(dir, options->tares, &w.study, err);

	for (uint32_t i = 0; r == 0 && i < w.study.program_count; i++)
		r = find_ids(&w, &w.study.programs[i]);
	if (r == 0)
		r = lab_study_plan(&w.study, dir, err);
	if (r == 0)
		r = import_output_open(&w.out, options->output, &w.study.plan, err);
	if (r == 0)
		r = write_all(&w, dir);
	if (r == 0)
		r = import_output_commit(&w.out, err);
	import_output_abandon(&w.out);
	free(w.pairs);
	lab_study_release(&w.study);
	w.counts.campaigns = 1;
	if (r == 0)
		*ret = w.counts;
	return r;
}
