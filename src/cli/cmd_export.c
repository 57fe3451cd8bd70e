/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/verbs.h"
#include "store/operation.h"
#include "store/store.h"

enum { OPERATIONS_MOST = CONTROL_SWITCHES_MOST * CONTROL_ENTRIES_MOST };

/* One sample a line, written by hand: printf would take most of the time. */
struct line {
	char text[1024];
	size_t length;
};

static void put_text(struct line *l, const char *text)
{
	size_t n = strlen(text);

	if (n > sizeof(l->text) - l->length)
		n = sizeof(l->text) - l->length;
	memcpy(l->text + l->length, text, n);
	l->length += n;
}

static void put_char(struct line *l, char c)
{
	if (l->length < sizeof(l->text))
		l->text[l->length++] = c;
}

static void put_number(struct line *l, uint64_t number)
{
	char digits[24];
	int n = sizeof(digits);

	do
		digits[--n] = (char)('0' + number % 10);
	while (number /= 10);
	for (; n < (int)sizeof(digits); n++)
		put_char(l, digits[n]);
}

/* Ticks as ns with three decimals; empty where there is no such time. */
static void put_ns(struct line *l, int64_t ticks, double ns_per_tick)
{
	double ps = (double)ticks * ns_per_tick * 1000;
	int64_t n;

	put_char(l, ',');
	if (ticks == PAIR_NONE || !(fabs(ps) < 9e18))
		return;
	n = llrint(ps);
	if (n < 0) {
		put_char(l, '-');
		n = -n;
	}
	put_number(l, (uint64_t)n / 1000);
	put_char(l, '.');
	put_char(l, (char)('0' + n / 100 % 10));
	put_char(l, (char)('0' + n / 10 % 10));
	put_char(l, (char)('0' + n % 10));
}

static int64_t difference(int64_t a, int64_t b)
{
	/* modulo 2^64, as a file may hold anything */
	return a == PAIR_NONE || b == PAIR_NONE ? PAIR_NONE : (int64_t)((uint64_t)a - (uint64_t)b);
}

/* Quoted as RFC 4180 has it, for labels and file names. */
static void put_quoted(struct line *l, const char *text)
{
	put_char(l, '"');
	for (; *text; text++) {
		if (*text == '"')
			put_char(l, '"');
		put_char(l, *text);
	}
	put_char(l, '"');
}

static const char header[] =
	"cell,restart,block,run,valid,seq,packet,fate,set_apart,difference_ns,truth_ns,sched_ns,tx_ns,"
	"rx_path_ns,rx_bypass_ns,gap_path_ns,gap_bypass_ns,burst_path,burst_bypass\n";

/* What all lines of a run begin with. */
static void line_begin(struct line *l, const char *label, const struct stored_restart *restart,
		       const struct stored_run *run)
{
	l->length = 0;
	put_quoted(l, label);
	put_char(l, ',');
	put_number(l, restart->restart);
	put_char(l, ',');
	put_number(l, restart->block);
	put_char(l, ',');
	put_number(l, run->record.run);
	put_text(l, restart->failure || run->record.invalid[0] ? ",no" : ",yes");
}

static void line_pair(struct line *l, const struct pair *p, double ns_per_tick)
{
	put_char(l, ',');
	put_number(l, p->seq);
	put_char(l, ',');
	put_number(l, p->packet);
	put_char(l, ',');
	put_text(l, fate_name((enum fate)p->fate));
	put_text(l, p->flags & PAIR_SET_APART ? ",yes" : ",no");
	put_ns(l, difference(p->path_ticks, p->bypass_ticks), ns_per_tick);
	put_ns(l, p->truth_ticks, ns_per_tick);
	put_ns(l, p->sched_ticks, ns_per_tick);
	put_ns(l, p->tx_ticks, ns_per_tick);
	put_ns(l, p->path_ticks, ns_per_tick);
	put_ns(l, p->bypass_ticks, ns_per_tick);
	put_ns(l, p->gap_path_ticks, ns_per_tick);
	put_ns(l, p->gap_bypass_ticks, ns_per_tick);
	put_char(l, ',');
	put_number(l, p->burst_path);
	put_char(l, ',');
	put_number(l, p->burst_bypass);
	put_char(l, '\n');
}

