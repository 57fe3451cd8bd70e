/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch's data plane without I/O, one core: frames that lie in memory go
 * through parser, ingress, queue, egress and deparser, and are copied to where
 * they would leave. Packets a second, and instructions a packet by callgrind. Where
 * BMv2 is ($BMV2, a folder, or the PATH), the same JSON, entries and packets through
 * it from file to file, in turns with ours, are the baseline.
 *
 * usage: bench_switch [--repeats N] [--programs DIR] [NAME...]
 *        bench_switch --once NAME PACKETS     (for callgrind to count)
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "bmv2.h"
#include "exec/v1model.h"
#include "say.h"
#include "switch_frames.h"
#include "tables/change.h"

#ifndef PROGRAMS
#define PROGRAMS "p4/v1model"
#endif

enum { FRAMES = 1024, BURST = 32, ROOM = 256, PACKETS = 400000, REPEATS_MOST = 64, PORT = 2 };

enum { BMV2_PACKETS = 200000, BMV2_REPEATS = 3, COMMANDS_BYTES = 8192 };

enum { HOPS_BEFORE = 7, HOP_BYTES = 13 };

struct bed {
	const char *json; /* its name */
	struct program *program;
	struct quiesce *quiesce;
	struct state *state;
	struct v1model *device;
	uint8_t frames[FRAMES][ROOM];
	uint32_t frame_bytes;
	uint8_t out[2048];
	uint64_t sent;
	char commands[COMMANDS_BYTES]; /* the entries for BMv2, as far as they fit */
	uint32_t commands_bytes;
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
	bed->json = program;
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

/* --- entries, the same for a baseline --- */

__attribute__((format(printf, 2, 3))) static void tell_bmv2(struct bed *bed, const char *fmt, ...)
{
	uint32_t left = COMMANDS_BYTES - bed->commands_bytes;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(bed->commands + bed->commands_bytes, left, fmt, ap);
	va_end(ap);
	if (n > 0 && (uint32_t)n < left)
		bed->commands_bytes += (uint32_t)n;
	else
		bed->commands[bed->commands_bytes] = '\0';
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
	tell_bmv2(bed, "table_add IngressPipe.routes IngressPipe.next_hop %u.%u.%u.%u/%u => 0x020000000099 %d\n",
		  prefix >> 24, prefix >> 16 & 255, prefix >> 8 & 255, prefix & 255, bits, PORT);
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
	static const int digits[5] = { 8, 8, 2, 4, 4 };
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
		tell_bmv2(bed, "table_add IngressPipe.acl IngressPipe.drop ");
		for (unsigned k = 0; k < 5; k++)
			tell_bmv2(bed, "0x%0*" PRIx64 "&&&0x%0*" PRIx64 " ", digits[k], value[k], digits[k], mask[k]);
		tell_bmv2(bed, "=> %u\n", i + 1); /* its first is the lowest */
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
	bool baseline;
} whats[] = {
	{ "l3_lpm", open_l3_lpm, "one route", true },
	{ "acl16", open_acl16, "16 ternary rules of 8 shapes that no packet meets, one route", true },
	{ "acl1000", open_acl1000, "1000 ternary rules of 8 shapes that no packet meets, one route" },
	{ "lpm100k", open_lpm100k, "100,000 routes, 1024 destinations" },
	{ "int8", open_int8, "stacked telemetry, 7 hops in, 8 out", true },
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

struct baseline {
	double pps[BMV2_REPEATS];
	unsigned count;
	char why[200]; /* there is none */
};

static void measure_bmv2(const struct bed *bed, const struct what *what, struct baseline *baseline)
{
	struct bmv2_run go = { .commands = bed->commands,
			       .frames = bed->frames[0],
			       .stride_bytes = ROOM,
			       .frame_count = FRAMES,
			       .frame_bytes = bed->frame_bytes,
			       .packets = BMV2_PACKETS,
			       .in_port = 1,
			       .out_port = PORT };
	char json[1024];
	struct err err;

	if (!what->baseline || baseline->why[0])
		return;
	snprintf(json, sizeof(json), "%s/%s.json", programs, bed->json);
	go.json = json;
	if (bmv2_measure(&go, &baseline->pps[baseline->count], &err) == 0)
		baseline->count++;
	else
		snprintf(baseline->why, sizeof(baseline->why), "%.*s", (int)sizeof(baseline->why) - 1, err.message);
}

static void report(const struct what *what, double *values, unsigned repeats, uint32_t frame_bytes,
		   struct baseline *baseline)
{
	double count = instructions(what->name), baseline_pps = 0;
	char name[64], beside[300] = "", how[512];

	if (what->baseline && baseline->count && !baseline->why[0]) {
		baseline_pps = median(baseline->pps, baseline->count);
		snprintf(beside, sizeof(beside),
			 "; baseline: BMv2, file to file, all cores, %d of the same frames, median of %u in turns with "
			 "ours",
			 BMV2_PACKETS, baseline->count);
	} else if (what->baseline) {
		snprintf(beside, sizeof(beside), "; no baseline: %s", baseline->why);
	}
	snprintf(name, sizeof(name), "switch_%s_pps", what->name);
	snprintf(how, sizeof(how), "memory to memory, one core, %u B frames, %s%s", frame_bytes + 4, what->how, beside);
	say_beside(name, median(values, repeats), "pps", baseline_pps, repeats, how);
	snprintf(name, sizeof(name), "switch_%s_instructions", what->name);
	if (count > 0)
		say(name, count, "instr", 1, "a packet, callgrind");
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
	static struct baseline baselines[WHATS];
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
		if (wanted(whats[i].name, argv + at, argc - at)) {
			whats[i].open(&beds[i]);
			if (!bmv2_here())
				snprintf(baselines[i].why, sizeof(baselines[i].why), "BMv2 is not here");
		}
	for (unsigned r = 0; r < repeats; r++)
		for (unsigned i = 0; i < WHATS; i++)
			if (beds[i].device) {
				values[i][r] = measure(&beds[i]);
				if (r < BMV2_REPEATS)
					measure_bmv2(&beds[i], &whats[i], &baselines[i]);
			}
	for (unsigned i = 0; i < WHATS; i++)
		if (beds[i].device) {
			report(&whats[i], values[i], repeats, beds[i].frame_bytes, &baselines[i]);
			close_bed(&beds[i]);
		}
	return 0;
}
