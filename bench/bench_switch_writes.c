/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What writing tables costs forwarding: l3_lpm between memory ports in a thread of
 * its own, the switch's P4Runtime server in another, a client process that writes
 * batches at full speed, or rests; the two in turns. The data plane has one CPU
 * for itself, the others share the rest. Each frame must leave, as an entry that was
 * written as a whole says.
 *
 * usage: bench_switch_writes [--turns N]
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control/control.h"
#include "exec/v1model.h"
#include "p4rt/blocking.h"
#include "p4rt/file.h"
#include "say.h"
#include "switch_frames.h"

enum {
	FRAMES = 1024,
	FRAME_BYTES = 60,
	BURST = 32,
	PORT = 2,
	ROUTES = 20000, /* of 32 bits; the first FRAMES of them are where the frames go */
	JOB = 5000,
	TURNS = 15,
	TURNS_MOST = 256,
	TURN_NS = 200000000,
	SECOND_NS = 1000000000,
	FILE_MOST = 1 << 20,
};

static const uint32_t prefix = 0x0a000000;
static const uint64_t mac_of_all = 0x02000000ffff, mac_of_one = 0x020100000000;

static void die(const char *what)
{
	fprintf(stderr, "bench_switch_writes: %s\n", what);
	exit(1);
}

static void must(int rc, const struct err *err)
{
	if (rc < 0)
		die(err->message);
}

/* --- CPUs: the last for the data plane --- */

static cpu_set_t allowed;

static void pin(bool data_plane)
{
	cpu_set_t own;
	int last = 0;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			last = cpu;
	CPU_ZERO(&own);
	CPU_SET(last, &own);
	if (!data_plane)
		CPU_XOR(&own, &own, &allowed);
	if (sched_setaffinity(0, sizeof(own), &own) < 0)
		die("sched_setaffinity");
}

/* --- the client: a process --- */

enum word { READY = 'r', WRITE = 'w', REST = 's', RESTS = 'i' };

struct client {
	struct p4rt_client *p4rt;
	struct p4info *info;
	struct p4rt_record *records;
	struct p4rt_updates inserts, deletes;
};

static void add(struct client *c, struct p4rt_updates *updates, int kind, uint32_t address, int32_t bits, uint64_t mac)
{
	const struct p4info_table *table = p4info_table(c->info, "routes", NULL);
	const struct p4info_action *action = p4info_table_action(table, "next_hop", NULL);
	uint8_t key[8], mac_bytes[8], port[8];
	struct p4rt_match match = { .value = p4rt_number(address, key), .prefix_bits = bits };
	struct p4rt_bytes params[2] = { p4rt_number(mac, mac_bytes), p4rt_number(PORT, port) };
	struct p4rt_entry entry = { .table = table, .match = &match, .action = action, .params = params };

	if (p4rt_updates_add(updates, kind, &entry) < 0)
		die("out of memory");
}

static void write_some(struct client *c, const struct p4rt_updates *updates, size_t first, size_t count)
{
	struct p4rt_write write = {
		.updates = updates, .first = first, .count = count, .window = 4, .batch = 100, .records = c->records
	};
	size_t failed = 0;
	struct err err = { 0 };

	must(p4rt_write(c->p4rt, &write, INT64_C(30000000000), &failed, &err), &err);
	if (failed)
		die("a write failed");
}

static enum word hear(int fd, bool wait)
{
	char word = 0;
	ssize_t n = recv(fd, &word, 1, wait ? 0 : MSG_DONTWAIT);

	if (n == 0)
		exit(0); /* the bench has ended */
	return n < 0 ? 0 : (enum word)word;
}

static void say_word(int fd, enum word word)
{
	char byte = (char)word;

	if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1)
		exit(0);
}

/* All of it in, all of it out, until told to rest. */
static void write_on(struct client *c, int fd, size_t *at)
{
	do {
		const struct p4rt_updates *updates = *at < ROUTES ? &c->inserts : &c->deletes;

		write_some(c, updates, *at % ROUTES, JOB);
		*at = (*at + JOB) % (2 * ROUTES);
	} while (hear(fd, false) != REST);
	say_word(fd, RESTS);
}

