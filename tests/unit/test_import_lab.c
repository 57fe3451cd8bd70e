/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <unistd.h>

#include <cmocka.h>

#include "import/import.h"
#include "import_lab.h"
#include "report/result.h"
#include "scratch.h"
#include "store/store.h"

/* A study of the card, written with known truth, through the import, the store and the report. */

static char lab[96], out[96];

static int setup(void **state)
{
	if (make_scratch(state) != 0)
		return -1;
	snprintf(lab, sizeof(lab), "%s/lab", scratch);
	snprintf(out, sizeof(out), "%s/out", scratch);
	return 0;
}

static const struct lab_truth programs[] = { { "CS", "NC", 364, 0 }, { "FT", "NT", 107, 30 } };

static struct lab_make small(void)
{
	return (struct lab_make){
		.dir = lab,
		.programs = programs,
		.program_count = 2,
		.sessions = 7,
		.runs = 3,
		.packets = 1200,
		.offset_ns = 40,
		.noise_ns = 10,
	};
}

static char notes[8192];

static void take_note(void *context, const char *text)
{
	(void)context;
	snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes), "%s\n", text);
}

static struct import_counts counts;

static int import_with(const struct import_options *more, struct err *err)
{
	struct import_options options = more ? *more : (struct import_options){ 0 };

	notes[0] = '\0';
	options.output = out;
	options.note = take_note;
	*err = (struct err){ 0 };
	return import_latencylab(lab, &options, &counts, err);
}

static struct result *import_good(const struct import_options *more)
{
	struct store *store;
	struct result *result;
	struct err err;

	if (import_with(more, &err) < 0 || store_open_read(out, &store, &err) < 0 ||
	    result_build(store, &result, &err) < 0)
		fail_msg("%s", err.message);
	store_close(store);
	return result;
}

static const struct cell_result *cell(const struct result *r, const char *title)
{
	for (uint32_t i = 0; i < r->cell_count; i++)
		if (strcmp(r->cells[i].title, title) == 0)
			return &r->cells[i];
	fail_msg("no cell '%s'; the first is '%s'", title, r->cells[0].title);
	return NULL;
}

static bool says(const struct result *r, const char *words)
{
	for (uint32_t i = 0; i < r->problem_count; i++)
		if (strstr(r->problems[i].text, words))
			return true;
	return false;
}

static void known_medians(void **state)
{
	struct lab_make m = small();
	const struct cell_result *c;
	struct result *r;

	(void)state;
	lab_make(&m);
	r = import_good(NULL);
	assert_int_equal(counts.restarts, 28);
	assert_int_equal(counts.runs, 84);
	assert_int_equal(counts.probes, 84 * 1200);
	c = cell(r, "Checksum trace=CS");
	assert_float_equal(c->net_ns, 364, 1);
	assert_true(c->net_interval.low < 364 && c->net_interval.high > 364);
	assert_float_equal(c->tare_ns, 40, 1);
	assert_int_equal(c->restarts_valid, 7);
	assert_int_equal(c->ledger.sent, 7 * 3 * 1200);
	assert_int_equal(c->ledger.fate[FATE_MATCHED], c->ledger.sent);
	/* no send time was recorded: there is no one-way figure, not even one that is lost */
	assert_int_equal(c->one_way.q[QUANTILE_P50].state, FIGURE_REFUSED);
	c = cell(r, "FiveTuple trace=FT");
	assert_int_equal(c->mode_count, 2);
	assert_float_equal(c->modes[0].net_ns, 107, 2);
	assert_float_equal(c->modes[1].net_ns, 137, 2);
	assert_true(says(r, "a tare on one side only"));
	assert_true(says(r, "1200 probes a run are assumed"));
	result_destroy(r);
}

