/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "p4rt/blocking.h"
#include "p4rt_fake.h"

#define MS INT64_C(1000000)

static const char info_text[] =
	"tables { preamble { id: 33554433 name: \"I.routes\" alias: \"routes\" }\n"
	" match_fields { id: 1 name: \"dst\" bitwidth: 32 match_type: LPM } action_refs { id: 16777217 } }\n"
	"tables { preamble { id: 33554434 name: \"I.other\" alias: \"other\" }\n"
	" match_fields { id: 1 name: \"dst\" bitwidth: 32 match_type: EXACT } action_refs { id: 16777217 } }\n"
	"actions { preamble { id: 16777217 name: \"I.hop\" alias: \"hop\" } params { id: 1 name: \"port\" bitwidth: 9 "
	"} }\n";

/* A loop, a fake switch, a client of it, and what the client told. */
struct bed {
	struct loop *loop;
	struct fake fake;
	struct p4rt_client_config config;
	struct p4rt_client *client;
	struct p4info *info;
	struct p4rt_entries *entries;
	struct p4rt_updates updates;
	struct p4rt_record *records;
	unsigned ups, downs, backups;
	char packet[64];
	uint8_t packet_port;
	size_t answered, failed;
	bool done;
	char message[256];
};

static void on_state(struct p4rt_client *client, enum p4rt_state state, const char *why)
{
	struct bed *bed = p4rt_client_user(client);

	(void)why;
	bed->ups += state == P4RT_PRIMARY;
	bed->downs += state == P4RT_IDLE;
	bed->backups += state == P4RT_BACKUP;
}

static void on_packet(struct p4rt_client *client, const struct p4rt_packet *packet)
{
	struct bed *bed = p4rt_client_user(client);

	snprintf(bed->packet, sizeof(bed->packet), "%.*s", (int)packet->payload.length,
		 (const char *)packet->payload.data);
	bed->packet_port = packet->metadata[0].value.data[0];
}

/* `count` routes 10.x.y.z/32. */
static void make_entries(struct bed *bed, size_t count)
{
	char *text = malloc(count * 64 + 1);
	size_t n = 0;
	struct err err;

	for (size_t i = 0; i < count; i++)
		n += (size_t)sprintf(text + n, "table=routes dst=10.%zu.%zu.%zu action=hop port=%zu\n", i >> 16 & 255,
				     i >> 8 & 255, i & 255, i % 512);
	if (p4rt_entries_parse(bed->info, text, n, "e", &bed->entries, &err) < 0)
		fail_msg("%s", err.message);
	free(text);
	assert_int_equal(p4rt_entries_encode(bed->entries, &bed->updates), 0);
	bed->records = calloc(count, sizeof(*bed->records));
}

static int setup(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));

	assert_int_equal(loop_create(&bed->loop, NULL), 0);
	assert_int_equal(p4info_parse(info_text, sizeof(info_text) - 1, "info", &bed->info, NULL), 0);
	fake_start(&bed->fake, bed->loop);
	bed->config = (struct p4rt_client_config){ .address = bed->fake.address,
						   .device_id = 3,
						   .election_low = 10,
						   .state = on_state,
						   .packet_in = on_packet,
						   .user = bed };
	*state = bed;
	return 0;
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	p4rt_client_destroy(bed->client);
	fake_release(&bed->fake);
	loop_destroy(bed->loop);
	p4rt_entries_destroy(bed->entries);
	p4rt_updates_release(&bed->updates);
	p4info_destroy(bed->info);
	free(bed->records);
	free(bed);
	return 0;
}

static void connect_bed(struct bed *bed)
{
	struct err err;

	if (p4rt_connect(bed->loop, &bed->config, 0, &bed->client, &err) < 0)
		fail_msg("%s", err.message);
}

/* A write of all entries, to its end. */
static size_t write_all(struct bed *bed, unsigned window, unsigned batch, int64_t deadline_ns)
{
	struct p4rt_write write = { .updates = &bed->updates,
				    .count = bed->updates.count,
				    .window = window,
				    .batch = batch,
				    .deadline_ns = deadline_ns,
				    .records = bed->records };
	size_t failed;
	struct err err;

	if (p4rt_write(bed->client, &write, 0, &failed, &err) < 0)
		fail_msg("%s", err.message);
	return failed;
}