static const char transit_header[] =
	"cell,restart,block,run,valid,seq,packet,fate,set_apart,transit_us,p4_in_us,p4_out_us,"
	"sched_ns,tx_ns,sw_in_ns,sw_out_ns,rx_ns\n";

static void put_us(struct line *l, int64_t us)
{
	put_char(l, ',');
	if (us == TRANSIT_NONE)
		return;
	if (us < 0)
		put_char(l, '-');
	put_number(l, us < 0 ? 0 - (uint64_t)us : (uint64_t)us);
}

static void line_transit(struct line *l, const struct transit *t)
{
	put_char(l, ',');
	put_number(l, t->seq);
	put_char(l, ',');
	put_number(l, t->packet);
	put_char(l, ',');
	put_text(l, fate_name((enum fate)t->fate));
	put_text(l, t->flags & TRANSIT_SET_APART ? ",yes" : ",no");
	put_us(l, difference(t->p4_out_us, t->p4_in_us));
	put_us(l, t->p4_in_us);
	put_us(l, t->p4_out_us);
	put_ns(l, t->sched_ns, 1);
	put_ns(l, t->tx_ns, 1);
	put_ns(l, t->sw_in_ns, 1);
	put_ns(l, t->sw_out_ns, 1);
	put_ns(l, t->rx_ns, 1);
	put_char(l, '\n');
}