/* A quarter without an id, some with another's, some lost: the median must stay, and the account be whole. */
static void ids_by_the_trace(void **state)
{
	struct lab_make m = small();
	const struct cell_result *c;
	const struct run_result *run;
	struct result *r;

	(void)state;
	m.program_count = 1;
	m.trace = true;
	m.unreadable_every = 4;
	m.shared_every = 50;
	m.lost_every = 75; /* of 16, 4 are unreadable, 8 share an id with another */
	lab_make(&m);
	r = import_good(NULL);
	c = cell(r, "Checksum trace=checksum_20k.pcap");
	assert_float_equal(c->net_ns, 364, 1);
	run = &r->restarts[1].runs[0];
	assert_true(run->valid);
	assert_int_equal(run->ledger.sent, 1200);
	assert_int_equal(run->ledger.fate[FATE_UNPARSED], 300);
	assert_int_equal(run->ledger.fate[FATE_SHADOWED], 24); /* 12 pairs; 12 more would be, but are unreadable */
	assert_true(run->ledger.fate[FATE_LOST] > 0 && run->ledger.fate[FATE_LOST] < 16);
	assert_int_equal(run->ranked, run->ledger.fate[FATE_MATCHED] + run->ledger.fate[FATE_LOST]);
	assert_true(run->balances);
	assert_true(says(r, "have no id of their own and rank in no quantile: gross holds if"));
	assert_non_null(strstr(notes, "of 1200 packets in checksum_20k.pcap 300 have no readable id"));
	result_destroy(r);
}

/* Without the trace: an id that another run has seen was sent in all; what nobody ever saw has no readable one. */
static void ids_by_what_was_seen(void **state)
{
	const struct import_options options = { .sent = 1600 };
	struct lab_make m = small();
	const struct run_result *run;
	struct result *r;
	char path[160], line[800];

	(void)state;
	m.program_count = 1;
	lab_make(&m);
	/* one run that lost its last 100 probes */
	snprintf(path, sizeof(path), "%s/CS_s1/f_run01.csv", lab);
	snprintf(line, sizeof(line), "head -n 1101 %s > %s.short && mv %s.short %s", path, path, path, path);
	assert_int_equal(system(line), 0);
	r = import_good(&options);
	assert_float_equal(cell(r, "Checksum trace=CS")->net_ns, 364, 1);
	run = &r->restarts[1].runs[0];
	assert_int_equal(run->ledger.sent, 1600);
	assert_int_equal(run->ledger.fate[FATE_LOST], 100);
	assert_int_equal(run->ledger.fate[FATE_UNPARSED], 400);
	assert_int_equal(run->ranked, 1200);
	assert_int_equal(r->restarts[1].runs[1].ledger.fate[FATE_LOST], 0);
	assert_non_null(strstr(notes, "400 of the 1600 probes that are said to have been sent were never seen"));
	result_destroy(r);
}

/* --- the second clock --- */

static void check_second(const char *clock, uint64_t pairs_of_first)
{
	struct stored_restart *restarts;
	struct second_record second;
	struct second_pair *rows;
	struct arena arena;
	struct store *store;
	struct err err;
	uint32_t count;

	arena_init(&arena, 0);
	assert_int_equal(store_open_read(out, &store, &err), 0);
	assert_int_equal(store_read_restarts(store, &arena, &restarts, &count, &err), 0);
	assert_int_equal(store_read_second_clock(store, &restarts[1].runs[0], &second, &err), 1);
	assert_string_equal(second.clock, clock);
	assert_int_equal(second.pairs, pairs_of_first);
	rows = calloc(second.pairs, sizeof(*rows));
	assert_int_equal(store_read_second(store, &restarts[1].runs[0], &second, rows, (uint32_t)second.pairs, &err),
			 second.pairs);
	for (uint64_t i = 0; i < second.pairs; i++)
		assert_in_range(rows[i].difference_ns, 404 - 60, 404 + 90);
	free(rows);
	store_close(store);
	arena_release(&arena);
}

static void second_clock_as_csv(void **state)
{
	struct lab_make m = small();
	const struct second_result *s;
	const struct cell_result *c;
	struct result *r;

	(void)state;
	m.program_count = 1;
	m.second = true;
	m.second_bias_ns = 25; /* in program and null alike: the net must not have it */
	lab_make(&m);
	r = import_good(NULL);
	assert_int_equal(counts.second_pairs, 14 * 3 * 1200);
	check_second("published differences", 1200);
	c = cell(r, "Checksum trace=CS");
	assert_int_equal(c->second_count, 1);
	s = c->second;
	assert_int_equal(s->runs, 21);
	assert_int_equal(s->compared, 21 * 1200);
	assert_float_equal(s->first_net_ns, 364, 1);
	assert_float_equal(s->net_ns, 364, 1.5);
	assert_true(s->net_interval.low < 365 && s->net_interval.high > 363);
	assert_float_equal(s->bias_ns, 0, 1.5);
	/* sd of the difference: of noise of 10 and 5 ns, and of steps of 6.4 */
	assert_float_equal(s->sd_ns, sqrt(100 + 25 + 6.4 * 6.4 / 12), 1);
	assert_true(s->low_ns < -15 && s->high_ns > 15);
	/* one clock is twice as noisy: the middle agrees, the distributions do not */
	assert_int_equal(s->runs_rejected, 21);
	assert_int_equal(s->shift_count, 19);
	assert_true(s->shift_ns[0] > 0 && s->shift_ns[18] < 0);
	result_destroy(r);
}

