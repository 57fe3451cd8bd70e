/* SPDX-License-Identifier: Apache-2.0 */
#include "import/study.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/import.h"
#include "import/lines.h"
#include "import/output.h"
#include "observe/build.h"
#include "stats/sort.h"
#include "target/target.h"

enum { PROBES_ASSUMED = 1000, CARRIER_FRAME_BYTES = 0, INTERVAL_NS = 60000000 };

static const struct target_ops target_study = { .kind = "imported", .summary = "switches measured by others" };

/* One campaign of the study: a measure, its cells, and a restart for each group. */
struct one {
	const struct import_options *options;
	struct study *study;
	enum measure measure;
	struct arena arena;
	struct plan plan;
	struct study_group **groups; /* parallel to plan.turns */
	struct import_output out;
	struct import_counts *counts;
	uint64_t foreign; /* records whose sequence is not of their run */
	struct err *err;
};

static int no_memory(struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

static bool is_interrupted(const struct import_options *o)
{
	return o->interrupted && atomic_load_explicit(o->interrupted, memory_order_relaxed);
}

/* --- reading --- */

static int read_file(struct study *s, uint32_t file, const struct import_options *o, struct err *err)
{
	uint64_t before = s->records, all = 0;
	struct lines lines;
	struct stat st;
	const char *text;
	size_t length;
	int r;

	s->path = s->files[file];
	r = lines_open(&lines, s->path, err);
	if (r < 0)
		return r;
	all = fstat(lines.fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	while ((r = lines_next(&lines, &text, &length, err)) == 1) {
		s->line = lines.number;
		if (lines.number % 4096 == 1 && o->progress)
			o->progress(o->context, s->path, lines.bytes, all);
		if (lines.number % 4096 == 1 && is_interrupted(o))
			r = err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
		else
			r = length ? study_take_line(s, file, text, length, err) : 0;
		if (r < 0)
			break;
	}
	lines_release(&lines);
	if (r == 0 && s->records == before)
		r = err_set(err, ERR_USAGE, EINVAL, "%s:1: no records; expected a JSON object a line", s->path);
	return r;
}

/* --- as a plan --- */

static bool same_cell(const struct study_measure *m, const struct study_group *g, const char *const *values)
{
	for (int i = 0; m->axes[i]; i++)
		if (strcmp(g->values[i], values[i]) != 0)
			return false;
	return true;
}

static int cell_of(struct one *o, const struct study_group *g, uint32_t *ret)
{
	const struct study_measure *m = &study_measures[o->measure];
	struct plan *plan = &o->plan;
	const char *label = "";
	struct cell *cell;

	for (uint32_t i = 0; i < plan->cell_count; i++)
		if (same_cell(m, g, plan->cells[i].values)) {
			*ret = i;
			return 0;
		}
	cell = &plan->cells[plan->cell_count];
	for (int i = 0; label && m->axes[i]; i++)
		label = arena_printf(&o->arena, "%s%s%s=%s", label, i ? " " : "", m->axes[i], g->values[i]);
	if (!label)
		return -ENOMEM;
	*cell = (struct cell){ .index = plan->cell_count, .tare = CELL_NONE, .label = label, .values = g->values };
	*ret = plan->cell_count++;
	return 0;
}

/* Repetitions of one file follow those of the files before it: each is a fresh start. */
static uint32_t restart_of(const struct one *o, const struct study_group *g)
{
	uint32_t before = 0;

	for (uint32_t f = 0; f < g->file; f++) {
		uint32_t most = 0;

		for (size_t i = 0; i < o->study->groups.count; i++) {
			const struct study_group *other = o->study->groups.items[i];

			if (other->measure == o->measure && other->file == f && other->repetition + 1 > most)
				most = other->repetition + 1;
		}
		before += most;
	}
	return before + g->repetition;
}

static const char *text_of(struct one *o)
{
	const char *text =
		arena_printf(&o->arena, "# no plan: imported by tare %s (format p4net-perf-study)\n", build_version());

	for (uint32_t i = 0; text && i < o->study->file_count; i++)
		text = arena_printf(&o->arena, "%s# %s\n", text, o->study->files[i]);
	return text;
}

static uint64_t fnv1a64(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

static const char *name_of(struct one *o)
{
	const char *path = o->study->files[0], *slash = strrchr(path, '/');
	char *name = arena_strndup(&o->arena, slash ? slash + 1 : path, 48);

	for (char *c = name; c && *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
			*c = '-';
	if (name && strlen(name) > 6 && strcmp(name + strlen(name) - 6, ".jsonl") == 0)
		name[strlen(name) - 6] = '\0';
	return name && (!*name || *name == '.' || *name == '-') ? "p4net-perf-study" : name;
}

static int make_plan(struct one *o)
{
	const struct study_measure *m = &study_measures[o->measure];
	size_t most = o->study->groups.count;
	struct plan *plan = &o->plan;

	*plan = (struct plan){
		.path = o->study->files[0],
		.directory = ".",
		.text = text_of(o),
		.name = name_of(o),
		.measure = o->measure,
		.seed = 1,
		.runs = 1,
		.axes = m->axes,
		.target = &target_study,
		.cells = arena_array(&o->arena, most, sizeof(*plan->cells)),
		.turns = arena_array(&o->arena, most, sizeof(*plan->turns)),
	};
	o->groups = arena_array(&o->arena, most, sizeof(struct study_group *));
	if (!plan->text || !plan->name || !plan->cells || !plan->turns || !o->groups)
		return no_memory(o->err);
	while (m->axes[plan->axis_count])
		plan->axis_count++;
	plan->text_hash = fnv1a64(plan->text);
	for (size_t i = 0; i < most; i++) {
		struct study_group *g = o->study->groups.items[i];
		struct turn *turn = &plan->turns[plan->turn_count];

		if (g->measure != o->measure)
			continue;
		if (cell_of(o, g, &turn->cell) < 0)
			return no_memory(o->err);
		turn->restart = turn->block = restart_of(o, g);
		if (turn->restart >= plan->restarts)
			plan->restarts = turn->restart + 1;
		o->groups[plan->turn_count++] = g;
	}
	return 0;
}

/* --- runs --- */

static const struct run_record blank = {
	.tsc_hz = NAN,
	.tsc_hz_u_ppm = NAN,
	.core_send = -1,
	.core_receive = -1,
	.protection = "not recorded",
};

/* The harness numbers a repetition's probes on from those of the one before. */
static uint32_t probe_of(const struct study_group *g, uint32_t sequence, uint32_t sent)
{
	uint64_t base = (uint64_t)g->repetition * sent;

	if (sequence >= base && sequence < base + sent)
		return (uint32_t)(sequence - base);
	return sequence < sent ? sequence : UINT32_MAX;
}

static void take_rows(struct one *o, const struct study_group *g, struct transit *rows, uint32_t sent,
		      struct ledger *ledger)
{
	for (uint32_t i = 0; i < sent; i++)
		rows[i] = (struct transit){
			.seq = i,
			.packet = i,
			.fate = FATE_LOST,
			.flags = TRANSIT_NO_HOST,
			.sw_in_ns = TRANSIT_NONE,
			.sw_out_ns = TRANSIT_NONE,
			.rx_ns = TRANSIT_NONE,
			.p4_in_us = TRANSIT_NONE,
			.p4_out_us = TRANSIT_NONE,
		};
	for (size_t k = 0; k < g->transits.count; k++) {
		const struct study_transit *t = &g->transits.items[k];
		uint32_t probe = probe_of(g, t->sequence, sent);

		ledger->arrived++;
		ledger->classified++;
		if (probe == UINT32_MAX) {
			ledger->foreign++;
			o->foreign++;
		} else if (rows[probe].fate != FATE_LOST) {
			ledger->duplicates++;
		} else if (t->p4_in_us == 0 || t->p4_out_us == 0) {
			rows[probe].fate = FATE_UNSTAMPED;
		} else {
			rows[probe].fate = FATE_MATCHED;
			rows[probe].p4_in_us = t->p4_in_us;
			rows[probe].p4_out_us = t->p4_out_us;
		}
	}
	ledger->sent = sent;
	for (uint32_t i = 0; i < sent; i++)
		ledger->fate[rows[i].fate]++;
}

static int64_t number_of(const char *text)
{
	return strtoll(text, NULL, 10);
}

static int put_transit(struct one *o, const struct study_group *g)
{
	uint32_t sent = o->options->sent ? o->options->sent : PROBES_ASSUMED;
	struct transit *rows = malloc(sent * sizeof(*rows));
	struct run_record record = blank;
	struct transit_conditions conditions = {
		.frame_bytes = (uint32_t)number_of(g->values[1]),
		.interval_ns = INTERVAL_NS,
		.carrier_asked_bps = number_of(g->values[2]) * 1000000,
		.carrier_frame_bytes = CARRIER_FRAME_BYTES,
		.carrier_offered_bps = NAN,
		.carrier_received_bps = NAN,
	};
	int r;

	if (!rows)
		return no_memory(o->err);
	snprintf(conditions.regime, sizeof(conditions.regime), "%s", g->cold ? "cold" : "warm");
	take_rows(o, g, rows, sent, &record.ledger);
	r = transit_align(rows, sent, 0, &record.ledger, &conditions, NULL);
	r = r < 0 ? no_memory(o->err) : store_put_transit_run(o->out.store, &record, &conditions, rows, sent, o->err);
	o->counts->probes += r == 0 ? sent : 0;
	free(rows);
	return r;
}

/* Of a run's records, the number of one quantity; NaN: none has it. */
static double value_of(const struct study_group *g, unsigned quantity, int how, double *scratch)
{
	double sum = 0, most = -INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < g->numbers.count; i++)
		if (g->numbers.items[i].quantity == quantity && !isnan(g->numbers.items[i].value)) {
			scratch[n++] = g->numbers.items[i].value;
			sum += scratch[n - 1];
			most = fmax(most, scratch[n - 1]);
		}
	if (n == 0)
		return NAN;
	return how == STUDY_MEAN ? sum / (double)n : how == STUDY_MAX ? most : median_double(scratch, n);
}

static int put_values(struct one *o, const struct study_group *g)
{
	const struct study_measure *m = &study_measures[o->measure];
	double *scratch = malloc((g->numbers.count + 1) * sizeof(*scratch));
	struct run_value values[sizeof(m->quantities) / sizeof(m->quantities[0])];
	uint32_t count = 0;
	int r;

	if (!scratch)
		return no_memory(o->err);
	r = store_put_run(o->out.store, &blank, NULL, 0, o->err);

	for (unsigned q = 0; r == 0 && q < sizeof(m->quantities) / sizeof(m->quantities[0]) && m->quantities[q].name;
	     q++) {
		double value = value_of(g, q, m->quantities[q].how, scratch);

		/* hops that no record has */
		if (isnan(value) && o->measure == MEASURE_TELEMETRY)
			continue;
		values[count++] = (struct run_value){ m->quantities[q].name, m->quantities[q].unit, value };
	}
	if (r == 0)
		r = store_put_values(o->out.store, values, count, o->err);
	free(scratch);
	return r;
}

/* --- a campaign --- */

static int note(struct one *o, const char *text)
{
	if (o->options->note)
		o->options->note(o->options->context, text);
	return store_put_event(o->out.store, "import", text, o->err);
}

static int put_notes(struct one *o)
{
	const struct study *s = o->study;
	char text[640];
	int r = 0;

	if (o->measure == MEASURE_TRANSIT) {
		snprintf(text, sizeof(text),
			 "%s: %u probes a run are assumed%s: lost ones left no record; only the switch's own stamps "
			 "were kept",
			 measure_name(o->measure), o->options->sent ? o->options->sent : PROBES_ASSUMED,
			 o->options->sent ? "" : " (say how many with --sent)");
		r = note(o, text);
	}
	if (r == 0 && o->foreign) {
		snprintf(text, sizeof(text), "%" PRIu64 " records have a sequence that is not of their run",
			 o->foreign);
		r = note(o, text);
	}
	for (size_t i = 0; r == 0 && i < s->failures.count; i++) {
		snprintf(text, sizeof(text), "a configuration failed: %s", s->failures.items[i]);
		r = note(o, text);
	}
	if (r == 0 && s->unknown) {
		snprintf(text, sizeof(text), "%" PRIu64 " records left out: their metrics ('%s' first) are not known",
			 s->unknown, s->first_unknown ? s->first_unknown : "?");
		r = note(o, text);
	}
	return r;
}

static int write_campaign(struct one *o, const char *output)
{
	const struct stored_fact facts[] = {
		{ "import.format", "p4net-perf-study" },
		{ "import.from", o->study->files[0] },
	};
	int r = make_plan(o);

	if (r == 0)
		r = import_output_open(&o->out, output, &o->plan, o->err);
	if (r == 0)
		r = store_put_facts(o->out.store, facts, sizeof(facts) / sizeof(facts[0]), o->err);
	for (uint32_t t = 0; r == 0 && t < o->plan.turn_count; t++) {
		if (is_interrupted(o->options))
			r = err_set(o->err, ERR_INTERRUPTED, EINTR, "interrupted");
		if (r == 0)
			r = store_begin_restart(o->out.store, t, o->err);
		if (r == 0)
			r = (o->measure == MEASURE_TRANSIT ? put_transit : put_values)(o, o->groups[t]);
		if (r == 0)
			r = store_commit_restart(o->out.store, NULL, NULL, o->err);
	}
	if (r == 0)
		r = put_notes(o);
	if (r == 0)
		r = import_output_commit(&o->out, o->err);
	import_output_abandon(&o->out);
	if (r == 0) {
		o->counts->campaigns++;
		o->counts->restarts += o->plan.turn_count;
		o->counts->runs += o->plan.turn_count;
	}
	return r;
}

static int one_campaign(struct study *s, enum measure measure, const char *output, const struct import_options *options,
			struct import_counts *counts, struct err *err)
{
	struct one o = { .options = options, .study = s, .measure = measure, .counts = counts, .err = err };
	int r;

	arena_init(&o.arena, 0);
	r = write_campaign(&o, output);
	arena_release(&o.arena);
	return r;
}

/* Undo those before the one that failed. */
static void remove_written(const char *output, const bool *written)
{
	char path[4096];

	for (int m = 0; m < MEASURES; m++) {
		snprintf(path, sizeof(path), "%s/%s", output, measure_name((enum measure)m));
		if (written[m])
			store_remove(path);
	}
	rmdir(output);
}

static int several_campaigns(struct study *s, const bool *present, const struct import_options *options,
			     struct import_counts *counts, struct err *err)
{
	bool written[MEASURES] = { false };
	char path[4096];
	int r = 0;

	if (mkdir(options->output, 0777) != 0)
		return err_set(err, errno == EEXIST ? ERR_USAGE : ERR_HOST, errno,
			       errno == EEXIST ? "%s: exists; choose another directory with -o, or remove it"
					       : "%s: cannot create the directory",
			       options->output);
	for (int m = 0; r == 0 && m < MEASURES; m++) {
		if (!present[m])
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", options->output, measure_name((enum measure)m)) >=
		    (int)sizeof(path))
			r = err_set(err, ERR_USAGE, ENAMETOOLONG, "%s: the name is too long", options->output);
		else
			r = one_campaign(s, (enum measure)m, path, options, counts, err);
		written[m] = r == 0;
	}
	if (r < 0)
		remove_written(options->output, written);
	return r;
}

static int write_campaigns(struct study *s, const struct import_options *options, struct import_counts *counts,
			   struct err *err)
{
	bool present[MEASURES] = { false };
	unsigned count = 0;
	int only = 0;

	for (size_t i = 0; i < s->groups.count; i++)
		present[s->groups.items[i]->measure] = true;
	for (int m = 0; m < MEASURES; m++) {
		count += present[m];
		only = present[m] ? m : only;
	}
	if (count == 0)
		return err_set(err, ERR_USAGE, EINVAL, "%s: %" PRIu64 " records, none of a metric that is known",
			       s->files[0], s->records);
	return count == 1 ? one_campaign(s, (enum measure)only, options->output, options, counts, err)
			  : several_campaigns(s, present, options, counts, err);
}

int import_study(const char *const *paths, unsigned count, const struct import_options *options,
		 struct import_counts *ret, struct err *err)
{
	struct import_counts counts = { 0 };
	struct study s;
	int r = 0;

	study_init(&s);
	s.files = arena_array(&s.arena, count, sizeof(char *));
	if (!s.files) {
		study_release(&s);
		return no_memory(err);
	}
	for (unsigned i = 0; r == 0 && i < count; i++) {
		for (unsigned k = 0; k < i; k++)
			if (strcmp(paths[k], paths[i]) == 0)
				r = err_set(err, ERR_USAGE, EEXIST, "%s: given twice; each file is a start of its own",
					    paths[i]);
		s.files[s.file_count++] = paths[i];
	}
	for (uint32_t i = 0; r == 0 && i < s.file_count; i++)
		r = read_file(&s, i, options, err);
	counts.records = s.records;
	if (r == 0)
		r = write_campaigns(&s, options, &counts, err);
	study_release(&s);
	if (r == 0)
		*ret = counts;
	return r;
}