static int export_transit_run(struct store *store, const char *label, const struct stored_restart *restart,
			      const struct stored_run *run, FILE *out, const char *name, struct err *err)
{
	struct transit *rows = malloc((run->pair_count ? run->pair_count : 1) * sizeof(*rows));
	int64_t count;
	struct line line;
	size_t common;

	if (!rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %u samples", run->pair_count);
	count = store_read_transits(store, run, rows, run->pair_count, err);
	line_begin(&line, label, restart, run);
	common = line.length;
	for (int64_t i = 0; i < count; i++) {
		line.length = common;
		line_transit(&line, &rows[i]);
		if (fwrite(line.text, 1, line.length, out) != line.length) {
			count = err_set(err, ERR_HOST, errno, "%s: cannot write: %s", name, strerror(errno));
			break;
		}
	}
	free(rows);
	return count < 0 ? (int)count : 0;
}

static int export_run(struct store *store, const char *label, const struct stored_restart *restart,
		      const struct stored_run *run, FILE *out, const char *name, struct err *err)
{
	struct pair *pairs = malloc((run->pair_count ? run->pair_count : 1) * sizeof(*pairs));
	double ns_per_tick = 1e9 / run->record.tsc_hz;
	int64_t count;
	struct line line;
	size_t common;

	if (!pairs)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %u samples", run->pair_count);
	count = store_read_pairs(store, run, pairs, run->pair_count, err);
	line_begin(&line, label, restart, run);
	common = line.length;
	for (int64_t i = 0; i < count; i++) {
		line.length = common;
		line_pair(&line, &pairs[i], ns_per_tick);
		if (fwrite(line.text, 1, line.length, out) != line.length) {
			count = err_set(err, ERR_HOST, errno, "%s: cannot write: %s", name, strerror(errno));
			break;
		}
	}
	free(pairs);
	return count < 0 ? (int)count : 0;
}

static const char operation_header[] =
	"cell,restart,block,run,valid,switch,seq,status,shared,queued_ns,sent_ns,answered_ns,latency_ns,watched,early,"
	"answered_to_acting_low_ns,answered_to_acting_ns\n";

static void put_since(struct line *l, int64_t value, int64_t base)
{
	bool negative = value != OPERATION_NONE && base != OPERATION_NONE && value < base;

	put_char(l, ',');
	if (value == OPERATION_NONE || base == OPERATION_NONE)
		return;
	if (negative)
		put_char(l, '-');
	put_number(l, negative ? (uint64_t)base - (uint64_t)value : (uint64_t)value - (uint64_t)base);
}

static void line_operation(struct line *l, const struct operation *o)
{
	const char *name = grpc_status_name(o->status);
	char number[16];

	snprintf(number, sizeof(number), "%d", (int)o->status);
	put_char(l, ',');
	put_number(l, (uint64_t)o->at + 1);
	put_char(l, ',');
	put_number(l, o->seq);
	put_char(l, ',');
	put_text(l, name ? name : number);
	put_text(l, o->flags & OPERATION_SHARED ? ",yes" : ",no");
	put_since(l, o->queued_ns, 0);
	put_since(l, o->sent_ns, 0);
	put_since(l, o->answered_ns, 0);
	put_since(l, o->answered_ns, o->sent_ns);
	put_text(l, o->flags & OPERATION_WATCHED ? ",yes" : ",no");
	put_text(l, o->flags & OPERATION_EARLY ? ",yes" : ",no");
	put_since(l, o->acting_low_ns, o->answered_ns);
	put_since(l, o->acting_high_ns, o->answered_ns);
	put_char(l, '\n');
}

static int export_operations_of_run(struct store *store, const char *label, const struct stored_restart *restart,
				    const struct stored_run *run, FILE *out, const char *name, struct err *err)
{
	struct control_account account;
	struct operation *rows;
	struct line line;
	size_t common;
	int64_t count;
	bool there;
	int r = store_read_account(store, run, &account, &there, err);

	if (r < 0 || !there)
		return r;
	if (account.operations > OPERATIONS_MOST)
		return err_set(err, ERR_USAGE, EBADMSG, "%s: a run of %llu operations", store_path(store),
			       (unsigned long long)account.operations);
	rows = malloc((account.operations + 1) * sizeof(*rows));
	if (!rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %llu operations",
			       (unsigned long long)account.operations);
	count = store_read_operations(store, run, &account, rows, (uint32_t)account.operations, err);
	line_begin(&line, label, restart, run);
	common = line.length;
	for (int64_t i = 0; i < count; i++) {
		line.length = common;
		line_operation(&line, &rows[i]);
		if (fwrite(line.text, 1, line.length, out) != line.length) {
			count = err_set(err, ERR_HOST, errno, "%s: cannot write: %s", name, strerror(errno));
			break;
		}
	}
	free(rows);
	return count < 0 ? (int)count : 0;
}

static const char value_header[] = "cell,restart,block,run,valid,name,unit,value\n";

/* Seventeen digits bring a double back whole; empty: the run could not find it. */
static void line_value(struct line *l, const struct run_value *v)
{
	char number[40] = "";

	if (!isnan(v->value))
		snprintf(number, sizeof(number), "%.17g", v->value);
	put_char(l, ',');
	put_quoted(l, v->name);
	put_char(l, ',');
	put_quoted(l, v->unit);
	put_char(l, ',');
	put_text(l, number);
	put_char(l, '\n');
}

static int export_values_of_run(struct store *store, const char *label, const struct stored_restart *restart,
				const struct stored_run *run, FILE *out, const char *name, struct err *err)
{
	struct run_value *values;
	struct arena arena;
	struct line line;
	uint32_t count = 0;
	size_t common;
	int r;

	arena_init(&arena, 0);
	r = store_read_values(store, run, &arena, &values, &count, err);
	line_begin(&line, label, restart, run);
	common = line.length;
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		line.length = common;
		line_value(&line, &values[i]);
		if (fwrite(line.text, 1, line.length, out) != line.length)
			r = err_set(err, ERR_HOST, errno, "%s: cannot write: %s", name, strerror(errno));
	}
	arena_release(&arena);
	return r;
}

/* What a line is: of a run's samples where its measure has any, and else of its values. */
static const struct form {
	const char *header;
	int (*run)(struct store *store, const char *label, const struct stored_restart *restart,
		   const struct stored_run *run, FILE *out, const char *name, struct err *err);
} pair_form = { header, export_run }, transit_form = { transit_header, export_transit_run },
  value_form = { value_header, export_values_of_run }, operation_form = { operation_header, export_operations_of_run };

