/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_IMPORT_LAB_H
#define TARE_TESTS_IMPORT_LAB_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "packet/probe_id.h"
#include "packet/trace.h"

/*
 * A directory as the FPGA study publishes it, of known truth: for tests and the
 * bench. Every program gets its null; gross = offset + net + restart + noise.
 */
struct lab_truth {
	const char *tag, *null;
	double net_ns;
	double slow_ns; /* odd packets are so much slower; 0: one mode */
};

struct lab_make {
	const char *dir;
	const struct lab_truth *programs;
	unsigned program_count, sessions, runs;
	uint32_t packets;          /* in the trace */
	double offset_ns;          /* of the null */
	double noise_ns;           /* sd */
	uint32_t unreadable_every; /* each nth packet of the trace has no id; 0: none */
	uint32_t shared_every;     /* each nth packet has the id of the one before it; 0: none */
	uint32_t lost_every;       /* each nth probe of a run is not in its CSV; 0: none */
	bool trace, second, captures;
	double second_bias_ns; /* of the second clock */
};

static inline void lab_mkdir(const char *path)
{
	if (mkdir(path, 0777) != 0 && access(path, F_OK) != 0)
		abort();
}

static inline FILE *lab_create(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		abort();
	return f;
}

static inline bool lab_unreadable(const struct lab_make *m, uint32_t i)
{
	return m->unreadable_every && i % m->unreadable_every == m->unreadable_every - 1;
}

/* The id that packet i carries, from 1. */
static inline uint32_t lab_id(const struct lab_make *m, uint32_t i)
{
	return m->shared_every && i % m->shared_every == m->shared_every - 1 && i ? i : i + 1;
}

/* A frame with a marker, or with one that cannot be read. `copy`: 'o', 'P' or 'B'. */
static inline uint32_t lab_frame(const struct lab_make *m, uint32_t i, char copy, uint8_t *frame)
{
	uint32_t length;

	memset(frame, 0x20, 96);
	frame[12] = 0x08;
	frame[13] = 0x00;
	length = 42 + oct_write(frame + 42, lab_id(m, i));
	frame[42] = (uint8_t)copy;
	if (lab_unreadable(m, i))
		memcpy(frame + 42 + ID_OCT_MARKER_BYTES, "x", 1);
	frame[length] = '\n';
	return 96;
}

static inline void lab_trace(const struct lab_make *m, const char *word)
{
	struct trace_writer *w;
	uint8_t frame[96];
	char path[512];

	snprintf(path, sizeof(path), "%s/probes", m->dir);
	lab_mkdir(path);
	snprintf(path, sizeof(path), "%s/probes/%s_20k.pcap", m->dir, word);
	if (trace_writer_open(path, &w, NULL) < 0)
		abort();
	for (uint32_t i = 0; i < m->packets; i++)
		if (trace_writer_put(w, 1000000000 + (int64_t)i * 2000000, frame, lab_frame(m, i, 'o', frame), NULL) <
		    0)
			abort();
	if (trace_writer_close(w, NULL) < 0)
		abort();
}

struct lab_session {
	FILE *second;
	struct trace_writer *capture;
	double restart_ns, net_ns, slow_ns;
};

static inline void lab_run(const struct lab_make *m, const char *path, uint32_t run, const struct lab_session *s,
			   struct rng *rng)
{
	FILE *f = lab_create(path);
	uint8_t frame[96];

	fputs("pkt_id,tx_ts_ns,rx1_ts_ns,rx2_ts_ns,latency_rx1_ns,latency_rx2_ns,diff_latency_ns\n", f);
	for (uint32_t i = 0; i < m->packets; i++) {
		int64_t bypass = (int64_t)i * 2000000, diff, second, at;
		double gross = m->offset_ns + s->net_ns + s->restart_ns + (i % 2 ? s->slow_ns : 0);

		diff = llround(gross + m->noise_ns * rng_normal(rng));
		second = llround((gross + m->second_bias_ns + m->noise_ns / 2 * rng_normal(rng)) / 6.4) * 64 / 10;
		if (lab_unreadable(m, i) || (m->lost_every && i % m->lost_every == m->lost_every - 1))
			continue;
		/* a second packet with an id that was seen is not recorded */
		if (lab_id(m, i) == i + 1)
			fprintf(f, "%u,0,%" PRId64 ",%" PRId64 ",0,0,%" PRId64 "\n", lab_id(m, i), bypass + diff,
				bypass, diff);
		if (s->second && lab_id(m, i) == i + 1)
			fprintf(s->second, "%u,%u,%" PRId64 "\n", run, lab_id(m, i), second);
		at = INT64_C(1700000000000000000) + (int64_t)run * (m->packets * INT64_C(2000000) + 5000000000) +
		     bypass;
		if (s->capture) {
			if (trace_writer_put(s->capture, at, frame, lab_frame(m, i, 'B', frame), NULL) < 0 ||
			    trace_writer_put(s->capture, at + second, frame, lab_frame(m, i, 'P', frame), NULL) < 0)
				abort();
		}
	}
	fclose(f);
}

static inline void lab_sessions(const struct lab_make *m, const char *tag, double net_ns, double slow_ns,
				struct rng *rng)
{
	char path[512];

	for (unsigned n = 1; n <= m->sessions; n++) {
		/* sessions differ by 0, +1, -1, +2, -2 ... ns: their median is the truth where they are odd */
		struct lab_session s = { .net_ns = net_ns, .slow_ns = slow_ns };

		s.restart_ns = n % 2 ? -(double)(n / 2) : (double)(n / 2);
		snprintf(path, sizeof(path), "%s/silicon_%s_s%u.csv", m->dir, tag, n);
		if (m->second) {
			s.second = lab_create(path);
			fputs("run,pkt_id,silicon_diff_ns\n", s.second);
		}
		snprintf(path, sizeof(path), "%s/refl_%s_s%u.pcap", m->dir, tag, n);
		if (m->captures && trace_writer_open(path, &s.capture, NULL) < 0)
			abort();
		snprintf(path, sizeof(path), "%s/%s_s%u", m->dir, tag, n);
		lab_mkdir(path);
		for (uint32_t run = 1; run <= m->runs; run++) {
			snprintf(path, sizeof(path), "%s/%s_s%u/f_run%02u.csv", m->dir, tag, n, run);
			lab_run(m, path, run, &s, rng);
		}
		if (s.second)
			fclose(s.second);
		if (s.capture && trace_writer_close(s.capture, NULL) < 0)
			abort();
	}
}

static inline void lab_make(const struct lab_make *m)
{
	static const char *const words[][2] = {
		{ "CS", "checksum" }, { "FT", "fiveTuple" }, { "FWD", "forward" }, { "RH", "rmvhdr" }
	};
	struct rng rng;

	rng_init(&rng, 11);
	lab_mkdir(m->dir);
	for (unsigned i = 0; i < m->program_count; i++) {
		const struct lab_truth *p = &m->programs[i];

		lab_sessions(m, p->tag, p->net_ns, p->slow_ns, &rng);
		lab_sessions(m, p->null, 0, 0, &rng);
		for (unsigned w = 0; m->trace && w < 4; w++)
			if (strcmp(words[w][0], p->tag) == 0)
				lab_trace(m, words[w][1]);
	}
}

#endif
