/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan_fake.h"

/* A plan that is wrong in one way: what stands after PLAN_HEAD (three lines), and the one problem it must give. */
struct bad {
	const char *text;
	uint32_t line, column;
	const char *message;
};

#define GOOD_MATRIX "matrix: { program: [a] }\n"

static void one_problem(const char *text, size_t length, const struct bad *bad)
{
	struct plan_problems problems;
	struct plan *plan = NULL;
	struct err err = { 0 };
	int rc = plan_parse(text, length, "-", ".", &plan, &problems, &err);

	if (rc == 0)
		fail_msg("no problem in: %s", text);
	if (problems.count != 1 || problems.items[0].line != bad->line || problems.items[0].column != bad->column ||
	    strcmp(problems.items[0].message, bad->message) != 0) {
		for (uint32_t i = 0; i < problems.count; i++)
			print_error("%u:%u: %s\n", problems.items[i].line, problems.items[i].column,
				    problems.items[i].message);
		fail_msg("expected %u:%u: %s\nin:\n%s", bad->line, bad->column, bad->message, text);
	}
	assert_null(plan);
	assert_int_equal(rc, -EINVAL);
	assert_int_equal(err_exit_status(&err), 2);
	assert_string_equal(err.message, "-: 1 problem");
	plan_problems_release(&problems);
}

static void after_head(const struct bad *bad, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char text[1024];

		snprintf(text, sizeof(text), "%s%s", PLAN_HEAD, bad[i].text);
		one_problem(text, strlen(text), &bad[i]);
	}
}

#define AFTER_HEAD(cases) after_head(cases, sizeof(cases) / sizeof(cases[0]))

static void stop(void **state)
{
	static const struct bad cases[] = {
		{ GOOD_MATRIX "stop: 5%\n", 5, 7,
		  "stop: found '5%'; expected a mapping such as { width: 5%, restarts: 6..40 }" },
		{ GOOD_MATRIX "stop: {}\n", 5, 7,
		  "stop: width is missing; expected such as { width: 5%, restarts: 6..40 }" },
		{ GOOD_MATRIX "stop: { width: 5 }\n", 5, 16,
		  "stop.width: '5' has no unit; expected a share with ppm or %, from 0 to 100%, such as 0.5%" },
		{ GOOD_MATRIX "stop: { width: 0 }\n", 5, 16, "stop.width: '0' is too small; expected at least 100ppm" },
		{ GOOD_MATRIX "stop: { width: 5%, restart: 6..40 }\n", 5, 20,
		  "stop: unknown setting 'restart'; did you mean 'restarts'?" },
		{ GOOD_MATRIX "stop: { width: 5%, restarts: 40 }\n", 5, 30,
		  "stop.restarts: '40' is no range; expected least and most such as 6..40" },
		{ GOOD_MATRIX "stop: { width: 5%, restarts: 6..x }\n", 5, 30,
		  "stop.restarts: '6..x' is no range; expected least and most such as 6..40" },
		{ GOOD_MATRIX "stop: { width: 5%, restarts: 5..40 }\n", 5, 30,
		  "stop.restarts: at least 5 is too few; expected 6 or more, where there is a 95 % interval" },
		{ GOOD_MATRIX "stop: { width: 5%, restarts: 9..9 }\n", 5, 30,
		  "stop.restarts: at most 9 leaves no choice; expected more than 9" },
		{ GOOD_MATRIX "stop: { width: 5%, restarts: 6..20k }\n", 5, 30,
		  "stop.restarts: at most 20000 is too many; expected 10000 or fewer" },
		{ GOOD_MATRIX "stop: { width: 5%, of: batch_wall }\n", 5, 24,
		  "stop.of: measure differential goes by the net; leave it out" },
		{ GOOD_MATRIX "restarts: 6\nstop: { width: 5% }\n", 5, 11,
		  "restarts: stop says how many there are; leave one of them out" },
	};

	(void)state;
	AFTER_HEAD(cases);
}

