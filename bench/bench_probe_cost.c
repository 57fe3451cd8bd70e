/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one received probe costs: stamp, id, match, ledger. Ours is the engine's
 * own code, receiver_take, with a burst of one frame, so that each probe pays for a whole
 * ordered stamp. The baseline is the published receiver's way: the counter read plainly, two
 * substring searches for an ASCII marker through the frame (its two formats), the
 * digits, and a store into a table by id. Its marker ends the frame, so that both searches go through the whole of it;
 * where it stands at the start of the payload only the first, for the format that is not there, does, and that is
 * measured beside it, as is the C library's search, which skips. All frames are in the cache, to the searches' advantage.
 *
 * usage: bench_probe_cost [--repeats N]
 *        bench_probe_cost --once WAY SIZE     (receive, for callgrind to count)
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock/tsc.h"
#include "packet/stream.h"
#include "probe/receiver.h"
#include "say.h"

enum {
	PROBES = 20000,
	RING = 64, /* frames under way at a time */
	BURST = 32,
	REPEATS_MOST = 101,
	TAG = 5,
	HEADLINE_BYTES = 256,
};

enum way { TARE, TARE_BURST, PUBLISHED, PUBLISHED_EARLY, PUBLISHED_MEMMEM, WAYS };
/* The function that each runs. */
static const char *const functions[WAYS] = { "receive_tare", "receive_tare_burst", "receive_published",
					     "receive_published", "receive_published_memmem" };
static const char *const way_names[WAYS] = { "tare", "tare-burst", "published", "published-early", "published-memmem" };

/* One size's set-up. */
struct course {
	uint32_t frame_bytes;
	struct stream *tare, *oct;
	struct receiver receiver;
	uint64_t *table; /* of the published way: time by id */
	uint8_t *ring[RING];
};

/* Not inlined, and not specialised: callgrind counts between their entry and return. */
void receive_tare(struct receiver *r, const struct io_frame *frame);
void receive_tare_burst(struct receiver *r, const struct io_frame *frames, unsigned count);
void receive_published(uint64_t *table, const uint8_t *frame, uint32_t length_bytes);
void receive_published_memmem(uint64_t *table, const uint8_t *frame, uint32_t length_bytes);

__attribute__((noinline, noclone)) void receive_tare(struct receiver *r, const struct io_frame *frame)
{
	uint64_t stamp = tsc_stamp();

	receiver_take(r, frame, 1, stamp, 100);
}

__attribute__((noinline, noclone)) void receive_tare_burst(struct receiver *r, const struct io_frame *frames,
							   unsigned count)
{
	uint64_t stamp = tsc_stamp();

	receiver_take(r, frames, count, stamp, 100);
}

/* Digits up to the first other character, into the table, as far as it goes. */
static inline void published_store(uint64_t *table, const uint8_t *at, const uint8_t *end, uint64_t stamp)
{
	uint32_t id = 0;

	for (at += ID_OCT_MARKER_BYTES; at < end && *at >= '0' && *at <= '9'; at++)
		id = id * 10 + (uint32_t)(*at - '0');
	if (id <= PROBES)
		table[id] = stamp;
}

static inline const uint8_t *search(const uint8_t *frame, uint32_t length_bytes, const char *marker)
{
	for (uint32_t i = 0; i + ID_OCT_MARKER_BYTES <= length_bytes; i++) {
		if (memcmp(frame + i, marker, ID_OCT_MARKER_BYTES) == 0)
			return frame + i;
	}
	return NULL;
}

__attribute__((noinline, noclone)) void receive_published(uint64_t *table, const uint8_t *frame, uint32_t length_bytes)
{
	uint64_t stamp = tsc_now();
	const uint8_t *at = search(frame, length_bytes, "Pct-fpga-id:");

	if (at == NULL)
		at = search(frame, length_bytes, "oct-fpga-id:");
	if (at != NULL)
		published_store(table, at, frame + length_bytes, stamp);
}

/* The same with the C library's search, which skips. */
__attribute__((noinline, noclone)) void receive_published_memmem(uint64_t *table, const uint8_t *frame,
								 uint32_t length_bytes)
{
	uint64_t stamp = tsc_now();
	const uint8_t *at = memmem(frame, length_bytes, "Pct-fpga-id:", ID_OCT_MARKER_BYTES);

	if (at == NULL)
		at = memmem(frame, length_bytes, "oct-fpga-id:", ID_OCT_MARKER_BYTES);
	if (at != NULL)
		published_store(table, at, frame + length_bytes, stamp);
}

