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

#include "io/dpdk.h"
#include "packet/stream.h"
#include "probe/differential.h"
#include "target/card.h"

static void frame_write(uint64_t n, struct io_frame *f, uint32_t longest)
{
	f->length_bytes = 60 + (uint32_t)(n * 7919 % (longest - 59));
	memset(f->data, (int)(n * 31 + 7), f->length_bytes);
	memcpy(f->data, &n, sizeof(n));
}

static void frame_check(uint64_t n, const struct io_frame *f, uint32_t longest)
{
	uint64_t found;

	memcpy(&found, f->data, sizeof(found));
	assert_int_equal(found, n);
	assert_int_equal(f->length_bytes, 60 + (uint32_t)(n * 7919 % (longest - 59)));
	for (uint32_t i = sizeof(n); i < f->length_bytes; i++)
		assert_int_equal(f->data[i], (uint8_t)(n * 31 + 7));
}

static void cable_close(struct io_cable *c)
{
	c->receive_end->ops->close(c->receive_end);
	c->send_end->ops->close(c->send_end);
}

static void frames_come_out_as_they_went_in(void **state)
{
	static const uint32_t longest[] = { 64, 1514, 9018 };

	(void)state;
	for (unsigned k = 0; k < 3; k++) {
		struct io_cable c;
		struct io_frame f[40];
		struct io_counters counters;
		struct err err = { 0 };
		uint64_t sent = 0, received = 0;

		assert_int_equal(dpdk_cable_open(64, longest[k], &c, &err), 0);
		assert_int_equal(io_reserve(c.send_end, f, 1, longest[k] + 1), 0);
		while (received < 1000) {
			unsigned n = io_reserve(c.send_end, f, 40, longest[k]);

			for (unsigned i = 0; i < n; i++)
				frame_write(sent + i, &f[i], longest[k]);
			assert_int_equal(io_send(c.send_end, f, n), n);
			sent += n;
			n = io_receive(c.receive_end, f, 33);
			for (unsigned i = 0; i < n; i++)
				frame_check(received + i, &f[i], longest[k]);
			io_release(c.receive_end, f, n);
			received += n;
		}
		c.receive_end->ops->counters(c.receive_end, &counters);
		assert_int_equal(counters.received, received);
		c.send_end->ops->counters(c.send_end, &counters);
		assert_int_equal(counters.sent, sent);
		assert_int_equal(counters.tx_dropped, 0);
		cable_close(&c);
	}
}

/* Frames are lent and come back: after thousands the pool is as full as before. */
static void no_frame_is_lost_from_the_pool(void **state)
{
	struct io_cable c;
	struct io_frame f[64];
	struct err err = { 0 };

	(void)state;
	assert_int_equal(dpdk_cable_open(32, 100, &c, &err), 0);
	for (int lap = 0; lap < 500; lap++) {
		assert_int_equal(io_reserve(c.send_end, f, 64, 100), 31); /* an rte_ring holds one less than its size */
		assert_int_equal(io_reserve(c.send_end, f + 31, 1, 100), 0);
		c.send_end->ops->abandon(c.send_end, f + 20, 11);
		assert_int_equal(io_send(c.send_end, f, 20), 20);
		assert_int_equal(io_receive(c.receive_end, f, 64), 20);
		assert_int_equal(io_receive(c.receive_end, f + 20, 1), 0);
		io_release(c.receive_end, f, 20);
	}
	cable_close(&c);
}

static void a_virtual_device_is_made_and_removed(void **state)
{
	struct io_port *port;
	struct io_frame f[8];
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(dpdk_port_open("net_null7,size=100", 1514, &port, &err), 0);
		/* This driver delivers empty frames without end, and takes all. */
		assert_int_equal(io_receive(port, f, 8), 8);
		assert_int_equal(f[0].length_bytes, 100);
		io_release(port, f, 8);
		assert_int_equal(io_reserve(port, f, 8, 100), 8);
		assert_int_equal(io_send(port, f, 8), 8);
		port->ops->close(port);
	}
	assert_true(dpdk_port_open("net_nonesuch0", 1514, &port, &err) < 0);
	assert_int_equal(err.kind, ERR_HOST);
	assert_non_null(strstr(err.message, "net_nonesuch0"));
	assert_true(dpdk_port_open(",iface=x", 1514, &port, &err) < 0);
	assert_int_equal(err.kind, ERR_USAGE);
}

