/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>

#include "certificates.h"
#include "p4rt_fake.h"
#include "probe/control.h"
#include "target/v1model_program.h"

/*
 * Runs of control plans against servers that do as they are told, each in a thread of its own: what good ones
 * come to, and one message for each way in which a server can be bad.
 */
#define MS INT64_C(1000000)

enum { SIDES = 2, COUNT = 40 };

static const char info_text[] =
	"tables { preamble { id: 33554433 name: \"I.routes\" alias: \"routes\" }\n"
	" match_fields { id: 1 name: \"dst\" bitwidth: 32 match_type: LPM } action_refs { id: 16777217 } size: 99 }\n"
	"actions { preamble { id: 16777217 name: \"I.hop\" alias: \"hop\" } params { id: 1 name: \"mac\" bitwidth: 48 "
	"} "
	"params { id: 2 name: \"port\" bitwidth: 9 } }\n";

static const struct v1model_program program = {
	.name = "p",
	.json = { .text = "{}", .where = "p.json", .length_bytes = 2 },
	.p4info = { .text = info_text, .where = "p.p4info", .length_bytes = sizeof(info_text) - 1 }
};

struct bed {
	struct fake fakes[SIDES];
	struct loop *loop;
	pthread_t thread;
	bool runs;
	struct target_agent agents[SIDES];
	struct control_config config;
	struct control *control;
	struct run_record record;
};

static int setup(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));

	assert_int_equal(loop_create(&bed->loop, NULL), 0);
	bed->config = (struct control_config){ .switches = SIDES,
					       .count = COUNT,
					       .mode = CONTROL_ASYNC,
					       .window = 1,
					       .batch = 1,
					       .connect_ns = 5000 * MS,
					       .deadline_ns = 5000 * MS,
					       .limit_ns = 20000 * MS,
					       .port = 2,
					       .seed = 5 };
	*state = bed;
	return 0;
}

static void *serve(void *context)
{
	loop_run(context);
	return NULL;
}

/* Fakes as they are set up by now. */
static void servers_start(struct bed *bed)
{
	for (int i = 0; i < SIDES; i++) {
		fake_start(&bed->fakes[i], bed->loop);
		bed->agents[i].address = bed->fakes[i].address;
		bed->agents[i].device_id = 1;
		bed->agents[i].election_low = 5;
	}
	assert_int_equal(pthread_create(&bed->thread, NULL, serve, bed->loop), 0);
	bed->runs = true;
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	control_close(bed->control);
	if (bed->runs) {
		loop_stop(bed->loop);
		pthread_join(bed->thread, NULL);
	}
	for (int i = 0; i < SIDES; i++)
		fake_release(&bed->fakes[i]);
	loop_destroy(bed->loop);
	free(bed);
	return 0;
}

static void session_open(struct bed *bed)
{
	struct err err = { 0 };

	servers_start(bed);
	if (control_open(&bed->config, bed->agents, &program, &bed->control, &err) < 0)
		fail_msg("%s", err.message);
}

static void run_once(struct bed *bed, uint32_t run)
{
	struct err err = { 0 };

	if (control_run(bed->control, run, &bed->record, &err) < 0)
		fail_msg("%s", err.message);
}

/* --- good servers --- */

static void rows_are_whole(const struct bed *bed, uint64_t operations)
{
	const struct control_account *a = control_account(bed->control);
	const struct operation *rows;
	uint32_t count;

	rows = control_operations(bed->control, &count);
	assert_int_equal(count, operations);
	assert_int_equal(a->operations, operations);
	assert_int_equal(a->sent, operations);
	assert_int_equal(a->answered_ok, operations);
	assert_int_equal(a->failed + a->unsent + a->wrong + a->missing + a->extra + a->different + a->undecided, 0);
	assert_int_equal(a->server_cpu_ns, -1);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(rows[i].at, i / (operations / SIDES));
		assert_int_equal(rows[i].seq, i % (operations / SIDES));
		assert_true(rows[i].queued_ns >= 0 && rows[i].sent_ns >= rows[i].queued_ns &&
			    rows[i].answered_ns >= rows[i].sent_ns && rows[i].answered_ns <= a->wall_ns);
		assert_int_equal(rows[i].status, GRPC_OK);
	}
}

