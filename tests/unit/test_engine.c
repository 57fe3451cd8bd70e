/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs with the card, in one loop and in several, and what a run leaves behind. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/differential.h"
#include "probe/protect.h"
#include "target/card.h"
#include "engine_bed.h"

static void all_probes_come_back(void **state)
{
	static const uint32_t sizes[] = { 60, 61, 64, 256, 1500, 9018 };

	(void)state;
	for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct stream *stream = stream_of(200, 20000, sizes[k]);
		struct target *card = card_of("forward", stream, 0, 1, NULL);
		struct differential_config config = config_of(card, stream);
		struct pair *pairs = pairs_of(stream);
		struct run_record record = run(&config, pairs);

		assert_string_equal(record.invalid, "");
		assert_int_equal(record.ledger.sent, 200);
		assert_int_equal(record.ledger.fate[FATE_MATCHED], 200);
		assert_int_equal(record.ledger.arrived, 400);
		for (uint32_t i = 0; i < 200; i++) {
			const struct pair *p = &pairs[i];

			assert_int_equal(p->seq, i);
			assert_int_equal(p->sched_ticks, tsc_from_ns(&tsc, (double)(stream->send_ns[i])));
			assert_true(p->tx_ticks >= p->sched_ticks);
			assert_true(p->bypass_ticks > p->tx_ticks);
			assert_true(p->path_ticks > p->bypass_ticks);
			assert_true(p->truth_ticks > tsc_from_ns(&tsc, 1100));
		}
		card->ops->close(card);
		free(pairs);
		stream_destroy(stream);
	}
}

static void runs_follow_one_another(void **state)
{
	struct stream *stream = stream_of(100, 50000, 100);
	struct target *card = card_of("null", stream, 2, 1, NULL);
	struct differential_config config = config_of(card, stream);
	struct pair *pairs = pairs_of(stream);

	(void)state;
	config.warm_train = 2;
	config.train_gap_ns = 5000;
	for (config.run = 0; config.run < 30; config.run++) {
		struct run_record record = run(&config, pairs);
		struct card_account account;

		assert_string_equal(record.invalid, "");
		assert_int_equal(record.run, config.run);
		assert_int_equal(record.ledger.fate[FATE_MATCHED], 100);
		assert_int_equal(record.ledger.foreign, 0);
		assert_int_equal(record.ledger.arrived, 600); /* trains arrive too, and are no probes */
		card_injected(card, &account);
		assert_int_equal(account.frames, 300);
	}
	card->ops->close(card);
	free(pairs);
	stream_destroy(stream);
}