/* A clock that is off in the program only, by 30 ns: the shift function must show it at every quantile. */
static void clocks_that_disagree_are_told(void **state)
{
	struct lab_make m = small();
	const struct second_result *s;
	struct result *r;
	char command[512];

	(void)state;
	m.program_count = 1;
	m.sessions = 2;
	m.second = true;
	lab_make(&m);
	snprintf(command, sizeof(command),
		 "for f in %s/silicon_CS_*.csv; do awk -F, 'NR == 1 { print } NR > 1 { print $1 \",\" $2 \",\" $3 + 30 "
		 "}' "
		 "$f >$f.new && mv $f.new $f; done",
		 lab);
	assert_int_equal(system(command), 0);
	r = import_good(NULL);
	s = cell(r, "Checksum trace=CS")->second;
	assert_float_equal(s->net_ns - s->first_net_ns, 30, 2.5);
	assert_float_equal(s->bias_ns, 30, 2.5);
	assert_int_equal(s->runs_apart, s->runs);
	for (uint32_t i = 2; i < 17; i++)
		assert_true(s->shift_low_ns[i] > 0);
	assert_true(says(r, "the clocks' quantiles differ by more than chance"));
	result_destroy(r);
}

static void second_clock_as_capture(void **state)
{
	struct lab_make m = small();
	struct result *r;

	(void)state;
	m.program_count = 1;
	m.sessions = 1;
	m.trace = m.captures = true;
	m.shared_every = 100;
	lab_make(&m);
	r = import_good(NULL);
	/* of 1200 packets 12 have the id of another: 24 cannot be told apart */
	check_second("published capture", 1176);
	result_destroy(r);
}

/* --- all or nothing --- */

static void refused(const char *words)
{
	struct err err;

	assert_true(import_with(NULL, &err) < 0);
	if (!strstr(err.message, words))
		fail_msg("'%s' does not say '%s'", err.message, words);
	assert_int_not_equal(access(out, F_OK), 0);
	snprintf(notes, sizeof(notes), "%s.importing", out);
	assert_int_not_equal(access(notes, F_OK), 0);
}

static void write_file(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", lab, name);
	f = lab_create(path);
	fputs(text, f);
	fclose(f);
}

static void make_tiny(void)
{
	struct lab_make m = small();

	m.program_count = 1;
	m.sessions = 1;
	m.runs = 1;
	m.packets = 20;
	lab_make(&m);
}

#define HEADER "pkt_id,tx_ts_ns,rx1_ts_ns,rx2_ts_ns,latency_rx1_ns,latency_rx2_ns,diff_latency_ns\n"

static void bad_runs(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "CS_s1/f_run01.csv:1: the file is empty" },
		{ "a,b,c\n1,2,3\n", "CS_s1/f_run01.csv:1: no column pkt_id; found 'a,b,c'" },
		{ HEADER, "CS_s1/f_run01.csv:2: no rows" },
		{ HEADER "1,0,400,0,0,0,400\n2,0,x,0,0,0,400\n",
		  "f_run01.csv:3: column rx1_ts_ns: 'x' is no whole number" },
		{ HEADER "1,0,400,0,0,0,400\n2,0,500\n", "f_run01.csv:3: fewer fields than the 7 columns" },
		{ HEADER "1,0,400,0,0,0,400,9\n", "f_run01.csv:2: more fields than the 7 columns" },
		{ HEADER "1,0,400,0,0,0,400\n2,0,5000400,5000000,0,0,40",
		  "f_run01.csv:3: the file ends within this line" },
		{ HEADER "1,0,400,0,0,0,40\n",
		  "f_run01.csv:2: diff_latency_ns must be rx1_ts_ns - rx2_ts_ns = 400, but is 40" },
		{ HEADER "16777216,0,400,0,0,0,400\n", "f_run01.csv:2: pkt_id 16777216; expected 0 to 16777215" },
		{ HEADER "1,0,-400,0,0,0,-400\n",
		  "f_run01.csv:2: a stamp is since the first and must not be negative" },
		{ HEADER "1,0,99999999999999999999,0,0,0,1\n", "is no whole number of up to 18 digits" },
		{ HEADER "1,0,,0,0,0,400\n", "f_run01.csv:2: column rx1_ts_ns: '' is no whole number" },
	};

	(void)state;
	make_tiny();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_file("CS_s1/f_run01.csv", bad[i].text);
		refused(bad[i].says);
	}
}