static void be_client(int fd)
{
	struct p4rt_client_config config = { .device_id = 1 };
	struct client c = { 0 };
	struct p4rt_updates all = { 0 };
	char address[32] = "", *json;
	struct loop *loop;
	size_t length, at = 0;
	struct err err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (recv(fd, address, sizeof(address) - 1, 0) <= 0)
		exit(0);
	config.address = address;
	must(loop_create(&loop, &err), &err);
	must(p4info_read(PROGRAMS "/l3_lpm.p4info.txtpb", &c.info, &err), &err);
	must(file_read(PROGRAMS "/l3_lpm.json", FILE_MOST, &json, &length, &err), &err);
	must(p4rt_connect(loop, &config, 0, &c.p4rt, &err), &err);
	must(p4rt_set_pipeline(c.p4rt, c.info, json, length, 0, &err), &err);
	c.records = calloc(JOB, sizeof(*c.records));
	if (!c.records)
		die("out of memory");
	add(&c, &all, P4RT_INSERT, prefix, 8, mac_of_all);
	for (uint32_t i = 0; i < ROUTES; i++) {
		add(&c, &c.inserts, P4RT_INSERT, prefix + i, 32, mac_of_one + i);
		add(&c, &c.deletes, P4RT_DELETE, prefix + i, 32, mac_of_one + i);
	}
	write_some(&c, &all, 0, 1);
	say_word(fd, READY);
	for (;;)
		if (hear(fd, true) == WRITE)
			write_on(&c, fd, &at);
}

/* --- the data plane --- */

struct bed {
	struct loop *loop;
	struct quiesce *quiesce;
	struct quiesce_reader *reader;
	struct control *control;
	struct v1model *device;
	pthread_t thread;
	atomic_bool stop;
	atomic_uint_fast64_t forwarded, wrong;
	uint64_t by_one; /* entries of 32 bits */
	int fd;
	uint8_t frames[FRAMES][64], out[2048];
};

static uint64_t now_us(void *context)
{
	(void)context;
	return (uint64_t)loop_now_ns() / 1000;
}

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v = v << 8 | at[i];
	return v;
}

static void transmit(void *context, uint32_t port, const uint8_t *bytes, uint32_t length_bytes)
{
	struct bed *bed = context;
	uint64_t mac, one;

	memcpy(bed->out, bytes, length_bytes);
	mac = number(bed->out, 6);
	one = mac_of_one + (number(bed->out + ETHERNET + 16, 4) - prefix);
	bed->by_one += mac == one;
	if (port != PORT || (mac != mac_of_all && mac != one))
		atomic_fetch_add_explicit(&bed->wrong, 1, memory_order_relaxed);
}

static void *forward(void *context)
{
	struct bed *bed = context;
	uint64_t count = 0;

	pin(true);
	quiesce_online(bed->reader);
	for (; !atomic_load_explicit(&bed->stop, memory_order_relaxed); count += BURST) {
		for (uint32_t k = 0; k < BURST; k++)
			v1model_ingress(bed->device, 1, bed->frames[(count + k) % FRAMES], FRAME_BYTES, now_us(NULL));
		while (v1model_egress(bed->device, BURST))
			;
		quiesce_pass(bed->reader);
		atomic_store_explicit(&bed->forwarded, count + BURST, memory_order_relaxed);
	}
	quiesce_offline(bed->reader);
	return NULL;
}

static int commit(void *context, const struct program *program, struct state *state, struct err *err)
{
	struct bed *bed = context;
	struct v1model_config config = {
		.program = program, .state = state, .seed = 1, .now_us = now_us, .transmit = transmit, .context = bed
	};

	return bed->device ? err_set(err, ERR_HOST, EBUSY, "one pipeline only")
			   : v1model_create(&config, &bed->device, err);
}

/* --- turns --- */

static void serve_until_word(struct bed *bed, enum word word)
{
	while (hear(bed->fd, false) != word)
		if (loop_turn(bed->loop, 100000) < 0)
			die("the loop");
}

struct sample {
	double per_s, per_cpu_s, updates_per_s;
};

static int64_t cpu_ns(const struct bed *bed)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (pthread_getcpuclockid(bed->thread, &clock) != 0 || clock_gettime(clock, &t) < 0)
		die("no clock of the thread");
	return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

static void take(struct bed *bed, struct sample *ret)
{
	const struct control_counters *counters = control_counters(bed->control);
	uint64_t updates = counters->updates, count = atomic_load(&bed->forwarded);
	int64_t cpu = cpu_ns(bed), begin = loop_now_ns(), end = begin;

	/* longer where other processes keep the data plane from running */
	for (; end - begin < TURN_NS || cpu_ns(bed) - cpu < TURN_NS / 4; end = loop_now_ns())
		if (loop_turn(bed->loop, TURN_NS / 100) < 0)
			die("the loop");
	count = atomic_load(&bed->forwarded) - count;
	cpu = cpu_ns(bed) - cpu;
	ret->per_s = (double)count * SECOND_NS / (double)(end - begin);
	ret->per_cpu_s = (double)count * SECOND_NS / (double)cpu;
	ret->updates_per_s = (double)(counters->updates - updates) * SECOND_NS / (double)(end - begin);
}