static void values(void **state)
{
	static const struct bad cases[] = {
		{ GOOD_MATRIX "seed: -1\n", 5, 7, "seed: '-1' is negative; expected a count such as 1000" },
		{ GOOD_MATRIX "seed:\n", 5, 6, "seed has no value" },
		{ GOOD_MATRIX "seed: [1]\n", 5, 7, "seed: found a list; expected one value" },
		{ GOOD_MATRIX "seed: 99999999999999999999\n", 5, 7,
		  "seed: '99999999999999999999' is too large for a count" },
		{ GOOD_MATRIX "restarts: 0\n", 5, 11, "restarts: '0' is too small; expected at least 1" },
		{ GOOD_MATRIX "runs: 10001\n", 5, 7, "runs: '10001' is too large; expected at most 10k" },
		{ GOOD_MATRIX "warmup: 30\n", 5, 9,
		  "warmup: '30' has no unit; expected a time with ns, us, ms, s, min or h, such as 60ms" },
		{ GOOD_MATRIX "warmup: -3s\n", 5, 9, "warmup: '-3s' is negative; expected a time such as 60ms" },
		{ GOOD_MATRIX "warmup: 99999999999h\n", 5, 9, "warmup: '99999999999h' is too large for a time" },
		{ GOOD_MATRIX "probes: { rate: 500 }\n", 5, 17,
		  "probes.rate: '500' has no unit; expected a packet rate with pps, kpps or Mpps, such as 500pps" },
		{ GOOD_MATRIX "probes: { rate: 5Mbps }\n", 5, 17,
		  "probes.rate: '5Mbps': unknown unit 'Mbps'; expected a packet rate with pps, kpps or Mpps, such as "
		  "500pps" },
		{ GOOD_MATRIX "probes: { rate: 0 }\n", 5, 17,
		  "probes.rate: '0' is too small; expected at least 0.001pps" },
		{ GOOD_MATRIX "probes: { size: 10kB }\n", 5, 17,
		  "probes.size: '10kB' is too large; expected at most 9018B" },
		{ GOOD_MATRIX "probes: { format: json }\n", 5, 19,
		  "probes.format: 'json' is not one of: tare, instrument, oct, auto" },
		{ GOOD_MATRIX "probes: 5\n", 5, 9,
		  "probes: found '5'; expected a mapping such as { count: 1000, rate: 1kpps }" },
		{ GOOD_MATRIX "probes: { trace: nowhere.pcap }\n", 5, 18,
		  "trace: ./nowhere.pcap: cannot open this trace: No such file or directory" },
		{ GOOD_MATRIX "probes: { trace: / }\n", 5, 18,
		  "trace: /: is a directory: expected a pcap or pcapng file" },
		{ GOOD_MATRIX "probes: { size: 60B, template: udp6, format: oct }\n", 5, 9,
		  "probes: frame size 60 B: expected 78 to 9018 B for oct ids in UDP over IPv6 frames (without the "
		  "FCS)" },
		{ GOOD_MATRIX "probes: { template: ether, flows: 3 }\n", 5, 9,
		  "probes: 3 flows in EtherType 0x88B5 frames: expected 1, as they have no ports" },
		{ GOOD_MATRIX "probes: { count: 100M, warm_train: 64, rate: 100pps }\n", 5, 9,
		  "probes: 100000000 probes with warm-up trains are 6500000000 frames; expected fewer than 2^32" },
		{ GOOD_MATRIX "probes: { trace: /, size: 64B }\n", 5, 27,
		  "size: is for generated probes; leave it out, or leave out trace" },
		{ GOOD_MATRIX "probes: { times: original }\n", 5, 18,
		  "times: 'original' needs a trace whose times to take" },
		{ GOOD_MATRIX "probes: { rate: 100kpps, warm_train: 3 }\n", 5, 38,
		  "warm_train: a train of 60000 ns does not fit between probes 10000 ns apart; expected a lower rate, "
		  "fewer packets or a shorter train_gap" },
		{ GOOD_MATRIX "tare: { program: \"\" }\n", 5, 18, "tare.program has no value" },
		{ GOOD_MATRIX "tare: { program: z }\n", 5, 18,
		  "target fake: program 'z': unknown program; programs: null, a, b, c" },
		{ GOOD_MATRIX "tare: null\n", 5, 7,
		  "tare: found 'null'; expected a mapping such as { program: \"null\" }" },
		{ GOOD_MATRIX "tare: { programm: x }\n", 5, 9, "tare: unknown setting 'programm'; expected program" },
	};

	(void)state;
	AFTER_HEAD(cases);
}