/* Other orders of columns, other line ends, other columns between: the same data. */
static void other_looks(void **state)
{
	struct result *r;

	(void)state;
	make_tiny();
	write_file("CS_s1/f_run01.csv",
		   "\xef\xbb\xbf\"diff_latency_ns\",rx2_ts_ns, pkt_id,note,rx1_ts_ns,tx_ts_ns\r\n"
		   "404,0,1,first one,404,0\r\n\r\n405,2000000,2,,2000405,0\r\n406,4000000,3,x,4000406,0\r\n"
		   "407,6000000,4,,6000407,0\r\n403,8000000,5,,8000403,0\r\n402,10000000,6,,10000402,0\r\n");
	r = import_good(NULL);
	assert_int_equal(r->restarts[1].runs[0].ledger.fate[FATE_MATCHED], 6);
	assert_int_equal(r->restarts[1].runs[0].ledger.fate[FATE_LOST], 14);
	result_destroy(r);
}

static void bad_second_clocks(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "run,pkt_id\n1,1\n", "silicon_CS_s1.csv:1: no column silicon_diff_ns" },
		{ "run,pkt_id,silicon_diff_ns\n", "silicon_CS_s1.csv:2: no rows" },
		{ "run,pkt_id,silicon_diff_ns\n1,1,400\n1,2,4.5\n",
		  "silicon_CS_s1.csv:3: column silicon_diff_ns: '4.5'" },
		{ "run,pkt_id,silicon_diff_ns\n2,1,400\n1,2,400\n", "silicon_CS_s1.csv:3: run 1 behind run 2" },
		{ "run,pkt_id,silicon_diff_ns\n1,901,400\n1,902,400\n",
		  "silicon_CS_s1.csv: run 1: of 4 frames none make a pair of a probe that was sent (4 with other ids, "
		  "0 without "
		  "one of their own): is it of another run?" },
	};

	(void)state;
	make_tiny();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_file("silicon_CS_s1.csv", bad[i].text);
		refused(bad[i].says);
	}
	write_file("silicon_CS_s1.csv", "run,pkt_id,silicon_diff_ns\n1,1,400\n");
	write_file("refl_CS_s1.pcap", "no capture");
	result_destroy(import_good(NULL)); /* the CSV wins */
}

static void bad_captures(void **state)
{
	struct trace_writer *w;
	uint8_t frame[96] = { 0 };
	char path[160];

	(void)state;
	make_tiny();
	write_file("refl_CS_s1.pcap", "no capture");
	refused("refl_CS_s1.pcap: no capture: ");
	snprintf(path, sizeof(path), "%s/refl_CS_s1.pcap", lab);
	assert_int_equal(trace_writer_open(path, &w, NULL), 0);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	refused("refl_CS_s1.pcap: no frames in it");
	assert_int_equal(trace_writer_open(path, &w, NULL), 0);
	assert_int_equal(trace_writer_put(w, 1, frame, 60, NULL), 0);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	refused("refl_CS_s1.pcap: run 1: of 1 frames none make a pair");
	assert_int_equal(truncate(path, 24 + 16 + 30), 0);
	refused("refl_CS_s1.pcap: frame 1: truncated dump file");
}

