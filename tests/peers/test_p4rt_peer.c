/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The P4Runtime client against a real server in a process of its own: argv[1] is
 * simple_switch_grpc or tare-switch (a name is looked for in the folder $BMV2 or
 * in PATH), argv[2] the folder with our v1model programs.
 */
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
#include "switch_child.h"

static const char *switch_path, *programs;
static bool ours; /* tare-switch */

struct bed {
	struct loop *loop;
	struct switch_child child;
	struct p4rt_client_config config;
	struct p4rt_client *client;
	struct p4info *info;
	char *json;
	size_t json_bytes;
};

#define must(CALL, ERR)                                                                                                \
	do {                                                                                                           \
		if ((CALL) < 0)                                                                                        \
			fail_msg("%s", (ERR).message);                                                                 \
	} while (0)

static void read_json(struct bed *bed, const char *path)
{
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	bed->json = malloc(4 << 20);
	bed->json_bytes = fread(bed->json, 1, 4 << 20, file);
	fclose(file);
}

static void load(struct bed *bed, const char *program)
{
	char path[512];
	struct err err;

	snprintf(path, sizeof(path), "%s/%s.p4info.txtpb", programs, program);
	must(p4info_read(path, &bed->info, &err), err);
	snprintf(path, sizeof(path), "%s/%s.json", programs, program);
	read_json(bed, path);
	must(p4rt_set_pipeline(bed->client, bed->info, bed->json, bed->json_bytes, 0, &err), err);
}

static int setup(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	struct err err;

	assert_int_equal(loop_create(&bed->loop, NULL), 0);
	assert_true(switch_child_start(&bed->child, switch_path));
	bed->config = (struct p4rt_client_config){ .address = bed->child.address, .device_id = 1, .election_low = 10 };
	must(p4rt_connect(bed->loop, &bed->config, 0, &bed->client, &err), err);
	*state = bed;
	return 0;
}

static int teardown(void **state)
{
	struct bed *bed = *state;

	p4rt_client_destroy(bed->client);
	loop_destroy(bed->loop);
	switch_child_kill(&bed->child);
	p4info_destroy(bed->info);
	free(bed->json);
	free(bed);
	return 0;
}

static struct p4rt_entries *entries_of(struct bed *bed, const char *text)
{
	struct p4rt_entries *entries;
	struct err err;

	must(p4rt_entries_parse(bed->info, text, strlen(text), "entries", &entries, &err), err);
	return entries;
}

static void check_holds(struct bed *bed, const struct p4rt_entries *entries, size_t count)
{
	struct p4rt_difference d;
	struct err err;

	must(p4rt_compare(bed->client, bed->info, entries, 0, &d, &err), err);
	assert_int_equal(d.expected, count);
	assert_int_equal(d.found, count);
	assert_int_equal(d.missing + d.extra + d.different, 0);
}

static void test_pipeline(void **state)
{
	struct bed *bed = *state;
	char path[512];
	struct err err;
	bool same = true;

	snprintf(path, sizeof(path), "%s/l2_forward.p4info.txtpb", programs);
	must(p4info_read(path, &bed->info, &err), err);
	must(p4rt_pipeline_is(bed->client, bed->info, 0, &same, &err), err);
	assert_false(same);
	p4info_destroy(bed->info);
	load(bed, "l3_lpm_acl");
	must(p4rt_pipeline_is(bed->client, bed->info, 0, &same, &err), err);
	assert_true(same);
	assert_true(p4rt_set_pipeline(bed->client, bed->info, "{ not json", 10, 0, &err) < 0);
	assert_non_null(strstr(err.message, ": the pipeline was refused: "));
}

