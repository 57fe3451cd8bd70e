/* SPDX-License-Identifier: Apache-2.0 */
/* The card alone: frames are sent into it and taken out by hand. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "clock/tsc.h"
#include "packet/stream.h"
#include "target/card_private.h"

static struct tsc tsc;

struct opened {
	struct arena arena;
	struct settings settings;
	struct target *card;
	struct target_ports ports;
};

static int try_open(struct opened *o, const char *program, uint32_t frames, const char *const *pairs, struct err *err)
{
	arena_init(&o->arena, 0);
	assert_int_equal(settings_init(&o->settings, target_card.settings, &o->arena), 0);
	for (; pairs && *pairs; pairs += 2)
		assert_int_equal(settings_set(&o->settings, pairs[0], pairs[1], err), 0);
	return target_card.open(&(struct target_setup){ .settings = &o->settings,
							.program = program,
							.seed = 9,
							.frame_bytes = 200,
							.probe_count = frames },
				&o->card, err);
}

static void open_card(struct opened *o, const char *program, uint32_t frames, const char *const *pairs)
{
	struct err err = { 0 };

	assert_int_equal(try_open(o, program, frames, pairs, &err), 0);
	target_card.ports(o->card, &o->ports);
	target_card.begin_run(o->card, 0);
}

static void close_card(struct opened *o)
{
	target_card.close(o->card);
	arena_release(&o->arena);
}

static void put(struct opened *o, uint32_t n, uint32_t length)
{
	struct io_frame f;

	assert_int_equal(io_reserve(o->ports.in, &f, 1, length), 1);
	memset(f.data, (int)n, length);
	memcpy(f.data, &n, sizeof(n));
	f.length_bytes = length;
	io_send(o->ports.in, &f, 1);
}

/*
 * Let the card work for a while, taking what comes; numbers of the frames, in order. Never less than POLLS_LEAST
 * turns: the host may take the core away for the whole while, and what was due then leaves in the turns after.
 */
enum { POLLS_LEAST = 500 };

static uint32_t collect(struct opened *o, double ns, struct io_port *port, uint32_t *ret_numbers, uint32_t most)
{
	uint64_t end = tsc_now() + (uint64_t)tsc_from_ns(&tsc, ns);
	struct io_frame f;
	uint32_t count = 0;

	for (unsigned polls = 0; polls < POLLS_LEAST || (int64_t)(end - tsc_now()) > 0; polls++) {
		target_card.poll(o->card);
		while (io_receive(port, &f, 1)) {
			assert_true(count < most);
			memcpy(&ret_numbers[count++], f.data, 4);
			io_release(port, &f, 1);
		}
	}
	return count;
}

static void programs_are_read(void **state)
{
	struct card_program p;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(card_program_parse("null", &p, &err), 0);
	assert_int_equal(p.mode_count, 1);
	assert_int_equal(p.delay_ns[0], 0);
	assert_int_equal(card_program_parse("fivetuple", &p, &err), 0);
	assert_int_equal(p.mode_count, 2);
	assert_true(p.by_flow);
	assert_int_equal(card_program_parse("checksum", &p, &err), 0);
	assert_int_equal(p.delay_ns[0], 364);
	assert_int_equal(card_program_parse("107ns/137ns/1us", &p, &err), 0);
	assert_int_equal(p.mode_count, 3);
	assert_int_equal(p.delay_ns[2], 1000);
	assert_false(p.by_flow);
}

static void other_programs_are_refused_by_name(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "forwrad", "did you mean 'forward'" },
		{ "", "program '' is not known" },
		{ "149", "has no unit" },
		{ "149ms", "expected at most 1ms" },
		{ "107ns/", "program '107ns/'" },
		{ "1ns/2ns/3ns/4ns/5ns/6ns/7ns/8ns/9ns", "too many modes" },
		{ "0.5ns", "program '0.5ns'" },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct card_program p = { .mode_count = 77 };
		struct err err = { 0 };

		assert_true(card_program_parse(bad[i].text, &p, &err) < 0);
		assert_int_equal(err.kind, ERR_USAGE);
		assert_non_null(strstr(err.message, bad[i].says));
		assert_int_equal(p.mode_count, 77);
	}
}

