/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch's data plane without I/O, one core: frames that lie in memory go
 * through parser, ingress, queue, egress and deparser, and are copied to where
 * they would leave. Packets a second, and instructions a packet by callgrind.
 *
 * usage: bench_switch [--repeats N] [--programs DIR] [NAME...]
 *        bench_switch --once NAME PACKETS     (for callgrind to count)
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "exec/v1model.h"
#include "tables/change.h"

#ifndef PROGRAMS
#define PROGRAMS "p4/v1model"
#endif

enum { FRAMES = 1024, BURST = 32, ROOM = 256, PACKETS = 400000, REPEATS_MOST = 64, PORT = 2 };

enum { ETHERNET = 14, IPV4 = 20, UDP = 17, PROBE = 0xfd, HOPS_BEFORE = 7, HOP_BYTES = 13 };

struct bed {
	struct program *program;
	struct quiesce *quiesce;
	struct state *state;
	struct v1model *device;
	uint8_t frames[FRAMES][ROOM];
	uint32_t frame_bytes;
	uint8_t out[2048];
	uint64_t sent;
};

static const char *programs = PROGRAMS;

static void die(const char *what, const struct err *err)
{
	fprintf(stderr, "bench_switch: %s: %s\n", what, err->message);
	exit(1);
}

static uint64_t now_us(void *context)
{
	struct timespec t;

	(void)context;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void transmit(void *context, uint32_t port, const uint8_t *bytes, uint32_t length_bytes)
{
	struct bed *bed = context;

	memcpy(bed->out, bytes, length_bytes);
	bed->sent += port == PORT;
}

static void open_bed(struct bed *bed, const char *program)
{
	struct v1model_config config = { .seed = 1, .now_us = now_us, .transmit = transmit, .context = bed };
	char path[1024];
	struct err err;

	memset(bed, 0, sizeof(*bed));
	snprintf(path, sizeof(path), "%s/%s.json", programs, program);
	bed->quiesce = quiesce_create();
	if (program_load_file(path, &bed->program, &err) < 0 ||
	    state_create(bed->program, bed->quiesce, false, &bed->state, &err) < 0)
		die(program, &err);
	config.program = bed->program;
	config.state = bed->state;
	if (v1model_create(&config, &bed->device, &err) < 0)
		die(program, &err);
}

static void close_bed(struct bed *bed)
{
	v1model_destroy(bed->device);
	state_destroy(bed->state);
	quiesce_destroy(bed->quiesce);
	program_destroy(bed->program);
}

/* --- frames and entries --- */

static void put(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = bytes; i > 0; i--, value >>= 8)
		at[i - 1] = (uint8_t)value;
}

