/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/differential.h"
#include "target/pipeline.h"

/*
 * The pipeline behind the whole probe engine, on one core, so that nothing hangs on
 * the host's scheduling: what became of every probe is asserted, times are not.
 */
enum { PROBES = 300 };

static struct pair pairs[PROBES];
static struct tsc tsc;

struct plan_of_run {
	const char *program;
	enum id_format format;
	enum frame_kind kind;
	uint32_t length_bytes, vlan_count, warm_train;
};

static void run(const struct plan_of_run *plan, int64_t deadline_ns, struct run_record *ret)
{
	struct stream_spec spec = { .count = PROBES, .format = plan->format, .rate_mpps = 20000000 };
	struct differential_config config;
	struct target_setup setup;
	struct settings settings;
	struct target *target;
	struct stream *stream;
	struct arena arena;
	struct err err;

	arena_init(&arena, 0);
	assert_int_equal(settings_init(&settings, target_pipeline.settings, &arena), 0);
	spec.flows = plan->kind == FRAME_KIND_UDP4 ? 7 : 1;
	frame_template_default(&spec.frame, plan->kind, plan->length_bytes);
	spec.frame.vlan_count = (uint8_t)plan->vlan_count;
	if (stream_create(&spec, &stream, &err))
		fail_msg("%s", err.message);
	setup = (struct target_setup){ .settings = &settings,
				       .program = plan->program,
				       .frame_bytes = stream->longest_bytes,
				       .probe_count = PROBES,
				       .frame_count = differential_frames(stream, plan->warm_train) };
	if (target_pipeline.open(&setup, &target, &err))
		fail_msg("%s", err.message);
	differential_config_init(&config);
	config.target = target;
	config.stream = stream;
	config.tsc = &tsc;
	config.warm_train = plan->warm_train;
	config.train_gap_ns = 5000;
	config.cores = 1;
	config.unprotected = true;
	config.deadline_ns = deadline_ns;
	if (differential_run(&config, pairs, PROBES, ret, &err))
		fail_msg("%s", err.message);
	target_pipeline.close(target);
	stream_destroy(stream);
	arena_release(&arena);
}

static void expect_all(const struct plan_of_run *plan, enum fate fate)
{
	struct run_record record;

	/* A busy machine is no error where copies come, and need not be waited for where none do. */
	run(plan, fate == FATE_LOST ? 100000000 : 5000000000, &record);
	assert_true(ledger_balances(&record.ledger));
	assert_int_equal(record.ledger.sent, PROBES);
	if (record.ledger.fate[fate] != PROBES)
		fail_msg("%s: %u of %d probes %s", plan->program, (unsigned)record.ledger.fate[fate], PROBES,
			 fate_name(fate));
	assert_int_equal(record.ledger.duplicates, 0);
	assert_int_equal(record.ledger.foreign, 0);
	for (int i = 0; i < PROBES; i++) {
		assert_int_equal(pairs[i].fate, fate);
		if (fate == FATE_MATCHED) /* never together: the hold is 1 us */
			assert_true(pairs[i].path_ticks > pairs[i].bypass_ticks);
		else
			assert_int_equal(pairs[i].path_ticks, PAIR_NONE);
	}
}

static void every_program_passes_generated_probes(void **state)
{
	static const char *const programs[] = { "null", "forward", "fivetuple", "removeheader", "checksum" };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		expect_all(&(struct plan_of_run){ programs[i], ID_NATIVE, FRAME_KIND_UDP4, 60, 0, 0 }, FATE_MATCHED);
		expect_all(&(struct plan_of_run){ programs[i], ID_NATIVE, FRAME_KIND_UDP4, 1514, 0, 2 }, FATE_MATCHED);
	}
}

/* The text marker moves with the header that is removed, and is found. */
static void other_formats_pass(void **state)
{
	(void)state;
	expect_all(&(struct plan_of_run){ "removeheader", ID_OCT, FRAME_KIND_UDP4, 128, 0, 0 }, FATE_MATCHED);
	expect_all(&(struct plan_of_run){ "checksum", ID_OCT, FRAME_KIND_UDP4, 128, 0, 0 }, FATE_MATCHED);
	expect_all(&(struct plan_of_run){ "forward", ID_INSTRUMENT, FRAME_KIND_ETHER, 60, 0, 0 }, FATE_MATCHED);
}

/* What a program drops is lost: in the ledger, not absent. */
static void dropped_is_lost(void **state)
{
	(void)state;
	expect_all(&(struct plan_of_run){ "removeheader", ID_NATIVE, FRAME_KIND_UDP6, 128, 0, 0 }, FATE_LOST);
	expect_all(&(struct plan_of_run){ "checksum", ID_NATIVE, FRAME_KIND_UDP4, 128, 1, 0 }, FATE_LOST);
	expect_all(&(struct plan_of_run){ "fivetuple", ID_NATIVE, FRAME_KIND_ETHER, 60, 0, 0 }, FATE_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_program_passes_generated_probes),
		cmocka_unit_test(other_formats_pass),
		cmocka_unit_test(dropped_is_lost),
	};
	struct err err;

	if (target_pipeline.probe(&err)) {
		printf("built without DPDK, or it does not start: %s\n", err.message);
		return 77;
	}
	if (tsc_calibrate(&tsc, 50000000, true, &err)) {
		printf("%s\n", err.message);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