/* A whole run over three DPDK ports, in one loop: the account is the card's, to the frame. */
static void the_card_runs_on_dpdk(void **state)
{
	enum { PROBES = 2000 };
	struct stream_spec spec = { .count = PROBES, .format = ID_NATIVE, .rate_mpps = 20000000, .flows = 4 };
	static const char *const given[] = { "io", "dpdk", "loss", "2%", "duplicates", "2%", "unreadable", "2%" };
	struct differential_config config;
	struct pair *pairs = calloc(PROBES, sizeof(*pairs));
	struct card_account account;
	struct run_record record;
	struct settings settings;
	struct stream *stream;
	struct target *card;
	struct arena arena;
	struct err err = { 0 };
	struct tsc tsc;
	uint64_t lost = 0, unparsed = 0;

	(void)state;
	assert_non_null(pairs);
	assert_int_equal(tsc_calibrate(&tsc, 20000000, true, &err), 0);
	frame_template_default(&spec.frame, FRAME_KIND_UDP4, 200);
	assert_int_equal(stream_create(&spec, &stream, &err), 0);
	arena_init(&arena, 0);
	assert_int_equal(settings_init(&settings, target_card.settings, &arena), 0);
	for (unsigned i = 0; i < 8; i += 2)
		assert_int_equal(settings_set(&settings, given[i], given[i + 1], &err), 0);
	assert_int_equal(target_card.open(&(struct target_setup){ .settings = &settings,
								  .program = "149ns",
								  .seed = 5,
								  .frame_bytes = stream->longest_bytes,
								  .probe_count = PROBES },
					  &card, &err),
			 0);
	differential_config_init(&config);
	config.target = card;
	config.stream = stream;
	config.tsc = &tsc;
	config.cores = 1;
	for (config.run = 0; config.run < 2; config.run++) {
		assert_int_equal(differential_run(&config, pairs, PROBES, &record, &err), 0);
		assert_string_equal(record.invalid, "");
		card_injected(card, &account);
		assert_int_equal(account.refused, 0);
		assert_int_equal(record.ledger.arrived, account.emitted_path + account.emitted_bypass);
		lost = unparsed = 0;
		for (uint32_t i = 0; i < PROBES; i++) {
			unsigned f = card_faults(card, i) | card_faults(card, i) >> 8;

			lost += (f & CARD_LOST) != 0;
			unparsed += !(f & CARD_LOST) && f & CARD_UNREADABLE;
		}
		assert_true(lost > 0 && unparsed > 0);
		assert_int_equal(record.ledger.fate[FATE_LOST], lost);
		assert_int_equal(record.ledger.fate[FATE_UNPARSED], unparsed);
		assert_int_equal(record.ledger.fate[FATE_MATCHED], PROBES - lost - unparsed);
	}
	card->ops->close(card);
	arena_release(&arena);
	stream_destroy(stream);
	free(pairs);
}

/* A port whose driver stamps: a capture played by DPDK's net_pcap, whose stamps are the capture's times. */
static void adapter_stamps_come_with_frames(void **state)
{
	struct stream_spec spec = { .count = 50, .format = ID_NATIVE, .rate_mpps = 40000000, .flows = 1 };
	const int64_t start_ns = INT64_C(1760000000123456000);
	char path[] = "/tmp/tare-test-XXXXXX", device[128];
	struct stream *stream = NULL;
	struct io_port *port = NULL;
	struct io_frame f[8];
	struct err err = { 0 };
	unsigned got = 0;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	frame_template_default(&spec.frame, FRAME_KIND_UDP4, 100);
	assert_int_equal(stream_create(&spec, &stream, &err), 0);
	assert_int_equal(stream_write_pcap(stream, 1, start_ns, path, &err), 0);
	snprintf(device, sizeof(device), "net_pcap7,rx_pcap=%s", path);
	if (dpdk_port_open(device, 1518, &port, &err) < 0)
		fail_msg("%s", err.message);
	assert_true(port->ops->flags & IO_STAMPS);
	for (unsigned tries = 0; got < 50 && tries < 10000; tries++) {
		unsigned n = io_receive(port, f, 8);

		for (unsigned i = 0; i < n; i++, got++)
			assert_int_equal(f[i].stamp_ns, start_ns + (int64_t)got * 25000);
		io_release(port, f, n);
	}
	assert_int_equal(got, 50);
	port->ops->close(port);
	stream_destroy(stream);
	unlink(path);
}

static void pci_device_that_is_not_there(void **state)
{
	struct io_port *port = NULL;
	struct err err = { 0 };

	(void)state;
	assert_true(dpdk_port_open("0000:fe:1e.7", 1518, &port, &err) < 0);
	assert_non_null(strstr(err.message, "DPDK cannot use PCI device '0000:fe:1e.7': "));
	assert_non_null(strstr(err.message, "vfio-pci"));
	assert_true(dpdk_port_open("no_such_driver0", 1518, &port, &err) < 0);
	assert_non_null(strstr(err.message, "no_such_driver0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adapter_stamps_come_with_frames),
		cmocka_unit_test(pci_device_that_is_not_there),
		cmocka_unit_test(frames_come_out_as_they_went_in),
		cmocka_unit_test(no_frame_is_lost_from_the_pool),
		cmocka_unit_test(a_virtual_device_is_made_and_removed),
		cmocka_unit_test(the_card_runs_on_dpdk),
	};
	struct io_cable cable;
	struct err err = { 0 };

	if (dpdk_cable_open(8, 64, &cable, &err) < 0 && strstr(err.message, "built without DPDK")) {
		print_message("built without DPDK\n");
		return 77;
	}
	cable_close(&cable);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