static void a_path_shorter_than_the_bypass_is_refused(void **state)
{
	static const char *const shells[] = { "shell_path", "1us", "shell_bypass", "2us", NULL };
	struct opened o;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(try_open(&o, "null", 10, shells, &err), -EINVAL);
	assert_non_null(strstr(err.message, "shell_path 1us is shorter than shell_bypass 2us"));
	arena_release(&o.arena);
}

static void modes_depend_on_the_packet(void **state)
{
	struct stream_spec spec = { .count = 64, .format = ID_NATIVE, .rate_mpps = 1000000, .flows = 64 };
	struct card_program by_flow, by_number;
	struct stream *stream;
	uint8_t bytes[256];
	uint32_t ones = 0;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(card_program_parse("fivetuple", &by_flow, &err), 0);
	assert_int_equal(card_program_parse("107ns/137ns", &by_number, &err), 0);
	frame_template_default(&spec.frame, FRAME_KIND_UDP4, 100);
	assert_int_equal(stream_create(&spec, &stream, &err), 0);
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t length = stream_fill(stream, i, 1, bytes);
		uint32_t mode = card_mode(&by_flow, bytes, length, i);

		ones += mode;
		/* Another run's tag and another place in the run change nothing. */
		stream_fill(stream, i, 2, bytes);
		assert_int_equal(card_mode(&by_flow, bytes, length, 7777), mode);
	}
	assert_in_range(ones, 16, 48);
	ones = 0;
	/* Behind trains of three, every fourth frame is a probe: both modes must occur there too. */
	for (uint32_t i = 3; i < 4000; i += 4)
		ones += card_mode(&by_number, bytes, 100, i);
	assert_in_range(ones, 400, 600);
	/* Too short to have a 5-tuple: one flow. */
	assert_true(card_mode(&by_flow, bytes, 14, 0) < 2);
	stream_destroy(stream);
}

static void both_copies_leave_whole(void **state)
{
	struct opened o;
	struct io_frame f;
	uint32_t numbers[4];

	(void)state;
	open_card(&o, "149ns", 8, NULL);
	put(&o, 1, 200);
	put(&o, 2, 17);
	assert_int_equal(collect(&o, 20000, o.ports.bypass, numbers, 4), 2);
	for (int i = 0; i < 2; i++) {
		uint32_t length = i ? 17 : 200, n;

		assert_int_equal(io_receive(o.ports.path, &f, 1), 1);
		assert_int_equal(f.length_bytes, length);
		memcpy(&n, f.data, 4);
		assert_int_equal(n, i + 1);
		for (uint32_t k = 4; k < length; k++)
			assert_int_equal(f.data[k], i + 1);
		io_release(o.ports.path, &f, 1);
	}
	assert_int_equal(io_receive(o.ports.path, &f, 1), 0);
	close_card(&o);
}

/* The copy is held no shorter than programmed; longer when the host takes the core away. */
static void delays_are_kept(void **state)
{
	static const char *const grid[] = { "grid", "yes", NULL };
	static const struct {
		const char *program;
		const char *const *settings;
		double least_ns;
	} cases[] = { { "null", NULL, 1000 }, { "364ns", NULL, 1364 }, { "5ns", grid, 1008 }, { "1us", NULL, 2000 } };

	(void)state;
	for (unsigned k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct opened o;
		uint32_t numbers[64];
		double best = INFINITY;

		open_card(&o, cases[k].program, 50, cases[k].settings);
		for (uint32_t n = 0; n < 50; n++) {
			put(&o, n, 64);
			collect(&o, 5000, o.ports.path, numbers, 64);
		}
		for (uint32_t n = 0; n < 50; n++) {
			double held = tsc_to_ns(&tsc, o.card->ops->truth(o.card, n));

			assert_true(held > cases[k].least_ns - 11); /* the counter's step, at either end */
			best = held < best ? held : best;
		}
		assert_true(best < cases[k].least_ns + 500);
		assert_true(o.card->ops->truth(o.card, 50) == INT64_MIN);
		close_card(&o);
	}
}