static void test_entries(void **state)
{
	struct bed *bed = *state;
	struct p4rt_entries *first, *change, *all;
	struct err err;
	const char *one = "table=routes destination=10.0.0.0/24 action=next_hop mac=00:00:00:00:00:02 port=2\n"
			  "table=routes destination=10.0.1.0/24 action=next_hop mac=00:00:00:00:00:03 port=0\n"
			  "table=routes destination=* action=drop\n"
			  "table=acl ipv4.source=10.9.0.0/16 ports.destination_port=80 action=drop priority=10\n"
			  "table=acl ipv4.protocol=17&&&0xff action=permit priority=9\n"
			  "table=acl default action=permit\n";
	const char *two = "op=modify table=routes destination=10.0.1.0/24 action=next_hop mac=0:0:0:0:0:9 port=511\n"
			  "op=delete table=acl ipv4.protocol=17&&&0xff priority=9\n";
	char text[2048];

	load(bed, "l3_lpm_acl");
	first = entries_of(bed, one);
	must(p4rt_program(bed->client, first, 0, &err), err);
	check_holds(bed, first, 5);
	/* once more: each exists already */
	assert_true(p4rt_program(bed->client, first, 0, &err) < 0);
	assert_non_null(strstr(err.message, "5 of 6 updates failed, first that of line 1: ALREADY_EXISTS"));
	change = entries_of(bed, two);
	must(p4rt_program(bed->client, change, 0, &err), err);
	snprintf(text, sizeof(text), "%s%s", one, two);
	all = entries_of(bed, text);
	check_holds(bed, all, 4);
	p4rt_entries_destroy(first);
	p4rt_entries_destroy(change);
	p4rt_entries_destroy(all);
}

static void test_single(void **state)
{
	struct bed *bed = *state;
	struct p4rt_entries *entries;
	struct p4rt_read read = { 0 };
	size_t count;
	struct err err;

	load(bed, "l3_lpm");
	entries = entries_of(bed, "table=routes destination=10.0.0.0/24 action=next_hop mac=2 port=2\n"
				  "table=routes destination=10.0.0.0/25 action=next_hop mac=3 port=3\n");
	must(p4rt_program(bed->client, entries, 0, &err), err);
	read.info = bed->info;
	read.single = &entries->items[1].entry;
	must(p4rt_read(bed->client, &read, &count, &err), err);
	assert_int_equal(count, 1);
	p4rt_entries_destroy(entries);
}

/* `count` routes, in each mode, with a status for each and the table read back. */
static void test_modes(void **state)
{
	static const struct {
		unsigned window, batch;
	} modes[] = { { 1, 1 }, { 64, 1 }, { 1, 100 }, { 4, 100 } };
	enum { COUNT = 1000 };
	struct bed *bed = *state;
	char *text = malloc(COUNT * 96);

	load(bed, "l3_lpm");
	for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
		struct p4rt_record *records = calloc(COUNT, sizeof(*records));
		struct p4rt_write write = {
			.count = COUNT, .window = modes[m].window, .batch = modes[m].batch, .records = records
		};
		struct p4rt_updates updates = { 0 };
		struct p4rt_entries *entries;
		size_t n = 0, failed;
		struct err err;

		for (unsigned i = 0; i < COUNT; i++)
			n += (size_t)sprintf(text + n,
					     "table=routes destination=%zu.0.%u.%u action=next_hop mac=%u port=%u\n",
					     m + 10, i >> 8, i & 255, i, i % 512);
		entries = entries_of(bed, text);
		assert_int_equal(p4rt_entries_encode(entries, &updates), 0);
		write.updates = &updates;
		must(p4rt_write(bed->client, &write, 0, &failed, &err), err);
		assert_int_equal(failed, 0);
		for (size_t i = 0; i < COUNT; i++)
			assert_true(records[i].answered_ns > records[i].sent_ns && records[i].status == 0);
		{
			struct p4rt_difference d;

			must(p4rt_compare(bed->client, bed->info, entries, 0, &d, &err), err);
			assert_int_equal(d.missing + d.different, 0);
			assert_int_equal(d.found, COUNT * (m + 1));
		}
		p4rt_entries_destroy(entries);
		p4rt_updates_release(&updates);
		free(records);
	}
	free(text);
}