static void keys(void **state)
{
	static const struct bad cases[] = {
		{ GOOD_MATRIX "sed: 1\n", 5, 1, "unknown key 'sed'; did you mean 'seed'?" },
		{ GOOD_MATRIX "whatever: 1\n", 5, 1,
		  "unknown key 'whatever'; expected one of: name, measure, seed, restarts, runs, warmup, resources, "
		  "target, matrix, extra, tare, probes, stop" },
		{ GOOD_MATRIX "rate: 5pps\n", 5, 1,
		  "unknown key 'rate'; it is a setting of probes: probes: { rate: ... }" },
		{ GOOD_MATRIX "shell: 5us\n", 5, 1,
		  "unknown key 'shell'; it is a setting of target: target: { shell: ... }" },
		{ GOOD_MATRIX "probes: { siez: 64B }\n", 5, 11,
		  "probes: unknown setting 'siez'; did you mean 'size'?" },
		{ GOOD_MATRIX "seed: 1\nseed: 2\n", 6, 1, "'seed' is given twice; the first is on line 5" },
		{ GOOD_MATRIX "probes: { size: 64B, size: 65B }\n", 5, 22,
		  "'size' is given twice; the first is on line 5" },
		{ GOOD_MATRIX "[a]: 1\n", 5, 1, "a list cannot be a key; expected a name" },
		{ GOOD_MATRIX "name: x\n", 5, 1, "'name' is given twice; the first is on line 1" },
	};

	(void)state;
	AFTER_HEAD(cases);
}

