/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "p4rt/blocking.h"
#include "p4rt/file.h"
#include "switch_bed.h"
#include "netns.h"

/* A controller, the switch and its ports: what is written acts on frames; packets go to the controller and from it. */

enum { DEVICE = 7, TURN_NS = 100000000, FILE_MOST = 1 << 20 };

#define WAIT_NS INT64_C(5000000000)

struct controller {
	struct loop *loop;
	struct p4rt_client *client;
	struct p4info *info;
	unsigned packets;
	uint8_t payload[2048];
	size_t payload_bytes;
	uint64_t port;
};

static void take_packet(struct p4rt_client *client, const struct p4rt_packet *packet)
{
	struct controller *c = p4rt_client_user(client);

	c->packets++;
	c->payload_bytes = packet->payload.length;
	memcpy(c->payload, packet->payload.data, packet->payload.length);
	c->port = packet->metadata_count ? packet->metadata[0].value.data[packet->metadata[0].value.length - 1] : 0;
}

static void must(int rc, const struct err *err)
{
	if (rc < 0)
		fail_msg("%s", err->message);
}

/* Where the switch says that it serves, with the port it was given. */
static const char *address(void)
{
	static char text[64];
	const char *at;

	bed_wait_log("P4Runtime at ", 1);
	at = strstr(bed.log, "P4Runtime at ") + strlen("P4Runtime at ");
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(at, ","), at);
	return text;
}

static void connect_controller(struct controller *c)
{
	struct p4rt_client_config config = {
		.address = address(), .device_id = DEVICE, .packet_in = take_packet, .user = c
	};
	struct err err = { 0 };

	memset(c, 0, sizeof(*c));
	must(loop_create(&c->loop, &err), &err);
	must(p4rt_connect(c->loop, &config, WAIT_NS, &c->client, &err), &err);
}

static void set_pipeline(struct controller *c)
{
	struct err err = { 0 };
	char path[512], *json;
	size_t length;

	snprintf(path, sizeof(path), "%s.p4info.txtpb", getenv("CONTROL"));
	must(p4info_read(path, &c->info, &err), &err);
	snprintf(path, sizeof(path), "%s.json", getenv("CONTROL"));
	must(file_read(path, FILE_MOST, &json, &length, &err), &err);
	must(p4rt_set_pipeline(c->client, c->info, json, length, WAIT_NS, &err), &err);
	free(json);
}

static void program(struct controller *c, const char *lines)
{
	struct p4rt_entries *entries;
	struct err err = { 0 };

	must(p4rt_entries_parse(c->info, lines, strlen(lines), "test", &entries, &err), &err);
	must(p4rt_program(c->client, entries, WAIT_NS, &err), &err);
	p4rt_entries_destroy(entries);
}

static void disconnect(struct controller *c)
{
	p4rt_client_destroy(c->client);
	p4info_destroy(c->info);
	loop_destroy(c->loop);
}

static void start(struct controller *c)
{
	const char *args[] = { "-i", "1@sw1", "-i",         "2@sw2", "--no-p4", "--device-id",
			       "7",  "--",    "--cpu-port", "510",   NULL };

	bed_start(args);
	bed_wait_log("] port ", 2);
	connect_controller(c);
	set_pipeline(c);
}

static const uint8_t to_host[] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00 };

static void entries_act_once_they_are_answered(void **state)
{
	struct controller c;
	uint8_t got[2048];
	uint32_t length;

	(void)state;
	start(&c);
	program(&c, "table=acl ethernet.source=02:00:00:00:00:02&&&0xffffffffffff action=metered port=2 priority=5\n");
	bed_send(bed.h1, to_host, sizeof(to_host));
	assert_true(bed_receive(bed.h2, got, &length, WAIT_MS));
	assert_int_equal(length, FRAME);
	assert_memory_equal(got, to_host, sizeof(to_host));
	program(&c, "op=modify table=acl ethernet.source=02:00:00:00:00:02&&&0xffffffffffff action=metered port=1 "
		    "priority=5\n");
	bed_send(bed.h1, to_host, sizeof(to_host));
	assert_true(bed_receive(bed.h1, got, &length, WAIT_MS));
	program(&c, "op=delete table=acl ethernet.source=02:00:00:00:00:02&&&0xffffffffffff priority=5\n");
	disconnect(&c);
	assert_int_equal(bed_stop(), 0);
}

static void packets_reach_the_controller(void **state)
{
	struct controller c;

	(void)state;
	start(&c);
	program(&c,
		"table=acl ethernet.source=02:00:00:00:00:02&&&0xffffffffffff action=metered port=510 priority=5\n");
	bed_send(bed.h2, to_host, sizeof(to_host));
	for (int turns = 0; turns < 100 && !c.packets; turns++)
		loop_turn(c.loop, TURN_NS);
	assert_int_equal(c.packets, 1);
	assert_int_equal(c.port, 2);
	assert_int_equal(c.payload_bytes, FRAME);
	assert_memory_equal(c.payload, to_host, sizeof(to_host));
	disconnect(&c);
}

static void packets_of_the_controller_leave_by_a_port(void **state)
{
	const struct p4rt_metadata metadata[] = {
		{ 1, { .data = (const uint8_t *)"\x02", .length = 1 } },
		{ 2, { .data = (const uint8_t *)"\x00", .length = 1 } },
	};
	struct p4rt_packet packet = { .payload = { .data = to_host, .length = sizeof(to_host) },
				      .metadata = metadata,
				      .metadata_count = 2 };
	struct controller c;
	uint8_t got[2048];
	uint32_t length;

	(void)state;
	start(&c);
	assert_int_equal(p4rt_client_packet_out(c.client, &packet), 0);
	loop_turn(c.loop, 0);
	assert_true(bed_receive(bed.h2, got, &length, WAIT_MS));
	assert_true(length >= sizeof(to_host));
	assert_memory_equal(got, to_host, sizeof(to_host));
	disconnect(&c);
}

static void a_pipeline_set_again_starts_empty_and_forwards(void **state)
{
	struct controller c;
	uint8_t got[2048];
	uint32_t length;

	(void)state;
	start(&c);
	for (int round = 0; round < 5; round++) {
		program(&c, "table=acl ethernet.source=02:00:00:00:00:02&&&0xffffffffffff action=metered port=2 "
			    "priority=5\n");
		bed_send(bed.h1, to_host, sizeof(to_host));
		assert_true(bed_receive(bed.h2, got, &length, WAIT_MS));
		p4info_destroy(c.info);
		set_pipeline(&c);
	}
	disconnect(&c);
	assert_int_equal(bed_stop(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(entries_act_once_they_are_answered, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(packets_reach_the_controller, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(packets_of_the_controller_leave_by_a_port, bed_setup, bed_teardown),
		cmocka_unit_test_setup_teardown(a_pipeline_set_again_starts_empty_and_forwards, bed_setup,
						bed_teardown),
	};

	netns_enter();
	netns_run("ip link set lo up");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