static int cpus_allowed(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

static void recorded_truth_is_recovered(void **state)
{
	static const char *const programs[] = { "null", "107ns", "149ns", "177ns", "364ns" };
	struct stream *stream = stream_of(2000, 10000, 64);
	struct pair *pairs = pairs_of(stream);

	(void)state;
	for (unsigned k = 0; k < sizeof(programs) / sizeof(programs[0]); k++) {
		struct target *card = card_of(programs[k], stream, 0, 1, NULL);
		struct differential_config config = config_of(card, stream);
		double off = INFINITY;
		uint32_t good = 0;

		for (int attempt = 0; attempt < ATTEMPTS && (fabs(off) > LIMIT_NS || good < 1000); attempt++) {
			config.run = (uint32_t)attempt;
			run(&config, pairs);
			off = error_ns(pairs, 2000, &good);
		}
		print_message("%s: error %.1f ns, %u of 2000 good\n", programs[k], off, good);
		assert_true(fabs(off) <= LIMIT_NS);
		assert_true(good >= 1000);
		card->ops->close(card);
	}
	free(pairs);
	stream_destroy(stream);
}

/* Counts only: what two cores of a shared machine measure is for the bench. */
static void two_cores_lose_nothing(void **state)
{
	static const char *const faults[] = { "loss", "2%", "duplicates", "2%", NULL };
	struct stream *stream = stream_of(2000, 5000, 256);
	struct pair *pairs = pairs_of(stream);
	struct target *card = card_of("forward", stream, 1, 3, faults);
	struct differential_config config = config_of(card, stream);
	struct run_record record;
	uint64_t lost = 0, duplicates = 0;

	(void)state;
	if (cpus_allowed() < 2) {
		print_message("SKIP: needs a second CPU\n");
		skip();
	}
	config.cores = 2;
	config.warm_train = 1;
	config.deadline_ns = 1000000000; /* a core may be away for long */
	record = run(&config, pairs);
	assert_string_equal(record.invalid, "");
	for (uint32_t i = 0; i < 2000; i++) {
		unsigned f = card_faults(card, 2 * i + 1);

		lost += ((f | f >> 8) & CARD_LOST) != 0;
		duplicates += ((f & CARD_DUPLICATED) != 0) + ((f >> 8 & CARD_DUPLICATED) != 0);
		assert_true(pairs[i].truth_ticks == card->ops->truth(card, 2 * i + 1));
	}
	assert_int_equal(record.ledger.fate[FATE_LOST], lost);
	assert_int_equal(record.ledger.fate[FATE_MATCHED], 2000 - lost);
	assert_int_equal(record.ledger.duplicates, duplicates);
	assert_int_not_equal(record.core_send, record.core_receive);
	assert_true(record.blocks_near + record.blocks_far > 0);
	assert_true(record.pingpong_p50_ns > 0);
	card->ops->close(card);
	free(pairs);
	stream_destroy(stream);
}

/* Every set of loops, on CPUs they have to share: slow, but nothing may be lost or mixed up. */
static void three_and_four_loops_work_too(void **state)
{
	struct stream *stream = stream_of(300, 2000, 100);
	struct pair *pairs = pairs_of(stream);
	struct target *card = card_of("forward", stream, 0, 3, NULL);
	struct differential_config config = config_of(card, stream);
	int32_t cpus[4];
	int last = 0;
	cpu_set_t allowed;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (int i = 0; i < 4; i++) {
		while (!CPU_ISSET(last, &allowed))
			last = (last + 1) % CPU_SETSIZE;
		cpus[i] = last;
		last = (last + 1) % CPU_SETSIZE;
	}
	config.unprotected = true;
	config.deadline_ns = 2000000000;
	config.cpus = cpus;
	for (config.cores = 1; config.cores <= 4; config.cores++) {
		struct run_record record = run(&config, pairs);

		assert_string_equal(record.invalid, "");
		assert_int_equal(record.ledger.fate[FATE_MATCHED], 300);
		assert_int_equal(record.core_send, cpus[0]);
		assert_int_equal(record.core_receive, config.cores == 4 ? cpus[2] : cpus[config.cores - 1]);
		assert_non_null(strstr(record.protection, "affinity"));
		assert_null(strstr(record.protection, "fifo"));
		for (uint32_t i = 0; i < 300; i++)
			assert_true(pairs[i].path_ticks > pairs[i].tx_ticks &&
				    pairs[i].bypass_ticks > pairs[i].tx_ticks);
	}
	card->ops->close(card);
	free(pairs);
	stream_destroy(stream);
}

static void an_interrupt_ends_a_run_whole(void **state)
{
	struct stream *stream = stream_of(100000, 100, 64);
	struct pair *pairs = pairs_of(stream);
	struct target *card = card_of("null", stream, 0, 1, NULL);
	struct differential_config config = config_of(card, stream);
	atomic_bool interrupted;
	struct run_record record;
	struct err err = { 0 };

	(void)state;
	atomic_init(&interrupted, true);
	config.interrupted = &interrupted;
	assert_int_equal(differential_run(&config, pairs, 100000, &record, &err), -EINTR);
	assert_int_equal(err.kind, ERR_INTERRUPTED);
	assert_true(record.ledger.sent < 10);
	assert_true(ledger_balances(&record.ledger));
	/* The target is as good as before. */
	atomic_store(&interrupted, false);
	stream_destroy(stream);
	stream = stream_of(50, 50000, 64);
	config.stream = stream;
	record = run(&config, pairs);
	assert_int_equal(record.ledger.fate[FATE_MATCHED], 50);
	assert_int_equal(record.ledger.foreign, 0);
	card->ops->close(card);
	free(pairs);
	stream_destroy(stream);
}

static void more_cores_than_there_are_is_an_error(void **state)
{
	struct stream *stream = stream_of(10, 10000, 64);
	struct pair pairs[10];
	struct target *card = card_of("null", stream, 0, 1, NULL);
	struct differential_config config = config_of(card, stream);
	struct run_record record;
	cpu_set_t before, one;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &before)) {
			CPU_SET(cpu, &one);
			break;
		}
	}
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	config.cores = 2;
	assert_int_equal(differential_run(&config, pairs, 10, &record, &err), -ENODEV);
	assert_int_equal(err.kind, ERR_HOST);
	assert_non_null(strstr(err.message, "2 cores are asked for, but this process may use 1"));
	/* And what is there is used. */
	config.cores = 0;
	record = run(&config, pairs);
	assert_int_equal(record.ledger.fate[FATE_MATCHED], 10);
	assert_int_equal(record.core_send, record.core_receive);
	sched_setaffinity(0, sizeof(before), &before);
	card->ops->close(card);
	stream_destroy(stream);
}

/* Of this process, as the kernel has it; -1 where it does not say. */
static long locked_kb(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	assert_non_null(f);
	while (kb < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "VmLck: %ld kB", &kb);
	fclose(f);
	return kb;
}

/* What a run changes for itself is as before when it ends. */
static void protection_is_undone(void **state)
{
	struct protection p;
	int policy = sched_getscheduler(0);
	cpu_set_t before, after;
	char words[160], afterwards[160];

	(void)state;
	sched_getaffinity(0, sizeof(before), &before);
	assert_true(locked_kb() <= 0);
	protect_begin(&p, PROTECT_FIFO);
	assert_int_equal(sched_getscheduler(0), policy);
	/* sanitizers lock nothing, and say they do */
	assert_true(SANITIZED || locked_kb() < 0 || p.locked == (locked_kb() > 0));
	protect_words(&p, PROTECT_FIFO, true, words, sizeof(words));
	assert_non_null(strstr(words, "fifo 50, affinity"));
	protect_end(&p);
	assert_true(locked_kb() <= 0);
	/* what was done is told afterwards: records are written then */
	assert_string_equal(protect_words(&p, PROTECT_FIFO, true, afterwards, sizeof(afterwards)), words);
	assert_true(strstr(words, "mlock") || !p.locked);
	p.sleeps = true;
	assert_non_null(strstr(protect_words(&p, PROTECT_FIFO, true, words, sizeof(words)), "fifo 51"));
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
	protect_begin(&p, PROTECT_NOTHING);
	assert_false(p.locked);
	assert_int_equal(protect_thread(&p), PROTECT_NOTHING);
	protect_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_probes_come_back),
		cmocka_unit_test(runs_follow_one_another),
		cmocka_unit_test(recorded_truth_is_recovered),
		cmocka_unit_test(two_cores_lose_nothing),
		cmocka_unit_test(three_and_four_loops_work_too),
		cmocka_unit_test(an_interrupt_ends_a_run_whole),
		cmocka_unit_test(more_cores_than_there_are_is_an_error),
		cmocka_unit_test(protection_is_undone),
	};

	return cmocka_run_group_tests(tests, calibrate_tsc, NULL);
}