static void die(const struct err *err)
{
	fprintf(stderr, "bench_probe_cost: %s\n", err->message);
	exit(1);
}

static struct stream *stream_of(enum id_format format, uint32_t frame_bytes)
{
	struct stream_spec spec = { .count = PROBES, .format = format, .rate_mpps = 1000000 };
	struct stream *stream;
	struct err err = { 0 };

	frame_template_default(&spec.frame, FRAME_KIND_UDP4, frame_bytes);
	if (stream_create(&spec, &stream, &err) < 0)
		die(&err);
	return stream;
}

static void course_init(struct course *c, uint32_t frame_bytes)
{
	memset(c, 0, sizeof(*c));
	c->frame_bytes = frame_bytes;
	c->tare = stream_of(ID_NATIVE, frame_bytes);
	c->oct = stream_of(ID_OCT, frame_bytes);
	c->table = calloc(PROBES + 1, sizeof(*c->table));
	for (unsigned i = 0; i < RING; i++)
		c->ring[i] = aligned_alloc(64, 2048);
	if (c->table == NULL || c->ring[RING - 1] == NULL)
		abort();
}

static void course_release(struct course *c)
{
	for (unsigned i = 0; i < RING; i++)
		free(c->ring[i]);
	free(c->table);
	stream_destroy(c->tare);
	stream_destroy(c->oct);
}

/* The frame of probe i as this way wants it. */
static uint32_t fill(const struct course *c, enum way way, uint32_t i, uint8_t *to)
{
	uint32_t length_bytes, text_bytes;

	if (way <= TARE_BURST)
		return stream_fill(c->tare, i, TAG, to);
	length_bytes = stream_fill(c->oct, i, TAG, to);
	if (way != PUBLISHED_EARLY) {
		memset(to + c->oct->packets[i].id_offset, 0, length_bytes - c->oct->packets[i].id_offset);
		text_bytes = oct_write(to + c->oct->packets[i].id_offset, i + 1);
		memmove(to + length_bytes - text_bytes, to + c->oct->packets[i].id_offset, text_bytes);
		memset(to + c->oct->packets[i].id_offset, 0, length_bytes - text_bytes - c->oct->packets[i].id_offset);
	}
	return length_bytes;
}

static void receive(struct course *c, enum way way, const struct io_frame *frames, uint32_t count)
{
	switch (way) {
	case TARE:
		for (uint32_t i = 0; i < count; i++)
			receive_tare(&c->receiver, &frames[i]);
		break;
	case TARE_BURST:
		for (uint32_t i = 0; i < count; i += BURST)
			receive_tare_burst(&c->receiver, &frames[i], count - i < BURST ? count - i : BURST);
		break;
	case PUBLISHED:
	case PUBLISHED_EARLY:
		for (uint32_t i = 0; i < count; i++)
			receive_published(c->table, frames[i].data, frames[i].length_bytes);
		break;
	case PUBLISHED_MEMMEM:
		for (uint32_t i = 0; i < count; i++)
			receive_published_memmem(c->table, frames[i].data, frames[i].length_bytes);
		break;
	case WAYS:
		break;
	}
}

/*
 * Receive a whole run one way; ticks a probe, median over the rings filled: whatever else the host runs falls on few
 * of them. A way that does not find every probe would be measured for nothing.
 */
static double run(struct course *c, enum way way)
{
	bool ours = way <= TARE_BURST;
	struct io_frame frames[RING];
	struct err err = { 0 };
	double batches[PROBES / RING + 1];
	uint32_t batch_count = 0;
	uint64_t found = 0;

	if (ours && receiver_init(&c->receiver, c->tare, TAG, &err) < 0)
		die(&err);
	memset(c->table, 0, (PROBES + 1) * sizeof(*c->table));
	for (uint32_t from = 0; from < PROBES; from += RING) {
		uint32_t count = PROBES - from < RING ? PROBES - from : RING;
		uint64_t start;

		for (uint32_t i = 0; i < count; i++)
			frames[i] = (struct io_frame){ .data = c->ring[i],
						       .length_bytes = fill(c, way, from + i, c->ring[i]) };
		start = tsc_stamp();
		receive(c, way, frames, count);
		batches[batch_count++] = (double)(tsc_stamp() - start) / count;
	}
	if (ours) {
		found = c->receiver.first;
		receiver_release(&c->receiver);
	} else {
		for (uint32_t i = 1; i <= PROBES; i++)
			found += c->table[i] != 0;
	}
	if (found != PROBES) {
		fprintf(stderr, "bench_probe_cost: %s found %" PRIu64 " of %d probes\n", way_names[way], found, PROBES);
		exit(1);
	}
	return median(batches, batch_count);
}