static void a_reordered_copy_is_overtaken_once(void **state)
{
	static const char *const reorder[] = { "reorder", "40%", NULL };
	struct opened o;
	struct card_account account;
	uint32_t numbers[400], count = 0, behind = 0, newest = 0;

	(void)state;
	open_card(&o, "null", 200, reorder);
	for (uint32_t n = 1; n <= 200; n++) {
		put(&o, n, 64);
		count += collect(&o, 3000, o.ports.path, numbers + count, 400 - count);
	}
	count += collect(&o, 30e6, o.ports.path, numbers + count, 400 - count);
	assert_int_equal(count, 200);
	for (uint32_t i = 0; i < count; i++) {
		behind += numbers[i] < newest;
		newest = numbers[i] > newest ? numbers[i] : newest;
	}
	card_injected(o.card, &account);
	assert_true(account.reordered_path > 20);
	assert_int_equal(account.reordered_path, behind);
	close_card(&o);
}

static void a_drift_goes_on_over_restarts(void **state)
{
	static const char *const drift[] = { "drift", "600us", NULL }; /* 10 ns a millisecond */
	double before_ns = 0;

	(void)state;
	for (int restart = 0; restart < 3; restart++) {
		const struct timespec pause = { .tv_nsec = 100000000 };
		struct opened o;
		uint32_t numbers[4];
		double held_ns = INFINITY; /* the least: a host that takes the core away makes some longer */

		open_card(&o, "null", 20, drift);
		for (uint32_t n = 0; n < 20; n++) {
			put(&o, n, 64);
			assert_int_equal(collect(&o, 2e6, o.ports.path, numbers, 4),
					 1); /* by now it may hold for 100 us */
			held_ns = fmin(held_ns, tsc_to_ns(&tsc, o.card->ops->truth(o.card, n)));
		}
		if (restart)
			assert_true(held_ns > before_ns + 900);
		before_ns = held_ns;
		close_card(&o);
		nanosleep(&pause, NULL);
	}
}

static void the_same_seed_makes_the_same_faults(void **state)
{
	static const char *const all[] = { "loss", "10%",    "duplicates", "10%", "unreadable",
					   "10%",  "jitter", "50ns",       NULL };
	struct opened a, b;
	struct card *x, *y;
	unsigned differ = 0;

	(void)state;
	open_card(&a, "null", 1000, all);
	open_card(&b, "null", 1000, all);
	x = (struct card *)a.card;
	y = (struct card *)b.card;
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(x->orders[i].faults, y->orders[i].faults);
		/* Each card measures the counter's rate for itself. */
		assert_true(abs(x->orders[i].jitter_ticks - y->orders[i].jitter_ticks) <= 1);
	}
	target_card.begin_run(b.card, 1);
	for (int i = 0; i < 1000; i++)
		differ += x->orders[i].faults != y->orders[i].faults;
	assert_true(differ > 100);
	close_card(&a);
	close_card(&b);
}

static int setup(void **state)
{
	(void)state;
	return tsc_calibrate(&tsc, 20000000, true, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_read),
		cmocka_unit_test(other_programs_are_refused_by_name),
		cmocka_unit_test(a_path_shorter_than_the_bypass_is_refused),
		cmocka_unit_test(modes_depend_on_the_packet),
		cmocka_unit_test(both_copies_leave_whole),
		cmocka_unit_test(delays_are_kept),
		cmocka_unit_test(a_reordered_copy_is_overtaken_once),
		cmocka_unit_test(a_drift_goes_on_over_restarts),
		cmocka_unit_test(the_same_seed_makes_the_same_faults),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
