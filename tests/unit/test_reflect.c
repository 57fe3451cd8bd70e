/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/memory.h"
#include "packet/frame.h"
#include "probe/reflect_run.h"

/* Marks of reflected copies, and the reflector on memory rings. */

enum { AT = 42, LENGTH = 80, TAG = 0x1234 };

static uint32_t sum_of(const uint8_t *at)
{
	uint32_t sum = 0;

	for (int i = 0; i < ID_NATIVE_BYTES; i += 2)
		sum += load_be16(at + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static void native_marks(void **state)
{
	uint8_t frame[LENGTH] = { 0 };
	struct reflected_id id;
	struct id_reader reader;
	uint16_t hint = 0;
	uint32_t read = 0;

	(void)state;
	for (uint32_t seq = 0; seq < 100000; seq += 977) {
		id_native_write(frame + AT, seq, TAG);
		assert_int_equal(reflected_mark(ID_NATIVE, &hint, frame, LENGTH, seq & 1 ? 'P' : 'B', &read), ID_OK);
		assert_int_equal(read, seq);
		assert_int_equal(hint, AT);
		/* no checksum over it changes */
		assert_int_equal(sum_of(frame + AT), 0xffff);
		assert_int_equal(reflected_find(ID_NATIVE, frame, LENGTH, &id), ID_OK);
		assert_true(id.id == seq && id.tag == TAG && id.copy == (seq & 1 ? 'P' : 'B'));
		/* a receiver of probes does not take it for one */
		id_reader_init(&reader, ID_NATIVE, TAG);
		assert_int_not_equal(id_read(&reader, frame, LENGTH, &read), ID_OK);
	}
	id_native_write(frame + AT, 5, TAG | ID_TAG_WARM_UP);
	assert_int_equal(reflected_mark(ID_NATIVE, &hint, frame, LENGTH, 'P', &read), ID_WARM_UP);
	assert_int_equal(reflected_find(ID_NATIVE, frame, LENGTH, &id), ID_WARM_UP);
	frame[AT + 5] ^= 1;
	assert_int_equal(reflected_find(ID_NATIVE, frame, LENGTH, &id), ID_UNREADABLE);
	memset(frame, 0, sizeof(frame));
	assert_int_equal(reflected_mark(ID_NATIVE, &hint, frame, LENGTH, 'P', &read), ID_NOT_A_PROBE);
	assert_int_equal(reflected_find(ID_NATIVE, frame, 3, &id), ID_NOT_A_PROBE);
}

static void oct_marks(void **state)
{
	uint8_t frame[LENGTH];
	struct reflected_id id;
	uint16_t hint = 0;
	uint32_t read = 0;

	(void)state;
	memset(frame, ' ', sizeof(frame));
	frame[AT + oct_write(frame + AT, 214)] = '\n';
	assert_int_equal(reflected_find(ID_OCT, frame, LENGTH, &id), ID_NOT_A_PROBE); /* as sent */
	assert_int_equal(reflected_mark(ID_OCT, &hint, frame, LENGTH, 'B', &read), ID_OK);
	assert_int_equal(read, 214);
	assert_memory_equal(frame + AT, "Bct-fpga-id:214\n", 16);
	assert_int_equal(reflected_find(ID_OCT, frame, LENGTH, &id), ID_OK);
	assert_true(id.id == 214 && id.copy == 'B');
	frame[AT + 12] = 'x';
	assert_int_equal(reflected_find(ID_OCT, frame, LENGTH, &id), ID_UNREADABLE);
	assert_false(reflected_format(ID_INSTRUMENT));
}

/* --- a run on rings --- */

enum { PROBES = 200 };

struct bed {
	struct io_cable path, bypass, out;
	struct tsc tsc;
	atomic_bool interrupted;
	struct reflect_run run;
	struct reflect_setup setup;
};

static struct bed bed;

static void bed_open(uint32_t slots)
{
	struct err err;

	memset(&bed, 0, sizeof(bed));
	assert_int_equal(memory_cable_open(1024, 256, &bed.path, &err), 0);
	assert_int_equal(memory_cable_open(1024, 256, &bed.bypass, &err), 0);
	assert_int_equal(memory_cable_open(slots, 256, &bed.out, &err), 0);
	bed.tsc = (struct tsc){ .hz = 1e9 };
	bed.setup = (struct reflect_setup){
		.path = bed.path.receive_end,
		.bypass = bed.bypass.receive_end,
		.out = bed.out.send_end,
		.format = ID_NATIVE,
		.ids = PROBES,
		.idle_ns = 10000000,
		.tsc = &bed.tsc,
		.interrupted = &bed.interrupted,
	};
	assert_int_equal(reflect_run_init(&bed.run, &bed.setup, &err), 0);
}

static void bed_close(void)
{
	struct io_cable *const cables[] = { &bed.path, &bed.bypass, &bed.out };

	reflect_run_release(&bed.run);
	for (int i = 0; i < 3; i++) {
		cables[i]->send_end->ops->close(cables[i]->send_end);
		cables[i]->receive_end->ops->close(cables[i]->receive_end);
	}
}

static void put(struct io_port *port, uint32_t seq, bool id)
{
	struct io_frame f;

	assert_int_equal(io_reserve(port, &f, 1, LENGTH), 1);
	memset(f.data, 0, LENGTH);
	if (id)
		id_native_write(f.data + AT, seq, TAG);
	assert_int_equal(io_send(port, &f, 1), 1);
}

static unsigned came_back(unsigned *ret_path, unsigned *ret_bypass, const uint8_t *mac)
{
	struct io_frame f[32];
	unsigned n, total = 0;

	*ret_path = *ret_bypass = 0;
	while ((n = io_receive(bed.out.receive_end, f, 32)) > 0) {
		for (unsigned i = 0; i < n; i++) {
			struct reflected_id id;

			assert_int_equal(f[i].length_bytes, LENGTH);
			assert_int_equal(reflected_find(ID_NATIVE, f[i].data, LENGTH, &id), ID_OK);
			assert_true(id.id < PROBES && id.tag == TAG);
			if (mac)
				assert_memory_equal(f[i].data, mac, 6);
			++*(id.copy == 'P' ? ret_path : ret_bypass);
		}
		io_release(bed.out.receive_end, f, n);
		total += n;
	}
	return total;
}

static void both_copies_go_back(void **state)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };
	unsigned path, bypass;
	char file[] = "/tmp/tare-reflect-XXXXXX", line[128];
	FILE *f;

	(void)state;
	bed_open(1024);
	bed.setup.destination_mac = mac;
	for (uint32_t i = 0; i < PROBES; i++) {
		put(bed.bypass.send_end, i, true);
		if (i % 10) /* a tenth is lost on the path */
			put(bed.path.send_end, i, true);
	}
	put(bed.path.send_end, 7, true); /* once more */
	put(bed.path.send_end, 0, false);
	bed.run.ids = PROBES - 1; /* the last does not fit */
	assert_int_equal(reflect_run_once(&bed.run, &bed.setup, NULL), 0);
	assert_int_equal(reflect_run_pairs(&bed.run), PROBES * 9 / 10 - 1);
	assert_int_equal(bed.run.of[0].returned, PROBES * 9 / 10 + 1);
	assert_int_equal(bed.run.of[0].duplicates, 1);
	assert_int_equal(bed.run.of[0].unmarked, 1);
	assert_int_equal(bed.run.of[1].returned, PROBES);
	assert_int_equal(bed.run.of[1].beyond, 1);
	assert_int_equal(came_back(&path, &bypass, mac), PROBES * 19 / 10 + 1);
	assert_int_equal(bypass, PROBES);
	close(mkstemp(file));
	assert_int_equal(reflect_run_write(&bed.run, &bed.tsc, file, NULL), 0);
	f = fopen(file, "re");
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line,
			    "pkt_id,tx_ts_ns,rx1_ts_ns,rx2_ts_ns,latency_rx1_ns,latency_rx2_ns,diff_latency_ns\n");
	assert_non_null(fgets(line, sizeof(line), f));
	assert_int_equal(atoi(line), 1); /* 0 has no path copy */
	fclose(f);
	unlink(file);
	bed_close();
}

static void a_full_port_is_counted(void **state)
{
	unsigned path, bypass;

	(void)state;
	bed_open(16);
	for (uint32_t i = 0; i < PROBES; i++)
		put(bed.path.send_end, i, true);
	assert_int_equal(reflect_run_once(&bed.run, &bed.setup, NULL), 0);
	assert_int_equal(bed.run.of[0].returned, 16);
	assert_int_equal(bed.run.of[0].refused, PROBES - 16);
	/* stamped all the same */
	assert_int_equal(bed.run.of[0].first, PROBES);
	assert_int_equal(came_back(&path, &bypass, NULL), 16);
	assert_int_equal(path, 16);
	bed_close();
}

static void interrupted(void **state)
{
	(void)state;
	bed_open(16);
	atomic_store(&bed.interrupted, true);
	assert_int_equal(reflect_run_once(&bed.run, &bed.setup, NULL), -EINTR);
	bed_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(native_marks),        cmocka_unit_test(oct_marks),
		cmocka_unit_test(both_copies_go_back), cmocka_unit_test(a_full_port_is_counted),
		cmocka_unit_test(interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