static void check_times(const struct bed *bed)
{
	for (size_t i = 0; i < bed->updates.count; i++) {
		assert_true(bed->records[i].queued_ns > 0);
		assert_true(bed->records[i].sent_ns >= bed->records[i].queued_ns);
		assert_true(bed->records[i].answered_ns >= bed->records[i].sent_ns);
	}
}

/* --- when all goes well --- */

static void test_modes(void **state)
{
	static const struct {
		unsigned window, batch, writes, most;
	} modes[] = { { 1, 1, 250, 1 }, { 0, 0, 250, 1 }, { 64, 1, 250, 64 },
		      { 1, 100, 3, 1 }, { 4, 30, 9, 4 },  { 1000, 1, 250, 250 } };
	struct bed *bed = *state;

	connect_bed(bed);
	make_entries(bed, 250);
	bed->fake.delay_ns = MS / 10;
	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		struct p4rt_difference d;

		bed->fake.writes = bed->fake.updates = bed->fake.most_in_flight = 0;
		for (size_t i = 0; i < bed->fake.entries.count; i++)
			free(bed->fake.entries.items[i]);
		bed->fake.entries.count = 0;
		assert_int_equal(write_all(bed, modes[m].window, modes[m].batch, 0), 0);
		assert_int_equal(bed->fake.writes, modes[m].writes);
		assert_int_equal(bed->fake.updates, 250);
		assert_true(bed->fake.most_in_flight <= modes[m].most);
		assert_true(modes[m].most == 1 || bed->fake.most_in_flight > 1);
		check_times(bed);
		assert_int_equal(p4rt_compare(bed->client, bed->info, bed->entries, 0, &d, NULL), 0);
		assert_int_equal(d.expected, 250);
		assert_int_equal(d.found, 250);
		assert_int_equal(d.missing + d.extra + d.different, 0);
	}
	/* one at a time: each is sent only when the one before was answered */
	write_all(bed, 1, 1, 0);
	for (size_t i = 1; i < 250; i++)
		assert_true(bed->records[i].sent_ns >= bed->records[i - 1].answered_ns);
}

static void count_entry(void *user, const struct p4rt_entry *entry)
{
	size_t *ports = user;

	*ports += entry->params[0].data[entry->params[0].length - 1];
}

static void test_read(void **state)
{
	struct bed *bed = *state;
	size_t ports = 0, count;
	struct p4rt_read read = { .info = bed->info, .entry = count_entry, .user = &ports };

	connect_bed(bed);
	make_entries(bed, 10);
	assert_int_equal(write_all(bed, 1, 10, 0), 0);
	read.table = &bed->info->tables[0];
	assert_int_equal(p4rt_read(bed->client, &read, &count, NULL), 0);
	assert_int_equal(count, 10);
	assert_int_equal(ports, 45);
	read.table = &bed->info->tables[1];
	assert_int_equal(p4rt_read(bed->client, &read, &count, NULL), 0);
	assert_int_equal(count, 0);
	read.table = NULL;
	assert_int_equal(p4rt_read(bed->client, &read, &count, NULL), 0);
	assert_int_equal(count, 10);
}

static void on_version(void *user, const struct p4rt_result *result)
{
	struct bed *bed = user;

	snprintf(bed->message, sizeof(bed->message), "%d %s", result->status, result->message);
	bed->done = true;
}

static void test_pipeline(void **state)
{
	struct bed *bed = *state;
	bool same = true;
	struct err err;

	connect_bed(bed);
	assert_int_equal(p4rt_pipeline_is(bed->client, bed->info, 0, &same, NULL), 0);
	assert_false(same);
	assert_int_equal(p4rt_set_pipeline(bed->client, bed->info, "{}", 2, 0, NULL), 0);
	assert_int_equal(p4rt_pipeline_is(bed->client, bed->info, 0, &same, NULL), 0);
	assert_true(same);
	((struct p4info_field *)bed->info->tables[0].keys)[0].bits = 31;
	assert_int_equal(p4rt_pipeline_is(bed->client, bed->info, 0, &same, NULL), 0);
	assert_false(same);
	bed->fake.pipeline = FAKE_STATUS;
	bed->fake.status = GRPC_INVALID_ARGUMENT;
	assert_int_equal(p4rt_set_pipeline(bed->client, bed->info, "{}", 2, 0, &err), -EREMOTEIO);
	assert_non_null(strstr(err.message, ": the pipeline was refused: INVALID_ARGUMENT: it does not fit"));
	bed->fake.pipeline = FAKE_EMPTY;
	assert_int_equal(p4rt_set_pipeline(bed->client, bed->info, "{}", 2, 0, &err), -EREMOTEIO);
	assert_non_null(strstr(err.message, "INTERNAL: the status is OK, but there was no answer"));
	bed->fake.pipeline = FAKE_GARBAGE;
	assert_int_equal(p4rt_pipeline_is(bed->client, bed->info, 0, &same, &err), -EREMOTEIO);
	assert_non_null(strstr(err.message, "INTERNAL: the answer cannot be read"));
	assert_int_equal(p4rt_client_capabilities(bed->client, 0, on_version, bed), 0);
	while (!bed->done)
		loop_turn(bed->loop, -1);
	assert_string_equal(bed->message, "0 1.4.0");
}

