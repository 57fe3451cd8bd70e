/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tare-switch as a process between two cables of the kernel, with l3_lpm set by
 * P4Runtime: how many frames a second without loss, its own ingress-to-egress-start
 * time, its memory, its start. In a network namespace; needs root or user namespaces.
 *
 * usage: bench_switch_io [SWITCH]
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <netinet/in.h>
#include <time.h>
#include <unistd.h>

#include "io/afpacket.h"
#include "netns/netns.h"
#include "p4rt/blocking.h"
#include "p4rt/file.h"
#include "say.h"

enum {
	STARTS = 9,
	PROBE = 0xfd,
	UDP = 17,
	STAMPS_AT = 34,
	PROBES_IDLE = 100,
	PROBES_LOAD = 400,
	SECOND_NS = 1000000000,
	FILE_MOST = 1 << 20
};

static const char *binary = SWITCH;
static uint16_t grpc_port;
static char grpc_address[32];

static int64_t now_ns(void)
{
	return loop_now_ns();
}

static void die(const char *what)
{
	fprintf(stderr, "bench_switch_io: %s\n", what);
	exit(1);
}

static void must(int rc, const struct err *err)
{
	if (rc < 0)
		die(err->message);
}

/* --- the switch --- */

static pid_t start_switch(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(binary, binary, "-i", "1@sw1", "-i", "2@sw2", "--no-p4", "--device-id", "1", "--grpc-server-addr",
		      grpc_address, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void stop_switch(pid_t pid)
{
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

static void wait_listening(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(grpc_port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	for (int64_t until = now_ns() + (int64_t)5 * SECOND_NS; now_ns() < until;) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		int rc = connect(fd, (struct sockaddr *)&to, sizeof(to));

		close(fd);
		if (rc == 0)
			return;
	}
	die("the switch does not listen");
}

static struct p4rt_client *connect_client(struct loop *loop)
{
	struct p4rt_client_config config = { .address = grpc_address, .device_id = 1 };
	struct p4rt_client *client;
	struct err err;

	wait_listening();
	must(p4rt_connect(loop, &config, 0, &client, &err), &err);
	return client;
}

static void bench_start(struct loop *loop)
{
	double ms[STARTS];

	for (unsigned i = 0; i < STARTS; i++) {
		int64_t begin = now_ns();
		pid_t pid = start_switch();
		struct p4rt_client *client = connect_client(loop);

		ms[i] = (double)(now_ns() - begin) / 1e6;
		p4rt_client_destroy(client);
		stop_switch(pid);
	}
	say("switch_start_ms", median(ms, STARTS), "ms", STARTS, "fork to the answered arbitration, two ports");
}

static void program(struct p4rt_client *client)
{
	static const char route[] =
		"table=routes destination=10.0.0.0/8 action=next_hop mac=02:00:00:00:00:99 port=2\n";
	struct p4rt_entries *entries;
	struct p4info *info;
	struct err err;
	size_t length;
	char *json;

	must(p4info_read(PROGRAMS "/l3_lpm.p4info.txtpb", &info, &err), &err);
	must(file_read(PROGRAMS "/l3_lpm.json", FILE_MOST, &json, &length, &err), &err);
	must(p4rt_set_pipeline(client, info, json, length, 0, &err), &err);
	must(p4rt_entries_parse(info, route, strlen(route), "route", &entries, &err), &err);
	must(p4rt_program(client, entries, 0, &err), &err);
	p4rt_entries_destroy(entries);
	p4info_destroy(info);
	free(json);
}

static void bench_memory(pid_t pid)
{
	char path[64], line[256];
	unsigned long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %lu", &kib);
	if (f)
		fclose(f);
	say("switch_rss_mb", (double)kib * 1024 / 1e6, "MB", 1, "resident, l3_lpm, two ports, after all else here");
}

/* --- frames --- */

static struct io_port *open_port(const char *name)
{
	struct afpacket_config config = { .interface = name, .receive_frames = 1 << 14 };
	struct io_port *port = NULL;
	struct err err;

	must(afpacket_open(&config, &port, &err), &err);
	return port;
}

static void make_frame(uint8_t *frame, uint32_t length_bytes, uint8_t protocol)
{
	static const uint8_t head[] = { 2, 0, 0, 0, 0, 1,  2, 0, 0, 0,   0,   2, 8, 0,  0x45, 0, 0,
					0, 0, 0, 0, 0, 64, 0, 0, 0, 192, 168, 0, 1, 10, 0,    0, 1 };
	uint32_t sum = 0;

	memset(frame, 0, length_bytes);
	memcpy(frame, head, sizeof(head));
	frame[16] = (uint8_t)((length_bytes - 14) >> 8);
	frame[17] = (uint8_t)(length_bytes - 14);
	frame[23] = protocol;
	for (unsigned i = 14; i < 34; i += 2)
		sum += (uint32_t)frame[i] << 8 | frame[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	frame[24] = (uint8_t)(~sum >> 8);
	frame[25] = (uint8_t)~sum;
}

static void send_frames(struct io_port *port, unsigned count, uint32_t length_bytes, uint8_t protocol)
{
	struct io_frame frames[AFPACKET_BURST];
	unsigned n = io_reserve(port, frames, count, length_bytes);

	for (unsigned i = 0; i < n; i++)
		make_frame(frames[i].data, length_bytes, protocol);
	io_send(port, frames, n);
}

static uint64_t be48(const uint8_t *at)
{
	uint64_t v = 0;

	for (int i = 0; i < 6; i++)
		v = v << 8 | at[i];
	return v;
}

/* Wait until `until`, and take what comes; the stamps of probes. */
static unsigned take_until(struct io_port *out, int64_t until_ns, double *values, unsigned count, unsigned most)
{
	struct pollfd fd = { .fd = afpacket_fd(out), .events = POLLIN };
	struct io_frame frames[64];

	for (;;) {
		unsigned n = io_receive(out, frames, 64);
		int64_t left = until_ns - now_ns();

		for (unsigned i = 0; i < n; i++) {
			const uint8_t *at = frames[i].data + STAMPS_AT;

			if (frames[i].length_bytes > STAMPS_AT + 12 && frames[i].data[23] == PROBE && count < most)
				values[count++] = (double)(be48(at + 6) - be48(at));
		}
		io_release(out, frames, n);
		if (left <= 0)
			return count;
		if (n == 0)
			poll(&fd, 1, (int)(left / 1000000));
	}
}

struct load {
	struct io_port *port;
	uint64_t pps, count;
};

static void *send_load(void *context)
{
	const struct load *l = context;
	int64_t begin = now_ns();

	for (uint64_t sent = 0; sent < l->count; sent += 32) {
		int64_t due = begin + (int64_t)(sent * SECOND_NS / l->pps);

		while (now_ns() < due)
			if (due - now_ns() > 200000)
				poll(NULL, 0, 0);
		send_frames(l->port, 32, 60, UDP);
	}
	return NULL;
}

/* How many of a second's frames came through. */
static uint64_t try_rate(struct io_port *in, struct io_port *out, uint64_t pps, uint64_t *ret_sent)
{
	struct load load = { .port = in, .pps = pps, .count = pps / 32 * 32 };
	struct pollfd fd = { .fd = afpacket_fd(out), .events = POLLIN };
	struct io_frame frames[64];
	uint64_t got = 0;
	pthread_t thread;

	take_until(out, now_ns() + 100000000, NULL, 0, 0); /* what is still on its way */
	if (pthread_create(&thread, NULL, send_load, &load) != 0)
		die("no thread");
	while (got < load.count) {
		unsigned n = io_receive(out, frames, 64);

		if (n == 0 && poll(&fd, 1, 1500) == 0)
			break;
		io_release(out, frames, n);
		got += n;
	}
	pthread_join(thread, NULL);
	*ret_sent = load.count;
	return got;
}

static void bench_rate(struct io_port *in, struct io_port *out)
{
	uint64_t best = 0;

	for (uint64_t pps = 10000; pps < 4000000; pps = pps * 5 / 4) {
		uint64_t sent, got = 0;

		for (int tries = 0; tries < 3; tries++) { /* a machine with other work may lose one */
			got = try_rate(in, out, pps, &sent);
			if (got == sent)
				break;
			fprintf(stderr, "bench_switch_io: at %" PRIu64 " pps %" PRIu64 " of %" PRIu64 " were lost\n",
				pps, sent - got, sent);
		}
		if (got != sent)
			break;
		best = pps;
	}
	say("switch_veth_pps", (double)best, "pps", 1,
	    "64 B frames, one second without loss, rates 5/4 apart, best of 3");
}

static void bench_transit(struct io_port *in, struct io_port *out)
{
	static double values[PROBES_LOAD];
	unsigned count = 0;
	int64_t at = now_ns();

	for (unsigned i = 0; i < PROBES_IDLE; i++) {
		send_frames(in, 1, 256, PROBE);
		at += 20000000;
		count = take_until(out, at, values, count, PROBES_IDLE);
	}
	if (count < PROBES_IDLE)
		die("probes were lost");
	say("switch_transit_idle_us", median(values, count), "us", 1, "median of 100 probes of 256 B, 20 ms apart");
	count = 0;
	at = now_ns();
	for (unsigned i = 0; i < PROBES_LOAD; i++) { /* 61 frames of 256 B each 5 ms: 25 Mbit/s */
		send_frames(in, 1, 256, PROBE);
		for (unsigned k = 0; k < 5; k++) {
			send_frames(in, 12, 256, UDP);
			at += 1000000;
			count = take_until(out, at, values, count, PROBES_LOAD);
		}
	}
	say("switch_transit_load_us", median(values, count), "us", 1,
	    "median of 400 probes of 256 B, 5 ms apart, beside 25 Mbit/s");
}

int main(int argc, char **argv)
{
	struct p4rt_client *client;
	struct io_port *in, *out;
	struct loop *loop;
	struct err err;
	pid_t pid;

	if (argc > 1)
		binary = argv[1];
	netns_enter();
	netns_run("ip link set lo up");
	netns_veth("sw1", "h1");
	netns_veth("sw2", "h2");
	grpc_port = 9559; /* the namespace is ours */
	snprintf(grpc_address, sizeof(grpc_address), "127.0.0.1:%u", grpc_port);
	must(loop_create(&loop, &err), &err);
	bench_start(loop);
	in = open_port("h1");
	out = open_port("h2");
	pid = start_switch();
	client = connect_client(loop);
	program(client);
	poll(NULL, 0, 500); /* its ports are open then */
	bench_transit(in, out);
	bench_rate(in, out);
	bench_memory(pid);
	p4rt_client_destroy(client);
	stop_switch(pid);
	in->ops->close(in);
	out->ops->close(out);
	loop_destroy(loop);
	return 0;
}