static void matrices(void **state)
{
	static const struct bad cases[] = {
		{ "seed: 1\n", 1, 1, "matrix is missing; expected such as matrix: { program: [a, b] }" },
		{ "matrix: {}\n", 4, 9, "matrix: is empty; expected an axis such as program: [a, b]" },
		{ "matrix:\n", 4, 8, "matrix: found nothing; expected a mapping such as { program: [a, b] }" },
		{ "matrix: { program: [] }\n", 4, 20,
		  "matrix.program: the list is empty; expected at least one value" },
		{ "matrix: { program: a }\n", 4, 20, "matrix.program: found 'a'; expected a list such as [a]" },
		{ "matrix: { size: [64B] }\n", 4, 9, "matrix: program is missing; expected such as program: [a, b]" },
		{ "matrix: { program: [a], siez: [64B] }\n", 4, 25, "unknown axis 'siez'; did you mean 'size'?" },
		{ "matrix: { program: [a], carrier: [64B] }\n", 4, 25,
		  "unknown axis 'carrier'; expected program, or a setting of probes or of target fake" },
		{ "matrix: { program: [a], size: [64] }\n", 4, 32,
		  "size: '64' has no unit; expected a size with B, kB, MB, GB, KiB, MiB or GiB, such as 256B" },
		{ "matrix: { program: [a], size: [[64B]] }\n", 4, 32, "size: found a list; expected one value" },
		{ "matrix: { program: [a, ] , size: [\"\"] }\n", 4, 35, "size has no value" },
		{ "matrix: { program: [a, b, a] }\n", 4, 27, "program: 'a' is in the list twice" },
		{ "matrix: { program: [a], size: [1kB, 1000B] }\n", 4, 37,
		  "size: '1000B' is the same as '1kB', which is in the list already" },
		{ "matrix: { program: [a, zz] }\n", 4, 24,
		  "target fake: program 'zz': unknown program; programs: null, a, b, c" },
		{ "matrix: { program: [a, c], size: [64B, 1500B] }\n", 4, 24,
		  "target fake: program 'c': frames of 1500 bytes; at most 1000 fit" },
		{ "matrix: { program: [a, b], shell: [1us, 6us] }\n", 4, 24,
		  "target fake: program 'b': shell 6us is too long; at most 5us" },
		{ GOOD_MATRIX "extra: { program: b }\n", 5, 8,
		  "extra: found a mapping; expected a list of cells such as [{ program: a }]" },
		{ GOOD_MATRIX "extra: [b]\n", 5, 9,
		  "extra: found 'b'; expected a mapping such as { program: a, size: 64B }" },
		{ GOOD_MATRIX "extra: [{ size: 64B }]\n", 5, 9,
		  "extra: a cell without a program; expected such as { program: a, size: 64B }" },
		{ GOOD_MATRIX "extra: [{ program: b, size: 64 }]\n", 5, 29,
		  "size: '64' has no unit; expected a size with B, kB, MB, GB, KiB, MiB or GiB, such as 256B" },
		{ GOOD_MATRIX "extra: [{ program: a, size: 256B }]\n", 5, 9,
		  "extra: this cell is in the plan already, as 'program=a'" },
		{ "extra: []\n", 4, 8, "extra: the list is empty and there is no matrix; expected at least one cell" },
		{ GOOD_MATRIX "restarts: 10000\nextra:\n- { program: b }\n"
			      "- { program: a, size: 60B }\n- { program: a, size: 61B }\n- { program: a, size: 62B }\n"
			      "- { program: a, size: 63B }\n- { program: a, size: 64B }\n- { program: a, size: 65B }\n"
			      "- { program: a, size: 66B }\n- { program: a, size: 67B }\n- { program: a, size: 68B }\n"
			      "- { program: a, size: 69B }\n- { program: a, size: 70B }\n- { program: a, size: 71B }\n"
			      "- { program: a, size: 72B }\n- { program: a, size: 73B }\n- { program: a, size: 74B }\n"
			      "- { program: a, size: 75B }\n- { program: a, size: 76B }\n- { program: a, size: 77B }\n"
			      "- { program: a, size: 78B }\n- { program: a, size: 79B }\n- { program: a, size: 80B }\n"
			      "- { program: a, size: 81B }\n- { program: a, size: 82B }\n- { program: a, size: 83B }\n"
			      "- { program: a, size: 84B }\n- { program: a, size: 85B }\n- { program: a, size: 86B }\n"
			      "- { program: a, size: 87B }\n- { program: a, size: 88B }\n- { program: a, size: 89B }\n"
			      "- { program: a, size: 90B }\n- { program: a, size: 91B }\n- { program: a, size: 92B }\n",
		  5, 11, "restarts: 10000 of 69 cells, tares twice, make 1030000; at most 1000000 fit" },
		{ GOOD_MATRIX "restarts: 10000\nruns: 10000\nprobes: { rate: 0.001pps, count: 100M }\n", 5, 11,
		  "the campaign would take more than 292 years; expected fewer restarts, runs or probes, or a higher "
		  "rate" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[2048];

		snprintf(text, sizeof(text), "%s%s", PLAN_HEAD, cases[i].text);
		one_problem(text, strlen(text), &cases[i]);
	}
}

/* Lists of n values each, m of them: n^m cells. */
static void too_many_cells(void **state)
{
	static const struct {
		unsigned axes;
		const char *message;
	} cases[] = {
		{ 3, "matrix and extra make 1000000 cells; at most 4096 fit" },
		{ 5, "matrix and extra make 10000000000 cells; at most 4096 fit" },
		{ 10, "matrix and extra make more than 10^19 cells; at most 4096 fit" },
	};
	static const char *const names[] = { "size",     "flows",     "count",     "warm_train", "train_gap",
					     "deadline", "gap_limit", "in_flight", "rate",       "shell" };
	static const char *const units[] = { "B", "", "", "", "us", "ms", "ns", "", "pps", "ns" };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = NULL;
		size_t length = 0;
		FILE *f = open_memstream(&text, &length);
		struct bad bad = { .line = 4, .column = 9, .message = cases[i].message };

		fputs(PLAN_HEAD "matrix: { program: [a]", f);
		for (unsigned a = 0; a < cases[i].axes; a++) {
			/* warm_train goes to 64 only: three of those axes stay below. */
			bool small = strcmp(names[a], "warm_train") == 0;

			fprintf(f, ", %s: [", small ? "loss" : names[a]);
			for (int v = 0; v < 100; v++)
				fprintf(f, "%s%d%s", v ? ", " : "", v + 100, small ? "ppm" : units[a]);
			fputc(']', f);
		}
		fputs(" }\n", f);
		fclose(f);
		one_problem(text, length, &bad);
		free(text);
	}
}