static void test_packets(void **state)
{
	struct bed *bed = *state;
	struct p4rt_packet packet = { .payload = { (const uint8_t *)"out", 3 } };

	connect_bed(bed);
	fake_packet_in(&bed->fake, "hello");
	assert_int_equal(p4rt_client_packet_out(bed->client, &packet), 0);
	while (!bed->packet[0] || !bed->fake.last_packet_bytes)
		loop_turn(bed->loop, -1);
	assert_string_equal(bed->packet, "hello");
	assert_int_equal(bed->packet_port, 5);
	assert_memory_equal(bed->fake.last_packet, "out", 3);
	p4rt_client_destroy(bed->client);
	bed->client = NULL;
	assert_int_equal(p4rt_client_create(bed->loop, &bed->config, &bed->client, NULL), 0);
	assert_int_equal(p4rt_client_packet_out(bed->client, &packet), -ENOTCONN);
}

/* --- mastership --- */

static void test_backup(void **state)
{
	struct bed *bed = *state;
	struct p4rt_client *second = NULL;
	struct p4rt_client_config config = bed->config;
	struct err err;

	connect_bed(bed);
	config.election_low = 9;
	assert_int_equal(p4rt_connect(bed->loop, &config, 0, &second, &err), -EBUSY);
	assert_null(second);
	assert_non_null(
		strstr(err.message, "another client is primary, election id 0:10 (ALREADY_EXISTS: you are backup)"));
	fake_demote(&bed->fake); /* no effect on the first: the stream is the second's, which is gone or going */
}

static void test_demoted(void **state)
{
	struct bed *bed = *state;

	connect_bed(bed);
	fake_demote(&bed->fake);
	while (!bed->backups)
		loop_turn(bed->loop, -1);
	assert_int_equal(p4rt_client_state(bed->client), P4RT_BACKUP);
	assert_int_equal(p4rt_client_losses(bed->client), 0);
	/* what it writes now is the server's to refuse, entry by entry */
	make_entries(bed, 3);
	bed->fake.write = FAKE_STATUS;
	bed->fake.status = GRPC_PERMISSION_DENIED;
	assert_int_equal(write_all(bed, 1, 1, 0), 3);
	assert_int_equal(bed->records[2].status, GRPC_PERMISSION_DENIED);
}

static void test_arbitration_bad(void **state)
{
	static const struct {
		enum fake_arbitration how;
		int rc;
		const char *message;
	} cases[] = {
		{ FAKE_REFUSES, -EREMOTEIO, "refused the arbitration: NOT_FOUND: no such device" },
		{ FAKE_SILENT, -EREMOTEIO, "did not answer the arbitration within 50 ms" },
		{ FAKE_BABBLES, -EREMOTEIO, "the server sent a stream message that cannot be read" },
	};
	struct bed *bed = *state;

	bed->config.connect_timeout_ns = 50 * MS;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err;

		bed->fake.arbitration = cases[i].how;
		assert_int_equal(p4rt_connect(bed->loop, &bed->config, 0, &bed->client, &err), cases[i].rc);
		assert_non_null(strstr(err.message, cases[i].message));
		assert_null(bed->client);
	}
}

static void start_late(struct loop_timer *timer)
{
	struct bed *bed = *(struct bed **)(timer + 1);

	fake_start(&bed->fake, bed->loop);
}