/* The ACL has room for 1024: of 1030 in batches, six fail, and which is known. */
static void test_full(void **state)
{
	enum { COUNT = 1030 };
	struct bed *bed = *state;
	char *text = malloc(COUNT * 96);
	struct p4rt_record *records = calloc(COUNT, sizeof(*records));
	struct p4rt_updates updates = { 0 };
	struct p4rt_write write = { .updates = &updates, .count = COUNT, .batch = 50, .records = records };
	struct p4rt_entries *entries;
	size_t n = 0, failed;
	struct err err;

	load(bed, "l3_lpm_acl");
	for (unsigned i = 0; i < COUNT; i++)
		n += (size_t)sprintf(text + n, "table=acl ipv4.source=10.0.%u.%u action=drop priority=%u\n", i >> 8,
				     i & 255, i + 1);
	entries = entries_of(bed, text);
	assert_int_equal(p4rt_entries_encode(entries, &updates), 0);
	must(p4rt_write(bed->client, &write, 0, &failed, &err), err);
	assert_int_equal(failed, 6);
	for (size_t i = 0; i < COUNT; i++) {
		/* BMv2 says UNKNOWN */
		if (i < 1024 || ours)
			assert_int_equal(records[i].status, i < 1024 ? GRPC_OK : GRPC_RESOURCE_EXHAUSTED);
		else
			assert_int_not_equal(records[i].status, GRPC_OK);
		assert_false(records[i].shared);
	}
	p4rt_entries_destroy(entries);
	p4rt_updates_release(&updates);
	free(records);
	free(text);
}

static void test_mastership(void **state)
{
	struct bed *bed = *state;
	struct p4rt_client_config config = bed->config;
	struct p4rt_client *second = NULL;
	struct p4rt_entries *entries;
	struct err err;

	load(bed, "l3_lpm");
	config.election_low = 5;
	assert_int_equal(p4rt_connect(bed->loop, &config, 0, &second, &err), -EBUSY);
	assert_non_null(strstr(err.message, "another client is primary, election id 0:10"));
	config.election_low = 11;
	must(p4rt_connect(bed->loop, &config, 0, &second, &err), err);
	while (p4rt_client_state(bed->client) == P4RT_PRIMARY)
		loop_turn(bed->loop, -1);
	assert_int_equal(p4rt_client_state(bed->client), P4RT_BACKUP);
	entries = entries_of(bed, "table=routes destination=10.0.0.0/24 action=next_hop mac=2 port=2\n");
	assert_true(p4rt_program(bed->client, entries, 0, &err) < 0);
	assert_non_null(strstr(err.message, "PERMISSION_DENIED"));
	must(p4rt_program(second, entries, 0, &err), err);
	p4rt_client_destroy(second);
	p4rt_entries_destroy(entries);
	if (!ours)
		return; /* BMv2 takes any device id */
	config.device_id = 77;
	assert_true(p4rt_connect(bed->loop, &config, 0, &second, &err) < 0);
	assert_non_null(strstr(err.message, "refused the arbitration: "));
}

static void test_loss(void **state)
{
	struct bed *bed = *state;
	struct p4rt_entries *entries;
	struct err err;

	load(bed, "l3_lpm");
	entries = entries_of(bed, "table=routes destination=10.0.0.0/24 action=next_hop mac=2 port=2\n");
	switch_child_kill(&bed->child);
	assert_true(p4rt_program(bed->client, entries, 0, &err) < 0);
	assert_non_null(strstr(err.message, "UNAVAILABLE: connection to 127.0.0.1:"));
	assert_int_equal(p4rt_client_losses(bed->client), 1);
	p4rt_entries_destroy(entries);
}

static bool is_there(const char *path)
{
	char command[512];

	snprintf(command, sizeof(command), "command -v '%s' >/dev/null", path);
	return system(command) == 0;
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_pipeline), TEST(test_entries),    TEST(test_single), TEST(test_modes),
		TEST(test_full),     TEST(test_mastership), TEST(test_loss),
	};

	static char path[512];

	if (argc < 3)
		return 2;
	switch_path = argv[1];
	ours = strchr(argv[1], '/') != NULL;
	if (!ours && getenv("BMV2")) {
		snprintf(path, sizeof(path), "%s/%s", getenv("BMV2"), argv[1]);
		switch_path = path;
	}
	programs = argv[2];
	if (!is_there(switch_path)) {
		puts("SKIP: no BMv2 here");
		return 77;
	}
	return cmocka_run_group_tests_name("p4rt_peer", tests, NULL, NULL);
}