static void every_operation_in_every_mode(void **state)
{
	(void)state;
	for (int operation = CONTROL_INSERT; operation <= CONTROL_READ_SINGLE; operation++)
		for (int mode = CONTROL_SYNC; mode <= CONTROL_BATCHED; mode++) {
			bool reads = operation >= CONTROL_READ,
			     whole = operation == CONTROL_READ || operation == CONTROL_READ_TABLE;
			struct bed *bed;
			void *own;

			if (reads && mode == CONTROL_BATCHED)
				continue;
			setup(&own);
			bed = own;
			bed->config.operation = (enum control_operation)operation;
			bed->config.mode = (enum control_mode)mode;
			bed->config.window = mode == CONTROL_PIPELINED ? 8 : 1;
			bed->config.batch = mode == CONTROL_BATCHED ? 16 : 1;
			session_open(bed);
			for (uint32_t run = 0; run < 2; run++) {
				run_once(bed, run);
				assert_string_equal(bed->record.invalid, "");
				assert_null(control_remark(bed->control));
				rows_are_whole(bed, whole ? SIDES : SIDES * COUNT);
			}
			if (operation == CONTROL_INSERT && mode != CONTROL_PIPELINED)
				assert_int_equal(bed->fakes[0].most_in_flight, 1);
			teardown(&own);
		}
}

/* sync: switch after switch; async: all at once. */
static void modes_differ_in_what_is_in_flight(void **state)
{
	struct bed *bed = *state;
	const struct operation *rows;
	uint32_t count;
	bool overlap = false;

	for (int i = 0; i < SIDES; i++)
		bed->fakes[i].delay_ns = MS;
	bed->config.mode = CONTROL_SYNC;
	session_open(bed);
	run_once(bed, 0);
	rows = control_operations(bed->control, &count);
	assert_true(rows[COUNT].queued_ns >= rows[COUNT - 1].answered_ns);
	control_close(bed->control);
	bed->control = NULL;
	for (int i = 0; i < SIDES; i++)
		assert_int_equal(bed->fakes[i].entries.count, 0); /* not ours: left as they were found */
	bed->config.mode = CONTROL_ASYNC;
	assert_int_equal(control_open(&bed->config, bed->agents, &program, &bed->control, NULL), 0);
	run_once(bed, 0);
	rows = control_operations(bed->control, &count);
	for (uint32_t i = 0; i < COUNT; i++)
		overlap |= rows[COUNT].sent_ns < rows[i].answered_ns && rows[i].sent_ns < rows[COUNT].answered_ns;
	assert_true(overlap);
}

/* --- bad servers: before a run --- */

static void none_there(struct bed *bed)
{
	bed->agents[0].address = "unix:/tmp/p4rt-nobody-is-there";
}

static void silent(struct bed *bed)
{
	bed->fakes[0].arbitration = FAKE_SILENT;
}

static void babbles(struct bed *bed)
{
	bed->fakes[0].arbitration = FAKE_BABBLES;
}

static void refuses(struct bed *bed)
{
	bed->fakes[1].arbitration = FAKE_REFUSES;
}

static void another_is_primary(struct bed *bed)
{
	bed->fakes[1].primary_low = 77;
}

static void refuses_the_program(struct bed *bed)
{
	bed->fakes[0].pipeline = FAKE_STATUS;
	bed->fakes[0].status = GRPC_INVALID_ARGUMENT;
}

static void runs_another_program(struct bed *bed)
{
	bed->agents[1].keep_pipeline = true;
}