static void test_not_there(void **state)
{
	struct bed *bed = *state;
	struct {
		struct loop_timer timer;
		struct bed *bed;
	} late = { { .fire = start_late }, bed };
	struct err err;

	fake_stop(&bed->fake);
	assert_int_equal(p4rt_connect(bed->loop, &bed->config, 30 * MS, &bed->client, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.message, "not connected within 30 ms: cannot connect to unix:"));
	/* one that comes up meanwhile is found */
	loop_timer_set(bed->loop, &late.timer, loop_now_ns() + 30 * MS);
	assert_int_equal(p4rt_connect(bed->loop, &bed->config, 0, &bed->client, &err), 0);
	assert_int_equal(p4rt_client_state(bed->client), P4RT_PRIMARY);
}

/* --- statuses --- */

static void test_statuses(void **state)
{
	struct bed *bed = *state;

	connect_bed(bed);
	make_entries(bed, 9);
	bed->fake.write = FAKE_DETAILS;
	assert_int_equal(write_all(bed, 1, 9, 0), 3);
	for (size_t i = 0; i < 9; i++) {
		assert_int_equal(bed->records[i].status, i % 3 == 2 ? GRPC_RESOURCE_EXHAUSTED : GRPC_OK);
		assert_false(bed->records[i].shared);
	}
	bed->fake.write = FAKE_FEWER_DETAILS;
	assert_int_equal(write_all(bed, 1, 9, 0), 9);
	assert_int_equal(bed->records[0].status, GRPC_UNKNOWN);
	assert_true(bed->records[0].shared);
	bed->fake.write = FAKE_BAD_DETAILS;
	assert_int_equal(write_all(bed, 1, 9, 0), 9);
	assert_true(bed->records[8].shared);
	bed->fake.write = FAKE_STATUS;
	bed->fake.status = 99;
	assert_int_equal(write_all(bed, 2, 1, 0), 9);
	assert_int_equal(bed->records[4].status, 99);
	assert_false(bed->records[4].shared);
	bed->fake.write = FAKE_GARBAGE;
	assert_int_equal(write_all(bed, 2, 1, 0), 9);
	assert_int_equal(bed->records[4].status, GRPC_INTERNAL);
	bed->fake.write = FAKE_EMPTY;
	assert_int_equal(write_all(bed, 2, 1, 0), 9);
	assert_int_equal(bed->records[4].status, GRPC_INTERNAL);
	bed->fake.write = FAKE_ANSWERS;
	assert_int_equal(write_all(bed, 2, 1, 0), 0);
	assert_int_equal(write_all(bed, 2, 1, 0), 9);
	assert_int_equal(bed->records[4].status, GRPC_ALREADY_EXISTS);
}

static void test_program_message(void **state)
{
	struct bed *bed = *state;
	struct err err;

	connect_bed(bed);
	make_entries(bed, 9);
	bed->fake.write = FAKE_DETAILS;
	assert_int_equal(p4rt_program(bed->client, bed->entries, 0, &err), -EREMOTEIO);
	assert_non_null(strstr(err.message,
			       ": 3 of 9 updates failed, first that of line 3: RESOURCE_EXHAUSTED: table is full"));
	bed->fake.write = FAKE_STATUS;
	bed->fake.status = 42;
	assert_int_equal(p4rt_program(bed->client, bed->entries, 0, &err), -EREMOTEIO);
	assert_non_null(strstr(err.message, ": 9 of 9 updates failed, first that of line 1: status 42: as told"));
	bed->fake.write = FAKE_ANSWERS;
	assert_int_equal(p4rt_program(bed->client, bed->entries, 0, &err), 0);
}

static void test_deadline(void **state)
{
	struct bed *bed = *state;
	struct p4rt_read read = { .info = bed->info, .deadline_ns = 20 * MS };
	struct err err;

	connect_bed(bed);
	make_entries(bed, 5);
	bed->fake.write = FAKE_NEVER;
	assert_int_equal(write_all(bed, 2, 1, 20 * MS), 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(bed->records[i].status, GRPC_DEADLINE_EXCEEDED);
		assert_true(bed->records[i].answered_ns - bed->records[i].sent_ns >= 20 * MS);
	}
	bed->fake.read = FAKE_NEVER;
	assert_int_equal(p4rt_read(bed->client, &read, NULL, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.message, ": read: DEADLINE_EXCEEDED: no answer before the deadline"));
}