/* Median cycles a probe of every way, repeats interleaved. */
static void measure_cycles(uint32_t frame_bytes, unsigned repeats, double ret_cycles[WAYS])
{
	static double all[WAYS][REPEATS_MOST];
	struct course c;

	course_init(&c, frame_bytes);
	for (unsigned w = 0; w < WAYS; w++)
		run(&c, (enum way)w); /* caches, branch predictors, clock rate */
	for (unsigned r = 0; r < repeats; r++) {
		for (unsigned w = 0; w < WAYS; w++)
			all[w][r] = run(&c, (enum way)w);
	}
	for (unsigned w = 0; w < WAYS; w++)
		ret_cycles[w] = median(all[w], repeats);
	course_release(&c);
}

/* Instructions a probe, by callgrind on ourselves; negative without it. */
static double measure_instructions(enum way way, uint32_t frame_bytes)
{
	char self[1024], command[2048], line[512];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	double collected = -1;
	FILE *pipe;

	if (length < 0)
		return -1;
	self[length] = '\0';
	snprintf(command, sizeof(command),
		 "valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=%s '%s' --once %s %u 2>&1",
		 functions[way], self, way_names[way], frame_bytes);
	pipe = popen(command, "r");
	if (pipe == NULL)
		return -1;
	while (fgets(line, sizeof(line), pipe) != NULL) {
		const char *at = strstr(line, "Collected : ");

		if (at != NULL)
			collected = strtod(at + strlen("Collected : "), NULL);
	}
	return pclose(pipe) == 0 && collected > 0 ? collected / PROBES : -1;
}

static void print(const char *name, uint32_t frame_bytes, const char *unit, const double values[WAYS], unsigned repeats,
		  const char *how)
{
	char suffix[16] = "";

	if (frame_bytes != HEADLINE_BYTES)
		snprintf(suffix, sizeof(suffix), "_%uB", frame_bytes);
	printf("{\"name\": \"%s%s\", \"value\": %.1f, \"unit\": \"%s\", \"baseline\": %.1f, \"ratio\": %.2f, "
	       "\"repeats\": %u, \"how\": \"%s; %u B frames, a stamp for each (in bursts of %u: %.1f); baseline: an "
	       "ASCII marker searched through the whole frame twice and a table store (marker first in the payload: "
	       "%.1f; memmem: %.1f)\"}\n",
	       name, suffix, values[TARE], unit, values[PUBLISHED], values[PUBLISHED] / values[TARE], repeats, how,
	       frame_bytes, BURST, values[TARE_BURST], values[PUBLISHED_EARLY], values[PUBLISHED_MEMMEM]);
	fflush(stdout);
}

static int once(const char *name, uint32_t frame_bytes)
{
	for (unsigned w = 0; w < WAYS; w++) {
		struct course c;

		if (strcmp(name, way_names[w]) != 0)
			continue;
		course_init(&c, frame_bytes);
		run(&c, (enum way)w);
		course_release(&c);
		return 0;
	}
	fprintf(stderr,
		"bench_probe_cost: --once %s: expected tare, tare-burst, published, published-early or "
		"published-memmem\n",
		name);
	return 2;
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 60, HEADLINE_BYTES, 1514 };
	unsigned repeats = 31;

	if (argc == 4 && strcmp(argv[1], "--once") == 0)
		return once(argv[2], (uint32_t)strtoul(argv[3], NULL, 10));
	if (argc == 3 && strcmp(argv[1], "--repeats") == 0)
		repeats = (unsigned)strtoul(argv[2], NULL, 10);
	else if (argc != 1)
		repeats = 0;
	if (repeats < 1 || repeats > REPEATS_MOST) {
		fprintf(stderr, "usage: bench_probe_cost [--repeats 1..%d]\n", REPEATS_MOST);
		return 2;
	}
	for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		double values[WAYS];
		bool counted = true;

		measure_cycles(sizes[s], repeats, values);
		print("probe_cost_cycles", sizes[s], "cycles", values, repeats,
		      "TSC cycles, median of interleaved runs of 20000, each the median of 64 probes at a time");
		for (unsigned w = 0; w < WAYS && counted; w++) {
			values[w] = measure_instructions((enum way)w, sizes[s]);
			counted = values[w] > 0;
		}
		if (counted)
			print("probe_cost_instructions", sizes[s], "instr", values, 1, "callgrind");
		else
			fprintf(stderr, "bench_probe_cost: instructions not counted: valgrind did not run\n");
	}
	return 0;
}