static void ipv4_checksum(uint8_t *ip)
{
	uint32_t sum = 0;

	put(ip + 10, 0, 2);
	for (unsigned i = 0; i < IPV4; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put(ip + 10, (uint16_t)~sum, 2);
}

/* 64 bytes on the wire, 60 of them ours; or as long as the telemetry makes it. */
static void make_frame(uint8_t *frame, uint32_t length_bytes, uint32_t destination, uint8_t protocol)
{
	uint8_t *ip = frame + ETHERNET;

	put(frame, 0x020000000001, 6);
	put(frame + 6, 0x020000000002, 6);
	put(frame + 12, 0x0800, 2);
	put(ip, 0x4500, 2);
	put(ip + 2, length_bytes - ETHERNET, 2);
	ip[8] = 64;
	ip[9] = protocol;
	put(ip + 12, 0xc0a80001, 4);
	put(ip + 16, destination, 4);
	ipv4_checksum(ip);
	put(frame + ETHERNET + IPV4, 1234, 2);
	put(frame + ETHERNET + IPV4 + 2, 4321, 2);
}

static void add_route(struct bed *bed, uint32_t prefix, uint32_t bits)
{
	uint32_t table = program_find_table(bed->program, "IngressPipe.routes");
	uint32_t action = program_find_action(bed->program, "IngressPipe.next_hop");
	const struct p4_action *a = &bed->program->actions[action];
	uint64_t params[2] = { 0 }, value = prefix;
	struct match_spec match = { .value = &value, .prefix_bits = bits };
	struct entry_spec spec = { .action = { .action = action, .params = params } };
	struct err err;

	params[a->params[0].slot - bed->program->params_slot] = 0x020000000099;
	params[a->params[1].slot - bed->program->params_slot] = PORT;
	if (table_insert(bed->state, table, &match, &spec, NULL, &err) < 0 && err.code != 17 /* EEXIST */)
		die("routes", &err);
}

/* Rules that no frame meets, of eight shapes. */
static void add_rules(struct bed *bed, unsigned count)
{
	static const uint32_t shapes[8][5] = {
		{ 0xffffff00, 0xffffffff, 0xff, 0, 0xffff },
		{ 0xffffffff, 0xffffffff, 0xff, 0xffff, 0xffff },
		{ 0xffff0000, 0, 0xff, 0, 0xffff },
		{ 0, 0xffffff00, 0xff, 0, 0xffff },
		{ 0xffffffff, 0, 0, 0, 0 },
		{ 0xffffff00, 0xffffff00, 0xff, 0, 0 },
		{ 0, 0, 0xff, 0xffff, 0xffff },
		{ 0, 0xffffffff, 0xff, 0xfff0, 0 },
	};
	uint32_t table = program_find_table(bed->program, "IngressPipe.acl");
	uint32_t action = program_find_action(bed->program, "IngressPipe.drop");
	/* JSON lists an action once a use: the table's own */
	for (uint32_t i = 0; i < bed->program->tables[table].action_count; i++)
		if (strcmp(bed->program->actions[bed->program->tables[table].actions[i]].name, "IngressPipe.drop") == 0)
			action = bed->program->tables[table].actions[i];
	for (unsigned i = 0; i < count; i++) {
		uint64_t value[5] = { 0x0b000000 + i * 0x101, 0x0c000000 + i * 0x101, 6, 100 + i, 200 + i }, mask[5];
		struct match_spec match = { .value = value, .mask = mask, .priority = (int32_t)(count - i) };
		struct entry_spec spec = { .action = { .action = action, .params = value } };
		struct err err;

		for (unsigned k = 0; k < 5; k++)
			mask[k] = shapes[i % 8][k];
		if (table_insert(bed->state, table, &match, &spec, NULL, &err) < 0)
			die("acl", &err);
	}
}

/* --- what is measured --- */

static void routed(struct bed *bed, const char *program)
{
	open_bed(bed, program);
	bed->frame_bytes = 60;
	for (unsigned i = 0; i < FRAMES; i++)
		make_frame(bed->frames[i], bed->frame_bytes, 0x0a000000 + i, UDP);
	add_route(bed, 0x0a000000, 8);
}

static void open_l3_lpm(struct bed *bed)
{
	routed(bed, "l3_lpm");
}

static void open_acl16(struct bed *bed)
{
	routed(bed, "l3_lpm_acl");
	add_rules(bed, 16);
}

static void open_acl1000(struct bed *bed)
{
	routed(bed, "l3_lpm_acl");
	add_rules(bed, 1000);
}

/* Prefixes of /16 to /32, most of them /24, as routing tables have them; each frame goes to one of them. */
static void open_lpm100k(struct bed *bed)
{
	struct rng rng;
	unsigned frame = 0;

	open_bed(bed, "l3_lpm");
	rng_init(&rng, 1);
	bed->frame_bytes = 60;
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t address = (uint32_t)rng_u64(&rng), bits = 24;

		if (i % 2)
			bits = 16 + (uint32_t)rng_below(&rng, 17);
		add_route(bed, address, bits);
		if (i % 97 == 0 && frame < FRAMES)
			make_frame(bed->frames[frame++], bed->frame_bytes, address, UDP);
	}
}

/* Seven hops come in, eight leave. */
static void open_int8(struct bed *bed)
{
	routed(bed, "l3_lpm_int_chain");
	bed->frame_bytes = ETHERNET + IPV4 + 12 + 1 + HOPS_BEFORE * HOP_BYTES + 4;
	for (unsigned i = 0; i < FRAMES; i++) {
		uint8_t *count = bed->frames[i] + ETHERNET + IPV4 + 12;

		make_frame(bed->frames[i], bed->frame_bytes, 0x0a000000 + i, PROBE);
		*count = HOPS_BEFORE;
	}
}

static const struct what {
	const char *name;
	void (*open)(struct bed *bed);
	const char *how;
} whats[] = {
	{ "l3_lpm", open_l3_lpm, "one route" },
	{ "acl16", open_acl16, "16 ternary rules of 8 shapes that no packet meets, one route" },
	{ "acl1000", open_acl1000, "1000 ternary rules of 8 shapes that no packet meets, one route" },
	{ "lpm100k", open_lpm100k, "100,000 routes, 1024 destinations" },
	{ "int8", open_int8, "stacked telemetry, 7 hops in, 8 out" },
};

enum { WHATS = sizeof(whats) / sizeof(whats[0]) };