static void test_read_bad(void **state)
{
	struct bed *bed = *state;
	struct p4rt_read read = { .info = bed->info };
	size_t count = 77;
	struct err err;

	connect_bed(bed);
	make_entries(bed, 10);
	write_all(bed, 1, 10, 0);
	bed->fake.read = FAKE_GARBAGE;
	assert_int_equal(p4rt_read(bed->client, &read, &count, &err), -EREMOTEIO);
	assert_non_null(strstr(err.message, ": read: INTERNAL: the answer cannot be read"));
	bed->fake.read = FAKE_HALF;
	assert_int_equal(p4rt_read(bed->client, &read, &count, &err), -EREMOTEIO);
	assert_non_null(strstr(err.message, ": read: UNAVAILABLE: half of it"));
	assert_int_equal(count, 77);
	/* an entry that this P4Info does not know */
	bed->fake.read = FAKE_ANSWERS;
	bed->fake.entries.items[3][sizeof(size_t) + 1] ^= 7;
	assert_int_equal(p4rt_read(bed->client, &read, &count, &err), -EREMOTEIO);
	assert_non_null(strstr(err.message, "which its P4Info has not"));
}

/* --- losses --- */

static void test_loss(void **state)
{
	struct bed *bed = *state;
	size_t sent = 0;

	connect_bed(bed);
	make_entries(bed, 50);
	bed->fake.die_at_write = 20;
	assert_true(write_all(bed, 4, 1, 0) >= 30);
	for (size_t i = 0; i < 50; i++) {
		if (bed->records[i].status == GRPC_OK)
			continue;
		assert_int_equal(bed->records[i].status, GRPC_UNAVAILABLE);
		sent += bed->records[i].sent_ns > 0;
	}
	assert_in_range(sent, 1, 4); /* in flight; the others were never sent */
	assert_int_equal(bed->records[49].sent_ns, 0);
	assert_int_equal(bed->records[49].answered_ns, 0);
	assert_int_equal(p4rt_client_losses(bed->client), 1);
	while (bed->downs == 0)
		loop_turn(bed->loop, -1);
	assert_int_equal(p4rt_client_state(bed->client), P4RT_IDLE);
	/* nothing goes out until it is connected again, by hand here */
	assert_int_equal(write_all(bed, 1, 1, 0), 50);
	assert_int_equal(bed->records[0].sent_ns, 0);
	bed->fake.die_at_write = 0;
	fake_start(&bed->fake, bed->loop);
	p4rt_client_connect(bed->client);
	while (bed->ups < 2)
		loop_turn(bed->loop, -1);
	write_all(bed, 1, 1, 0);
	assert_int_equal(bed->records[49].status, GRPC_OK);
}

static void test_reconnect(void **state)
{
	struct bed *bed = *state;

	bed->config.reconnect_ns = 5 * MS;
	connect_bed(bed);
	fake_stop(&bed->fake);
	while (bed->downs < 3) /* the loss, and two tries in vain */
		loop_turn(bed->loop, -1);
	fake_start(&bed->fake, bed->loop);
	while (bed->ups < 2)
		loop_turn(bed->loop, -1);
	assert_int_equal(p4rt_client_losses(bed->client), 1);
	/* a stream that ends is a loss too, though the connection stays */
	fake_end_stream(&bed->fake);
	while (bed->ups < 3)
		loop_turn(bed->loop, -1);
	assert_int_equal(p4rt_client_losses(bed->client), 2);
	assert_int_equal(bed->fake.streams, 3);
}

static void on_done(void *user, size_t failed, const char *message)
{
	struct bed *bed = user;

	bed->failed = failed;
	bed->done = true;
	snprintf(bed->message, sizeof(bed->message), "%s", message);
}

static void on_answered(void *user, size_t index, size_t count)
{
	struct bed *bed = user;

	(void)index;
	bed->answered += count;
}