static void sends_garbage_for_its_program(struct bed *bed)
{
	bed->fakes[0].pipeline = FAKE_GARBAGE;
	bed->agents[0].keep_pipeline = true;
}

static void servers_that_no_run_begins_with(void **state)
{
	static const struct {
		void (*bad)(struct bed *bed);
		const char *message;
	} cases[] = {
		{ none_there,
		  "switch 1: unix:/tmp/p4rt-nobody-is-there: not connected within 300 ms: cannot connect to" },
		{ silent, "switch 1: unix:/tmp/p4rt-fake-* did not answer the arbitration within 300 ms" },
		{ babbles, "switch 1: the server sent a stream message that cannot be read" },
		{ refuses, "switch 2: unix:/tmp/p4rt-fake-* refused the arbitration: NOT_FOUND: no such device" },
		{ another_is_primary, "switch 2: unix:/tmp/p4rt-fake-*: another client is primary, election id 0:77 "
				      "(ALREADY_EXISTS: you are "
				      "backup)" },
		{ refuses_the_program,
		  "switch 1: unix:/tmp/p4rt-fake-*: the pipeline was refused: INVALID_ARGUMENT: it does not fit" },
		{ runs_another_program, "switch 2: another pipeline than the plan's program p runs there" },
		{ sends_garbage_for_its_program,
		  "switch 1: unix:/tmp/p4rt-fake-*: the pipeline cannot be had: INTERNAL: the answer cannot be read" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *star = strchr(cases[i].message, '*');
		size_t head = star ? (size_t)(star - cases[i].message) : strlen(cases[i].message);
		struct err err = { 0 };
		struct bed *bed;
		void *own;

		setup(&own);
		bed = own;
		bed->config.connect_ns = 300 * MS;
		cases[i].bad(bed);
		servers_start(bed);
		cases[i].bad(bed);
		assert_true(control_open(&bed->config, bed->agents, &program, &bed->control, &err) < 0);
		if (strncmp(err.message, cases[i].message, head) != 0 || (star && !strstr(err.message, star + 1)))
			fail_msg("'%s', not '%s'", err.message, cases[i].message);
		teardown(&own);
	}
}

static void certificates_that_do_not_match(void **state)
{
	char dir[] = "/tmp/tare-control-XXXXXX", path[4][64];
	EVP_PKEY *keys[3];
	X509 *certs[3];
	struct err err = { 0 };
	struct bed *bed = *state;

	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < 4; i++)
		snprintf(path[i], sizeof(path[i]), "%s/%d.pem", dir, i);
	keys[0] = key_write(path[3]);
	certs[0] = cert_write(path[0], keys[0], "authority", NULL, keys[0]);
	keys[1] = key_write(path[1]);
	certs[1] = cert_write(path[2], keys[1], "leaf", certs[0], keys[0]);
	for (int i = 0; i < SIDES; i++) {
		bed->fakes[i].tls = (struct grpc_tls){ .ca = path[0], .cert = path[2], .key = path[1] };
		snprintf(bed->fakes[i].address, sizeof(bed->fakes[i].address), "127.0.0.1:%d",
			 20000 + (getpid() + i) % 20000);
		bed->agents[i].tls = bed->fakes[i].tls;
	}
	servers_start(bed);
	/* with those that do, in both directions, it runs */
	assert_int_equal(control_open(&bed->config, bed->agents, &program, &bed->control, &err), 0);
	run_once(bed, 0);
	assert_string_equal(bed->record.invalid, "");
	control_close(bed->control);
	bed->control = NULL;
	/* a server that nobody vouches for */
	keys[2] = key_write(path[3]);
	certs[2] = cert_write(path[3], keys[2], "stranger", NULL, keys[2]);
	bed->agents[0].tls.ca = path[3];
	assert_true(control_open(&bed->config, bed->agents, &program, &bed->control, &err) < 0);
	assert_non_null(strstr(err.message, "switch 1: cannot connect to 127.0.0.1:"));
	assert_non_null(strstr(err.message, "certificate verify failed"));
	/* a client without a certificate where one is asked for */
	bed->agents[0].tls = (struct grpc_tls){ .ca = path[0] };
	assert_true(control_open(&bed->config, bed->agents, &program, &bed->control, &err) < 0);
	assert_non_null(strstr(err.message, "certificate required"));
	for (int i = 0; i < 3; i++) {
		X509_free(certs[i]);
		EVP_PKEY_free(keys[i]);
	}
	for (int i = 0; i < 4; i++)
		unlink(path[i]);
	rmdir(dir);
}