static const struct form *form_of(enum measure measure, bool values)
{
	if (!values && measure == MEASURE_CONTROL)
		return &operation_form;
	if (values || (measure != MEASURE_DIFFERENTIAL && measure != MEASURE_TRANSIT))
		return &value_form;
	return measure == MEASURE_TRANSIT ? &transit_form : &pair_form;
}

/* `name`: of where `out` goes. */
static int export_all(struct store *store, bool values, FILE *out, const char *name, struct err *err)
{
	const struct form *form = &value_form;
	struct stored_campaign campaign;
	struct stored_restart *restarts;
	struct arena arena;
	uint32_t count = 0;
	int r;

	arena_init(&arena, 0);
	r = store_read_campaign(store, &arena, &campaign, err);
	if (r == 0)
		r = store_read_restarts(store, &arena, &restarts, &count, err);
	if (r == 0)
		form = form_of(campaign.measure, values);
	if (r == 0 && fputs(form->header, out) == EOF)
		r = err_set(err, ERR_HOST, errno, "%s: cannot write: %s", name, strerror(errno));
	for (uint32_t i = 0; r == 0 && i < count; i++)
		for (uint32_t run = 0; r == 0 && run < restarts[i].run_count; run++)
			r = form->run(store, campaign.cells[restarts[i].cell].label, &restarts[i],
				      &restarts[i].runs[run], out, name, err);
	arena_release(&arena);
	return r;
}

/* Into a file beside, which takes the name only when it is whole. */
static int export_file(struct store *store, bool values, const char *path, struct err *err)
{
	char *fresh = NULL;
	FILE *out;
	int r;

	if (asprintf(&fresh, "%s.new", path) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path);
	out = fopen(fresh, "we");
	if (!out) {
		r = err_set(err, ERR_HOST, errno, "%s: cannot create: %s", fresh, strerror(errno));
		free(fresh);
		return r;
	}
	r = export_all(store, values, out, fresh, err);
	if (fclose(out) != 0 && r == 0)
		r = err_set(err, ERR_HOST, errno, "%s: cannot write: %s", fresh, strerror(errno));
	if (r == 0 && rename(fresh, path) != 0)
		r = err_set(err, ERR_HOST, errno, "%s: cannot create: %s", path, strerror(errno));
	if (r < 0)
		unlink(fresh);
	free(fresh);
	return r;
}

static int export_verb(const struct invocation *inv, struct err *err)
{
	const char *path = settings_text(&inv->options, "output");
	bool values = settings_flag(&inv->options, "values");
	struct store *store;
	int r = store_open_read(inv->arguments[0], &store, err);

	if (r < 0)
		return r;
	r = path ? export_file(store, values, path, err) : export_all(store, values, stdout, "standard output", err);
	store_close(store);
	return r;
}

static const struct setting export_options[] = {
	{ .name = "output",
	  .short_name = 'o',
	  .type = SETTING_TEXT,
	  .value_name = "FILE",
	  .help = "write there, all or nothing, instead of the standard output" },
	{ .name = "values",
	  .type = SETTING_FLAG,
	  .help = "the numbers that each run found, a line a number, instead of its samples" },
	{ .name = NULL },
};

const struct verb verb_export = {
	.name = "export",
	.summary = "samples as CSV",
	.arguments = "DIR",
	.description =
		"Writes every probe of the campaign in DIR as a line of comma-separated values: which cell, restart, "
		"block and run it belongs to, what became of it, and its times in ns since the start of its run. A "
		"time that does not exist (the copy did not arrive, the truth is not known) is empty. Probes of runs "
		"that are invalid and of restarts that failed are there too, marked in the column valid. Measures "
		"without probes of their own (control, resources, telemetry, calibrate) give the numbers that their "
		"runs "
		"found: name, unit and value; --values asks for these of the others.\n\n"
		"The columns are described in docs/store.md; the same data is to be had from DIR/tare.db with sqlite3.",
	.options = export_options,
	.least_arguments = 1,
	.most_arguments = 1,
	.run = export_verb,
};