/* A client may go while its calls are open: all callbacks come, none is forgotten. */
static void test_destroy(void **state)
{
	struct bed *bed = *state;
	struct p4rt_write write = { .window = 3, .answered = on_answered, .done = on_done, .user = bed };
	int turns = 0;

	connect_bed(bed);
	make_entries(bed, 20);
	bed->fake.write = FAKE_NEVER;
	write.updates = &bed->updates;
	write.count = 20;
	write.records = bed->records;
	assert_int_equal(p4rt_client_write(bed->client, &write), 0);
	while (bed->fake.writes < 3 && turns++ < 1000)
		loop_turn(bed->loop, MS);
	assert_false(bed->done);
	p4rt_client_destroy(bed->client);
	bed->client = NULL;
	assert_true(bed->done);
	assert_int_equal(bed->failed, 20);
	assert_int_equal(bed->answered, 20);
	assert_int_equal(bed->records[0].status, GRPC_CANCELLED);
	assert_int_equal(bed->records[19].status, GRPC_CANCELLED);
	/* one whose job has not even begun */
	bed->done = false;
	connect_bed(bed);
	assert_int_equal(p4rt_client_write(bed->client, &write), 0);
	p4rt_client_destroy(bed->client);
	bed->client = NULL;
	assert_true(bed->done);
}

/* An empty job ends well, from the loop. */
static void test_nothing(void **state)
{
	struct bed *bed = *state;
	struct p4rt_write write = { .done = on_done, .user = bed };

	connect_bed(bed);
	write.updates = &bed->updates;
	assert_int_equal(p4rt_client_write(bed->client, &write), 0);
	assert_false(bed->done);
	loop_turn(bed->loop, MS);
	assert_true(bed->done);
	assert_int_equal(bed->failed, 0);
}

/* Many switches on one loop, all at once: the asynchronous way. */
static void test_side_by_side(void **state)
{
	enum { SWITCHES = 8 };
	struct bed *bed = *state;
	struct fake *fakes = calloc(SWITCHES, sizeof(*fakes));
	struct p4rt_client *clients[SWITCHES];
	struct bed sides[SWITCHES] = { 0 };
	struct p4rt_record *records = calloc(SWITCHES * 100, sizeof(*records));
	size_t done = 0;

	make_entries(bed, 100);
	for (size_t i = 0; i < SWITCHES; i++) {
		struct p4rt_client_config config = { .device_id = i };

		fakes[i].delay_ns = MS / 10;
		fake_start(&fakes[i], bed->loop);
		config.address = fakes[i].address;
		assert_int_equal(p4rt_connect(bed->loop, &config, 0, &clients[i], NULL), 0);
	}
	for (size_t i = 0; i < SWITCHES; i++) {
		struct p4rt_write write = { .updates = &bed->updates,
					    .count = 100,
					    .window = 8,
					    .records = records + i * 100,
					    .done = on_done,
					    .user = &sides[i] };

		assert_int_equal(p4rt_client_write(clients[i], &write), 0);
	}
	while (done < SWITCHES) {
		loop_turn(bed->loop, -1);
		done = 0;
		for (size_t i = 0; i < SWITCHES; i++)
			done += sides[i].done;
	}
	for (size_t i = 0; i < SWITCHES; i++) {
		assert_int_equal(sides[i].failed, 0);
		assert_int_equal(fakes[i].entries.count, 100);
		/* none had to wait until another was through */
		assert_true(records[i * 100].sent_ns < records[((i + 1) % SWITCHES) * 100 + 99].answered_ns);
		p4rt_client_destroy(clients[i]);
		fake_release(&fakes[i]);
	}
	free(records);
	free(fakes);
}

static void test_bad_config(void **state)
{
	struct bed *bed = *state;
	struct err err;

	bed->config.address = "nowhere";
	assert_true(p4rt_connect(bed->loop, &bed->config, 0, &bed->client, &err) < 0);
	assert_non_null(strstr(err.message, "nowhere"));
	bed->config.address = bed->fake.address;
	bed->config.tls.ca = "/nonexistent.pem";
	assert_true(p4rt_connect(bed->loop, &bed->config, 0, &bed->client, &err) < 0);
	assert_non_null(strstr(err.message, "/nonexistent.pem"));
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_modes),      TEST(test_read),         TEST(test_pipeline),        TEST(test_packets),
		TEST(test_backup),     TEST(test_demoted),      TEST(test_arbitration_bad), TEST(test_not_there),
		TEST(test_statuses),   TEST(test_deadline),     TEST(test_program_message), TEST(test_read_bad),
		TEST(test_loss),       TEST(test_reconnect),    TEST(test_destroy),         TEST(test_nothing),
		TEST(test_bad_config), TEST(test_side_by_side),
	};

	return cmocka_run_group_tests_name("p4rt_client", tests, NULL, NULL);
}