/* Not inlined, and not specialised: callgrind counts between its entry and return. */
__attribute__((noipa)) static void run(struct bed *bed, uint32_t packets)
{
	for (uint32_t i = 0; i < packets; i += BURST) {
		for (uint32_t k = 0; k < BURST; k++)
			v1model_ingress(bed->device, 1, bed->frames[(i + k) % FRAMES], bed->frame_bytes, now_us(NULL));
		while (v1model_egress(bed->device, BURST))
			;
	}
}

static double measure(struct bed *bed)
{
	uint64_t before = bed->sent;
	struct timespec a, b;
	double seconds;

	clock_gettime(CLOCK_MONOTONIC, &a);
	run(bed, PACKETS);
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (bed->sent - before != PACKETS) {
		fprintf(stderr, "bench_switch: of %d packets %" PRIu64 " left\n", PACKETS, bed->sent - before);
		exit(1);
	}
	seconds = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	return PACKETS / seconds;
}

static int once(const char *name, uint32_t packets)
{
	static struct bed bed;

	for (unsigned i = 0; i < WHATS; i++)
		if (strcmp(whats[i].name, name) == 0) {
			whats[i].open(&bed);
			run(&bed, packets);
			close_bed(&bed);
			return 0;
		}
	fprintf(stderr, "bench_switch: there is no '%s'\n", name);
	return 2;
}

/* By callgrind on ourselves; negative without it. */
static double instructions(const char *name)
{
	enum { COUNTED = 6400 };
	char self[1024], command[3072], line[512];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	double collected = -1;
	FILE *pipe;

	if (length < 0)
		return -1;
	self[length] = '\0';
	snprintf(command, sizeof(command),
		 "valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=run '%s' --programs '%s' "
		 "--once %s %d 2>&1",
		 self, programs, name, COUNTED);
	pipe = popen(command, "r");
	if (!pipe)
		return -1;
	while (fgets(line, sizeof(line), pipe)) {
		const char *at = strstr(line, "Collected : ");

		if (at)
			collected = strtod(at + strlen("Collected : "), NULL);
	}
	return pclose(pipe) == 0 && collected > 0 ? collected / COUNTED : -1;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void report(const struct what *what, double *values, unsigned repeats, uint32_t frame_bytes)
{
	double count = instructions(what->name);

	qsort(values, repeats, sizeof(*values), by_value);
	printf("{\"name\": \"switch_%s_pps\", \"value\": %.0f, \"unit\": \"pps\", \"baseline\": null, \"ratio\": null, "
	       "\"repeats\": %u, \"how\": \"memory to memory, one core, %u B frames, %s\"}\n",
	       what->name, values[repeats / 2], repeats, frame_bytes + 4, what->how);
	if (count > 0)
		printf("{\"name\": \"switch_%s_instructions\", \"value\": %.0f, \"unit\": \"instr\", \"baseline\": "
		       "null, "
		       "\"ratio\": null, \"repeats\": 1, \"how\": \"a packet, callgrind\"}\n",
		       what->name, count);
	fflush(stdout);
}

static bool wanted(const char *name, char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return count == 0;
}

int main(int argc, char **argv)
{
	static struct bed beds[WHATS];
	static double values[WHATS][REPEATS_MOST];
	unsigned repeats = 11;
	int at = 1;

	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		if (strcmp(argv[at], "--repeats") == 0)
			repeats = (unsigned)strtoul(argv[at + 1], NULL, 10);
		else if (strcmp(argv[at], "--programs") == 0)
			programs = argv[at + 1];
		else if (strcmp(argv[at], "--once") == 0 && at + 2 < argc)
			return once(argv[at + 1], (uint32_t)strtoul(argv[at + 2], NULL, 10));
		else
			return fprintf(stderr, "bench_switch: what is '%s'?\n", argv[at]), 2;
	}
	if (repeats < 1 || repeats > REPEATS_MOST)
		return fprintf(stderr, "bench_switch: --repeats takes 1 to %d\n", REPEATS_MOST), 2;
	for (unsigned i = 0; i < WHATS; i++)
		if (wanted(whats[i].name, argv + at, argc - at))
			whats[i].open(&beds[i]);
	for (unsigned r = 0; r < repeats; r++)
		for (unsigned i = 0; i < WHATS; i++)
			if (beds[i].device)
				values[i][r] = measure(&beds[i]);
	for (unsigned i = 0; i < WHATS; i++)
		if (beds[i].device) {
			report(&whats[i], values[i], repeats, beds[i].frame_bytes);
			close_bed(&beds[i]);
		}
	return 0;
}
