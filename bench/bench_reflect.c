/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/memory.h"
#include "probe/cores.h"
#include "probe/protect.h"
#include "probe/reflect_run.h"
#include "say.h"

/*
 * The reflector on memory rings: one core sends both copies of each probe on an absolute schedule and takes back what is
 * returned, the other reflects. A copy that finds its ring full is lost, as at an adapter.
 */
enum { PROBES = 500000, PPS = 500000, SLOTS = 65536, FRAME = 256, AT = 42, REPEATS = 5, TAG = 7, BURST = 32 };

struct bed {
	struct io_cable path, bypass, out;
	struct tsc tsc;
	struct protection protection;
	struct cores cores;
	atomic_bool interrupted;
	struct reflect_run run;
	uint64_t full, came[2], wrong; /* copies without room; copies that came back; and not as they should */
	double seconds;
};

static void pin(int32_t cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
}

static void *reflect(void *context)
{
	struct bed *b = context;
	const struct reflect_setup setup = {
		.path = b->path.receive_end,
		.bypass = b->bypass.receive_end,
		.out = b->out.send_end,
		.format = ID_NATIVE,
		.ids = PROBES,
		.idle_ns = 300000000,
		.tsc = &b->tsc,
		.interrupted = &b->interrupted,
	};

	pin(b->cores.path);
	protect_thread(&b->protection);
	reflect_run_once(&b->run, &setup, NULL);
	return NULL;
}

static void send_copy(struct bed *b, struct io_port *port, uint32_t probe)
{
	struct io_frame f;

	if (io_reserve(port, &f, 1, FRAME) == 0) {
		b->full++;
		return;
	}
	id_native_write(f.data + AT, probe, TAG);
	io_send(port, &f, 1);
}

static unsigned take_back(struct bed *b)
{
	struct io_frame frames[BURST];
	unsigned n = io_receive(b->out.receive_end, frames, BURST);

	for (unsigned i = 0; i < n; i++) {
		const uint8_t *at = frames[i].data + AT;
		bool path = at[3] == REFLECTED_PATH;

		b->came[!path]++;
		b->wrong += memcmp(at, path ? "TARP" : "TARB", 4) != 0 || load_be32(at + 4) >= PROBES;
	}
	io_release(b->out.receive_end, frames, n);
	return n;
}

static void *drive(void *context)
{
	struct bed *b = context;
	uint64_t start, last, gap = (uint64_t)tsc_from_ns(&b->tsc, 2e9 / PPS);

	pin(b->cores.send);
	protect_thread(&b->protection);
	start = tsc_now() + gap * 100;
	for (uint32_t i = 0; i < PROBES;) {
		if ((int64_t)(tsc_now() - (start + i * gap)) >= 0) {
			send_copy(b, b->bypass.send_end, i);
			send_copy(b, b->path.send_end, i);
			i++;
		}
		take_back(b);
	}
	last = tsc_now();
	b->seconds = tsc_to_ns(&b->tsc, (int64_t)(last - start)) * 1e-9;
	while (tsc_to_ns(&b->tsc, (int64_t)(tsc_now() - last)) < 100e6)
		if (take_back(b))
			last = tsc_now();
	return NULL;
}

static int repeat(struct bed *b)
{
	pthread_t threads[2];

	b->full = b->came[0] = b->came[1] = b->wrong = 0;
	protect_begin(&b->protection, PROTECT_FIFO);
	if (pthread_create(&threads[0], NULL, reflect, b) || pthread_create(&threads[1], NULL, drive, b))
		return -1;
	pthread_join(threads[1], NULL);
	pthread_join(threads[0], NULL);
	protect_end(&b->protection);
	return b->wrong ? -1 : 0;
}

static int bed_open(struct bed *b, struct err *err)
{
	const struct reflect_setup setup = { .ids = PROBES };
	int r = tsc_calibrate(&b->tsc, 200000000, true, err);

	if (r == 0)
		r = cores_choose(2, &b->cores, err);
	if (r == 0)
		r = memory_cable_open(SLOTS, FRAME, &b->path, err);
	if (r == 0)
		r = memory_cable_open(SLOTS, FRAME, &b->bypass, err);
	if (r == 0)
		r = memory_cable_open(SLOTS, FRAME, &b->out, err);
	return r == 0 ? reflect_run_init(&b->run, &setup, err) : r;
}

int main(void)
{
	static struct bed b;
	double cycles[REPEATS], pps[REPEATS];
	uint64_t lost = 0, worst = 0;
	char how[256];
	struct err err = { 0 };

	if (bed_open(&b, &err) < 0) {
		fprintf(stderr, "bench_reflect: %s\n", err.message);
		return 1;
	}
	for (int i = 0; i < REPEATS; i++) {
		uint64_t came, missing;

		if (repeat(&b) < 0) {
			fprintf(stderr, "bench_reflect: %llu copies came back wrong\n", (unsigned long long)b.wrong);
			return 1;
		}
		came = b.came[0] + b.came[1];
		missing = 2 * (uint64_t)PROBES - came;
		lost += missing;
		worst = missing > worst ? missing : worst;
		cycles[i] = (double)b.run.busy_ticks / (double)came;
		pps[i] = (double)came / b.seconds;
	}
	snprintf(how, sizeof(how),
		 "TSC cycles a packet, from its burst's stamp until it was returned and its slot given back; %d B "
		 "frames, "
		 "memory rings, median of runs",
		 FRAME);
	say("reflect_cycles", median(cycles, REPEATS), "cycles", REPEATS, how);
	snprintf(how, sizeof(how),
		 "came back, of %d a second sent on memory rings for 2 s; lost in all runs: %llu of %llu, most in one: "
		 "%llu",
		 PPS, (unsigned long long)lost, 2ULL * PROBES * REPEATS, (unsigned long long)worst);
	say("reflect_pps", median(pps, REPEATS), "packets/s", REPEATS, how);
	return 0;
}