static void measure(struct bed *bed, unsigned turns)
{
	static double idle_pps[TURNS_MOST], busy_pps[TURNS_MOST], ratio[TURNS_MOST], cpu_ratio[TURNS_MOST],
		updates[TURNS_MOST];

	for (unsigned i = 0; i < turns; i++) {
		struct sample idle, busy;

		take(bed, &idle);
		say_word(bed->fd, WRITE);
		take(bed, &busy);
		say_word(bed->fd, REST);
		serve_until_word(bed, RESTS);
		idle_pps[i] = idle.per_s;
		busy_pps[i] = busy.per_s;
		updates[i] = busy.updates_per_s;
		ratio[i] = busy.per_s / idle.per_s;
		cpu_ratio[i] = busy.per_cpu_s / idle.per_cpu_s;
	}
	say_beside(
		"switch_write_impact_pct", 100 * (1 - median(ratio, turns)), "%", 0, turns,
		"packets a second lost to a client that writes batches of 100 LPM entries at full speed; memory ports, "
		"a CPU for the data plane; median ratio of turns of 0.2 s");
	say_beside("switch_write_impact_cpu_pct", 100 * (1 - median(cpu_ratio, turns)), "%", 0, turns,
		   "the same by CPU time of the data plane: without what other processes take");
	say_beside("switch_write_busy_pps", median(busy_pps, turns), "pps", median(idle_pps, turns), turns,
		   "during writes; baseline: without");
	say_beside("switch_write_busy_updates_per_s", median(updates, turns), "1/s", 0, turns,
		   "inserts and deletes meanwhile, batches of 100, 4 in flight, client and server on the other CPUs");
}

static void open_bed(struct bed *bed)
{
	static const struct control_ops ops = { commit, NULL };
	struct control_config config = { .address = "127.0.0.1:0", .device_id = 1, .ops = &ops, .context = bed };
	char address[32];
	struct err err;

	bed->quiesce = quiesce_create();
	if (!bed->quiesce)
		die("out of memory");
	config.quiesce = bed->quiesce;
	must(loop_create(&bed->loop, &err), &err);
	must(control_create(bed->loop, &config, &bed->control, &err), &err);
	snprintf(address, sizeof(address), "127.0.0.1:%u", control_port(bed->control));
	if (send(bed->fd, address, strlen(address), MSG_NOSIGNAL) < 0)
		die("the client is gone");
	for (uint32_t i = 0; i < FRAMES; i++)
		make_frame(bed->frames[i], FRAME_BYTES, prefix + i, UDP);
	serve_until_word(bed, READY);
	bed->reader = quiesce_join(bed->quiesce);
	if (!bed->reader || pthread_create(&bed->thread, NULL, forward, bed) != 0)
		die("no thread");
}

static void check(const struct bed *bed)
{
	const struct v1model_counters *c = v1model_counters(bed->device);

	if (c->transmitted != c->received || atomic_load(&bed->wrong)) {
		fprintf(stderr, "bench_switch_writes: of %" PRIu64 " packets %" PRIu64 " left, %" PRIu64 " wrongly\n",
			c->received, c->transmitted, (uint64_t)atomic_load(&bed->wrong));
		exit(1);
	}
	if (bed->by_one == 0 || bed->by_one == c->transmitted)
		die("no packet met an entry that came or went");
}

static void close_bed(struct bed *bed)
{
	atomic_store(&bed->stop, true);
	pthread_join(bed->thread, NULL);
	quiesce_leave(bed->quiesce, bed->reader);
	check(bed);
	v1model_destroy(bed->device);
	control_destroy(bed->control);
	quiesce_destroy(bed->quiesce);
	loop_destroy(bed->loop);
}

int main(int argc, char **argv)
{
	static struct bed bed;
	unsigned turns = argc == 3 && strcmp(argv[1], "--turns") == 0 ? (unsigned)strtoul(argv[2], NULL, 10) : TURNS;
	int pair[2], status = 0;
	pid_t pid;

	if (turns < 1 || turns > TURNS_MOST)
		die("--turns takes 1 to 256");
	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0 || CPU_COUNT(&allowed) < 2) {
		fputs("bench_switch_writes: one CPU only: nothing to measure\n", stderr);
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		die("socketpair");
	pin(false);
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		be_client(pair[1]);
	}
	if (pid < 0)
		die("fork");
	close(pair[1]);
	bed.fd = pair[0];
	open_bed(&bed);
	measure(&bed, turns);
	close_bed(&bed);
	close(bed.fd); /* the client ends by that */
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