/* What stands before any plan: the whole text is given. */
static void texts(void **state)
{
	static const struct bad cases[] = {
		{ "", 1, 1, "the plan is empty; expected name, measure, target, matrix and probes" },
		{ "# only a comment\n", 1, 1, "the plan is empty; expected name, measure, target, matrix and probes" },
		{ "---\n...\n", 1, 1, "the plan is empty; expected name, measure, target, matrix and probes" },
		{ "hello\n", 1, 1, "found 'hello'; expected a mapping with name, measure, target, matrix and probes" },
		{ "- a\n- b\n", 1, 1,
		  "found a list; expected a mapping with name, measure, target, matrix and probes" },
		{ "name: t\n\tmeasure: x\n", 2, 1, "not YAML: a tab stands here; expected spaces" },
		{ "name: [a\n", 2, 1, "not YAML: did not find expected ',' or ']' while parsing a flow sequence" },
		{ "name: \"abc\n", 2, 1, "not YAML: found unexpected end of stream while scanning a quoted scalar" },
		{ "name: a\n b: c\n", 2, 3, "not YAML: mapping values are not allowed in this context" },
		{ "name: \xff\n", 1, 7, "byte 0xff is not UTF-8; expected a text in UTF-8" },
		{ "name: \xc3\n", 1, 7, "byte 0xc3 is not UTF-8; expected a text in UTF-8" },
		{ "a: \xc3\xa9\nname: \xed\xa0\x80\n", 2, 7, "byte 0xed is not UTF-8; expected a text in UTF-8" },
		{ "name: \xc0\xaf\n", 1, 7, "byte 0xc0 is not UTF-8; expected a text in UTF-8" },
		{ "a\x01\n", 1, 2, "character U+0001 cannot stand in a plan; expected text" },
		{ "\xff\xfe\n", 1, 1, "byte 0xff is not UTF-8; expected a text in UTF-8" },
		{ "a: [[[[[[[[1]]]]]]]]\n", 1, 11, "nested deeper than 8; no plan needs that" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		one_problem(cases[i].text, strlen(cases[i].text), &cases[i]);
	one_problem("name: a\0b\n", 10,
		    &(struct bad){ .line = 1,
				   .column = 8,
				   .message = "character U+0000 cannot stand in a plan; expected text" });
}

static void yaml_that_plans_have_not(void **state)
{
	static const struct bad cases[] = {
		{ GOOD_MATRIX "seed: &s 5\n", 5, 7,
		  "anchor '&s': plans have no anchors; write the value where it is used" },
		{ GOOD_MATRIX "seed: !!int 5\n", 5, 7,
		  "tag 'tag:yaml.org,2002:int': plans have no tags; write the plain value" },
		{ "matrix: *m\n", 4, 9, "alias '*m': plans have no aliases; write the value out" },
		{ GOOD_MATRIX "seed: \"5\\n\"\n", 5, 7,
		  "a value with control characters in it; expected one line of text" },
		{ GOOD_MATRIX "---\nname: u\n", 5, 1, "a second document begins here; expected one plan in a file" },
	};

	(void)state;
	AFTER_HEAD(cases);
}

static void heads(void **state)
{
	static const struct bad cases[] = {
		{ "measure: differential\ntarget: { kind: fake }\n" GOOD_MATRIX, 1, 1,
		  "name is missing; expected such as name: net-latency" },
		{ "name: ../x\nmeasure: differential\ntarget: { kind: fake }\n" GOOD_MATRIX, 1, 7,
		  "name: '../x' is not a name; expected up to 64 letters, digits, '-', '_' or '.', a letter or digit "
		  "first" },
		{ "name: t\ntarget: { kind: fake }\n" GOOD_MATRIX, 1, 1,
		  "measure is missing; expected one of: transit, differential, control, telemetry, resources, "
		  "calibrate" },
		{ "name: t\nmeasure: transit\ntarget: { kind: fake }\n" GOOD_MATRIX, 3, 9,
		  "target fake cannot be measured by transit; targets that can: none in this build" },
		{ "name: t\nmeasure: latency\ntarget: { kind: fake }\n" GOOD_MATRIX, 2, 10,
		  "unknown measure 'latency'; measures: transit, differential, control, telemetry, resources, "
		  "calibrate" },
		{ "name: t\nmeasure: diferential\ntarget: { kind: fake }\n" GOOD_MATRIX, 2, 10,
		  "unknown measure 'diferential'; did you mean 'differential'?" },
		{ "name: t\nmeasure: differential\n" GOOD_MATRIX, 1, 1,
		  "target is missing; expected such as target: { kind: card }" },
		{ "name: t\nmeasure: differential\ntarget: fake\n" GOOD_MATRIX, 3, 9,
		  "target: found 'fake'; expected a mapping such as { kind: card }" },
		{ "name: t\nmeasure: differential\ntarget: {}\n" GOOD_MATRIX, 3, 9,
		  "target: kind is missing; expected such as { kind: card }" },
		{ "name: t\nmeasure: differential\ntarget: { kind: faek }\n" GOOD_MATRIX, 3, 17,
		  "unknown target 'faek'; did you mean 'fake'?" },
		{ "name: t\nmeasure: differential\ntarget: { kind: wombat }\n" GOOD_MATRIX, 3, 17,
		  "unknown target 'wombat'; targets: fake" },
		{ "name: t\nmeasure: differential\ntarget: { kind: fake, shel: 1us }\n" GOOD_MATRIX, 3, 23,
		  "target: unknown setting 'shel'; did you mean 'shell'?" },
		{ "name: t\nmeasure: differential\ntarget: { kind: fake, loss: 101% }\n" GOOD_MATRIX, 3, 29,
		  "target.loss: '101%' is over 100%" },
		{ "name: t\nmeasure: differential\ntarget: { kind: fake, mode: soff }\n" GOOD_MATRIX, 3, 29,
		  "target.mode: 'soff' is not one of: soft, hard" },
		{ "name: t\nmeasure: differential\ntarget: { kind: fake, grid: maybe }\n" GOOD_MATRIX, 3, 29,
		  "target.grid: 'maybe' is neither yes nor no" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		one_problem(cases[i].text, strlen(cases[i].text), &cases[i]);
}

static void all_problems_at_once(void **state)
{
	static const char text[] =
		"name: t t\nmeasure: differental\nsed: 7\nrestarts: 0\ntarget: { kind: fake, shell: 3 }\n"
		"matrix: { program: [a, a], size: [64] }\nprobes: { rate: 5, siez: 1B }\n";
	static const struct {
		uint32_t line, column;
	} at[] = { { 1, 7 }, { 2, 10 }, { 3, 1 }, { 4, 11 }, { 5, 30 }, { 6, 24 }, { 6, 35 }, { 7, 17 }, { 7, 20 } };
	struct plan_problems problems;
	struct plan *plan = NULL;
	struct err err;

	(void)state;
	assert_int_equal(plan_parse(text, strlen(text), "p.yaml", ".", &plan, &problems, &err), -EINVAL);
	assert_string_equal(err.message, "p.yaml: 9 problems");
	assert_int_equal(problems.count, 9);
	for (size_t i = 0; i < 9; i++) {
		assert_int_equal(problems.items[i].line, at[i].line);
		assert_int_equal(problems.items[i].column, at[i].column);
	}
	plan_problems_release(&problems);
}

static void many_problems_are_counted(void **state)
{
	char *text = NULL;
	size_t length = 0;
	FILE *f = open_memstream(&text, &length);
	struct plan_problems problems;
	struct plan *plan = NULL;
	struct err err;

	(void)state;
	fputs(PLAN_HEAD "matrix:\n  program: [a]\n  size: [", f);
	for (int i = 0; i < 250; i++)
		fprintf(f, "%s%d", i ? ", " : "", i + 64);
	fputs("]\n", f);
	fclose(f);
	assert_int_equal(plan_parse(text, length, "-", ".", &plan, &problems, &err), -EINVAL);
	assert_int_equal(problems.count, PLAN_PROBLEMS_MOST);
	assert_int_equal(problems.more, 150);
	assert_string_equal(err.message, "-: 250 problems");
	plan_problems_release(&problems);
	free(text);
}

static void bytes_beyond_the_limit(void **state)
{
	size_t length = PLAN_BYTES_MOST + 1;
	char *text = malloc(length);

	(void)state;
	assert_non_null(text);
	memset(text, '#', length);
	one_problem(
		text, length,
		&(struct bad){ .line = 0, .column = 0, .message = "1048577 bytes are no plan; at most 1048576 fit" });
	free(text);
}

static void files(void **state)
{
	struct plan_problems problems;
	struct plan *plan = NULL;
	struct err err;

	(void)state;
	assert_int_equal(plan_load("/nonexistent.yaml", &plan, &problems, &err), -ENOENT);
	assert_string_equal(err.message, "/nonexistent.yaml: cannot read the plan: No such file or directory");
	assert_int_equal(err.kind, ERR_USAGE);
	assert_int_equal(problems.count, 0);
	assert_int_equal(plan_load("/", &plan, &problems, &err), -EISDIR);
	assert_string_equal(err.message, "/: is a directory; expected a plan file");
	assert_int_equal(plan_load("/dev/zero", &plan, &problems, &err), -EINVAL);
	assert_string_equal(problems.items[0].message, "1048577 bytes are no plan; at most 1048576 fit");
	plan_problems_release(&problems);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stop),
		cmocka_unit_test(values),
		cmocka_unit_test(keys),
		cmocka_unit_test(matrices),
		cmocka_unit_test(too_many_cells),
		cmocka_unit_test(texts),
		cmocka_unit_test(yaml_that_plans_have_not),
		cmocka_unit_test(heads),
		cmocka_unit_test(all_problems_at_once),
		cmocka_unit_test(many_problems_are_counted),
		cmocka_unit_test(bytes_beyond_the_limit),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