static void bad_places(void **state)
{
	struct result *r;
	struct err err;

	(void)state;
	snprintf(notes, sizeof(notes), "%s/nothing", scratch);
	assert_true(import_latencylab(notes, &(struct import_options){ .output = out }, &counts, &err) < 0);
	assert_non_null(strstr(err.message, "cannot read the directory"));
	lab_mkdir(lab);
	refused("no runs in it; expected folders such as CS_s1");
	write_file("f_run01.csv", HEADER "1,0,400,0,0,0,400\n");
	refused("f_run01.csv: which program and session is it? expected a folder such as CS_s1");
	write_file("f_run01.csv", "");
	refused("f_run01.csv:1: the file is empty");
	snprintf(notes, sizeof(notes), "%s/f_run01.csv", lab);
	unlink(notes);
	write_file("CS_s1_first.csv", HEADER "1,0,400,0,0,0,400\n");
	refused("which run is it? expected a name such as f_run01.csv");
	snprintf(notes, sizeof(notes), "%s/CS_s1_first.csv", lab);
	unlink(notes);
	make_tiny();
	write_file("CS_s1_run1.csv", HEADER "1,0,400,0,0,0,400\n");
	refused("the same run, session and program as");
	snprintf(notes, sizeof(notes), "%s/CS_s1_run1.csv", lab);
	unlink(notes);
	assert_true(import_with(&(struct import_options){ .tares = "CS" }, &err) < 0);
	assert_non_null(strstr(err.message, "tares: 'CS'; expected PROGRAM=NULL"));
	assert_true(import_with(&(struct import_options){ .tares = "CS=XX" }, &err) < 0);
	assert_non_null(strstr(err.message, "no sessions of 'XX'"));
	assert_true(import_with(&(struct import_options){ .sent = 5 }, &err) < 0);
	assert_non_null(strstr(err.message, "5 probes are said to have been sent, but 20 ids were seen"));
	write_file("other.csv", "run,pkt_id,silicon_diff_ns\n1,1,400\n");
	refused("other.csv: which program and session is it? expected a name such as silicon_CS_s1.csv");
	snprintf(notes, sizeof(notes), "%s/other.csv", lab);
	unlink(notes);
	write_file("summary.csv", "program,median\nCS,364\n");
	r = import_good(NULL);
	assert_true(says(r, "summary.csv: left out"));
	result_destroy(r);
	assert_true(import_with(NULL, &err) < 0);
	assert_non_null(strstr(err.message, "exists; choose another directory with -o"));
}

/* What a killed import left beside is swept; what is not its own stays. */
static void leftovers(void **state)
{
	char command[512];
	struct err err;

	(void)state;
	make_tiny();
	snprintf(command, sizeof(command), "mkdir %s.importing && echo half > %s.importing/tare.db", out, out);
	assert_int_equal(system(command), 0);
	result_destroy(import_good(NULL));
	assert_int_not_equal(access(in_scratch("out.importing"), F_OK), 0);
	snprintf(command, sizeof(command), "rm -r %s && mkdir %s.importing && touch %s.importing/thesis.txt", out, out,
		 out);
	assert_int_equal(system(command), 0);
	assert_true(import_with(NULL, &err) < 0);
	assert_non_null(strstr(err.message, "is in the way"));
	assert_int_equal(access(in_scratch("out.importing/thesis.txt"), F_OK), 0);
	assert_int_not_equal(access(out, F_OK), 0);
}

static void interrupted(void **state)
{
	static const atomic_bool raised = true;
	struct err err;

	(void)state;
	make_tiny();
	assert_int_equal(import_with(&(struct import_options){ .interrupted = &raised }, &err), -EINTR);
	assert_int_equal(err.kind, ERR_INTERRUPTED);
	assert_int_not_equal(access(out, F_OK), 0);
	assert_int_not_equal(access(in_scratch("out.importing"), F_OK), 0);
}

/* Programs that are not known, and their nulls by word. */
static void other_programs(void **state)
{
	static const struct lab_truth other[] = { { "XY", "N0", 55, 0 } };
	struct lab_make m = small();
	struct result *r;

	(void)state;
	m.programs = other;
	m.program_count = 1;
	lab_make(&m);
	r = import_good(&(struct import_options){ .tares = "XY=N0" });
	assert_float_equal(cell(r, "XY trace=XY")->net_ns, 55, 1);
	result_destroy(r);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, remove_scratch)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(known_medians),
		TEST(ids_by_the_trace),
		TEST(ids_by_what_was_seen),
		TEST(second_clock_as_csv),
		TEST(second_clock_as_capture),
		TEST(clocks_that_disagree_are_told),
		TEST(bad_runs),
		TEST(other_looks),
		TEST(bad_second_clocks),
		TEST(bad_captures),
		TEST(bad_places),
		TEST(leftovers),
		TEST(interrupted),
		TEST(other_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