/* --- bad servers: in a run --- */

struct fault {
	void (*bad)(struct bed *bed);
	const char *invalid;
	uint64_t ok, failed, unsent, missing, undecided;
};

static void never(struct bed *bed)
{
	bed->fakes[0].write = FAKE_NEVER;
	bed->config.deadline_ns = 20 * MS;
	bed->config.limit_ns = 50 * MS;
}

static void slow(struct bed *bed)
{
	bed->fakes[0].delay_ns = 1000 * MS;
	bed->config.limit_ns = 100 * MS;
}

static void garbage(struct bed *bed)
{
	bed->fakes[0].write = FAKE_GARBAGE;
}

static void empty(struct bed *bed)
{
	bed->fakes[1].write = FAKE_EMPTY;
}

static void unknown_status(struct bed *bed)
{
	bed->fakes[0].write = FAKE_STATUS;
	bed->fakes[0].status = 99;
}

static void details(struct bed *bed)
{
	bed->fakes[0].write = FAKE_DETAILS;
	bed->config.mode = CONTROL_BATCHED;
	bed->config.batch = 20;
}

static void full(struct bed *bed)
{
	bed->fakes[1].room = 30;
}

static void forgets(struct bed *bed)
{
	bed->fakes[0].forget_every = 10;
}

static void dies(struct bed *bed)
{
	bed->fakes[0].die_at_write = 11;
	bed->config.connect_ns = 300 * MS;
}

static void cannot_be_read(struct bed *bed)
{
	bed->fakes[1].read = FAKE_HALF;
}

static void servers_that_spoil_a_run(void **state)
{
	static const struct fault faults[] = {
		/* which of them were carried out is not told, so nothing is said of what is missing */
		{ never, "* DEADLINE_EXCEEDED (", 0, 0, 0, 0, 0 },
		{ slow, "* of 80 operations were never sent: the run's limit had passed", 0, 0, 0, 0, 0 },
		{ garbage, "40 of 80 operations failed: 40 INTERNAL (the answer cannot be read)", 40, 40, 0, 0, 40 },
		{ empty, "40 of 80 operations failed: 40 INTERNAL (the status is OK, but there was no answer)", 40, 40,
		  0, 0, 40 },
		{ unknown_status, "40 of 80 operations failed: 40 status 99 (as told)", 40, 40, 0, 0, 40 },
		/* per update: 13 of 40 are refused, the others are said to be there, and are not */
		{ details, "12 of 80 operations failed: 12 RESOURCE_EXHAUSTED (table is full)", 68, 12, 0, 28, 0 },
		{ full, "10 of 80 operations failed: 10 RESOURCE_EXHAUSTED (table is full)", 70, 10, 0, 0, 0 },
		{ forgets, "read back, 4 entries are missing, 0 too many, 0 different", 80, 0, 0, 4, 0 },
		{ dies, "1 of 80 operations failed: 1 UNAVAILABLE (*", 50, 1, 29, 0, 40 },
		{ cannot_be_read, "what the switches hold cannot be read back: unix:*: read: UNAVAILABLE: half of it",
		  80, 0, 0, 0, 40 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct fault *f = &faults[i];
		const struct control_account *a;
		const char *star = strrchr(f->invalid, '*');
		struct bed *bed;
		void *own;

		setup(&own);
		bed = own;
		f->bad(bed);
		if (f->bad == cannot_be_read)
			bed->fakes[1].read = FAKE_ANSWERS;
		session_open(bed);
		f->bad(bed);
		run_once(bed, 0);
		a = control_account(bed->control);
		if (star ? strstr(bed->record.invalid, star + 1) == NULL : strcmp(bed->record.invalid, f->invalid) != 0)
			fail_msg("'%s', not '%s'", bed->record.invalid, f->invalid);
		assert_int_equal(a->operations, SIDES * COUNT);
		assert_int_equal(a->sent + a->unsent, a->operations);
		assert_int_equal(a->answered_ok + a->failed, a->sent);
		if (f->bad != never && f->bad != slow) {
			assert_int_equal(a->answered_ok, f->ok);
			assert_int_equal(a->failed, f->failed);
			assert_int_equal(a->unsent, f->unsent);
			assert_int_equal(a->missing, f->missing);
			assert_int_equal(a->undecided, f->undecided);
		} else {
			/* how far they come depends on this machine */
			assert_true(a->unsent > 0 && (f->bad != never || a->failed > 0));
			assert_int_equal(a->undecided, a->failed);
		}
		teardown(&own);
	}
}

static void a_connection_that_comes_back_is_told(void **state)
{
	const struct control_account *a;
	struct bed *bed = *state;

	bed->fakes[0].die_at_write = 11;
	bed->fakes[0].revive_ns = 30 * MS;
	bed->config.reconnect_ns = 10 * MS;
	session_open(bed);
	run_once(bed, 0);
	a = control_account(bed->control);
	assert_int_equal(a->losses, 1);
	assert_int_equal(a->returns, 1);
	assert_int_equal(a->failed, 1);
	assert_int_equal(a->unsent, COUNT - 11);
	/* read back over the new connection: what was in flight may have been carried out */
	assert_int_equal(a->undecided, 1);
	assert_int_equal(a->missing + a->extra + a->different, 0);
	assert_string_equal(control_remark(bed->control), "1 connections were lost, 1 came back");
	/* and the next run is good again */
	bed->fakes[0].die_at_write = 0;
	run_once(bed, 1);
	assert_string_equal(bed->record.invalid, "");
	assert_null(control_remark(bed->control));
}

static void an_interrupt_ends_a_run(void **state)
{
	static atomic_bool interrupted = true;
	struct err err = { 0 };
	struct bed *bed = *state;

	bed->fakes[0].write = FAKE_NEVER;
	bed->config.interrupted = &interrupted;
	session_open(bed);
	assert_int_equal(control_run(bed->control, 0, &bed->record, &err), -EINTR);
	assert_int_equal(err.kind, ERR_INTERRUPTED);
}

static void a_table_that_is_not_empty_is_left(void **state)
{
	struct err err = { 0 };
	struct bed *bed = *state;

	bed->config.switches = 1;
	session_open(bed);
	run_once(bed, 0);
	/* a second client of the same switch while the first one's entries are there */
	bed->agents[0].election_low = 6;
	{
		struct control *second = NULL;

		assert_true(control_open(&bed->config, bed->agents, &program, &second, &err) < 0);
	}
	assert_string_equal(err.message, "switch 1: table routes holds 40 entries; expected none before a run");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_in_every_mode),
		cmocka_unit_test_setup_teardown(modes_differ_in_what_is_in_flight, setup, teardown),
		cmocka_unit_test(servers_that_no_run_begins_with),
		cmocka_unit_test_setup_teardown(certificates_that_do_not_match, setup, teardown),
		cmocka_unit_test(servers_that_spoil_a_run),
		cmocka_unit_test_setup_teardown(a_connection_that_comes_back_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(an_interrupt_ends_a_run, setup, teardown),
		cmocka_unit_test_setup_teardown(a_table_that_is_not_empty_is_left, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
