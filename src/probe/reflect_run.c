/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/reflect_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BURST = 32, LOOK_EVERY = 256 };

int reflect_run_init(struct reflect_run *run, const struct reflect_setup *setup, struct err *err)
{
	*run = (struct reflect_run){ .ids = setup->ids };
	for (int c = 0; c < 2; c++) {
		run->ticks[c] = calloc(setup->ids ? setup->ids : 1, sizeof(uint64_t));
		if (!run->ticks[c]) {
			reflect_run_release(run);
			return err_set(err, ERR_HOST, ENOMEM, "no memory for the stamps of %u probes", setup->ids);
		}
		/* written, so that the loop meets no page for the first time */
		memset(run->ticks[c], 0, setup->ids * sizeof(uint64_t));
	}
	return 0;
}

void reflect_run_release(struct reflect_run *run)
{
	free(run->ticks[0]);
	free(run->ticks[1]);
	run->ticks[0] = run->ticks[1] = NULL;
}

static void start(struct reflect_run *run, const struct reflect_setup *setup)
{
	static const char marks[] = { REFLECTED_PATH, REFLECTED_BYPASS };
	struct io_port *const from[] = { setup->path, setup->bypass };

	for (int c = 0; c < 2; c++) {
		uint16_t hint = run->of[c].hint;

		reflector_init(&run->of[c], from[c], setup->out, setup->format, marks[c]);
		run->of[c].hint = hint;
		run->of[c].first_ticks = run->ticks[c];
		run->of[c].ids = run->ids;
		if (setup->destination_mac) {
			run->of[c].readdress = true;
			memcpy(run->of[c].destination_mac, setup->destination_mac, 6);
		}
		memset(run->ticks[c], 0, run->ids * sizeof(uint64_t));
	}
	run->bursts = run->busy_ticks = 0;
}

/* The stamp comes first, before any frame is looked at. */
static inline unsigned take(struct reflect_run *run, int copy, struct io_port *port)
{
	struct io_frame frames[BURST];
	unsigned n = io_take_hold(port, frames, BURST);
	uint64_t stamp;

	if (__builtin_expect(n == 0, 1))
		return 0;
	stamp = tsc_stamp();
	io_open(port, frames, n);
	reflector_return(&run->of[copy], port, frames, n, stamp);
	run->busy_ticks += tsc_now() - stamp;
	run->bursts++;
	return n;
}

int reflect_run_once(struct reflect_run *run, const struct reflect_setup *setup, struct err *err)
{
	int64_t idle_ticks = tsc_from_ns(setup->tsc, (double)setup->idle_ns);
	uint64_t last = 0;
	unsigned look = LOOK_EVERY;

	start(run, setup);
	for (;;) {
		/* in turn, so that neither ring is always looked at first */
		unsigned n = look & 1 ? take(run, 0, setup->path) : take(run, 1, setup->bypass);

		n += look & 1 ? take(run, 1, setup->bypass) : take(run, 0, setup->path);
		if (n)
			last = tsc_now();
		if (__builtin_expect(--look, 1))
			continue;
		/* odd, so that the order changes from one round of looks to the next as well */
		look = LOOK_EVERY - 1;
		if (last && (int64_t)(tsc_now() - last) > idle_ticks)
			return 0;
		if (atomic_load_explicit(setup->interrupted, memory_order_relaxed))
			return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
	}
}

uint32_t reflect_run_pairs(const struct reflect_run *run)
{
	uint32_t pairs = 0;

	for (uint32_t id = 0; id < run->ids; id++)
		pairs += run->ticks[0][id] && run->ticks[1][id];
	return pairs;
}

static void write_rows(const struct reflect_run *run, const struct tsc *tsc, FILE *out)
{
	uint64_t first = UINT64_MAX;

	for (int c = 0; c < 2; c++)
		for (uint32_t id = 0; id < run->ids; id++)
			if (run->ticks[c][id] && run->ticks[c][id] < first)
				first = run->ticks[c][id];
	fputs("pkt_id,tx_ts_ns,rx1_ts_ns,rx2_ts_ns,latency_rx1_ns,latency_rx2_ns,diff_latency_ns\n", out);
	for (uint32_t id = 0; id < run->ids; id++) {
		uint64_t path = run->ticks[0][id], bypass = run->ticks[1][id];

		if (path && bypass)
			fprintf(out, "%" PRIu32 ",0,%.0f,%.0f,0,0,%.0f\n", id,
				floor(tsc_to_ns(tsc, (int64_t)(path - first))),
				floor(tsc_to_ns(tsc, (int64_t)(bypass - first))),
				trunc(tsc_to_ns(tsc, (int64_t)(path - bypass))));
	}
}

int reflect_run_write(const struct reflect_run *run, const struct tsc *tsc, const char *path, struct err *err)
{
	char *fresh = NULL;
	FILE *out;
	int r = 0;

	if (asprintf(&fresh, "%s.new", path) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path);
	out = fopen(fresh, "we");
	if (out)
		write_rows(run, tsc, out);
	if (!out || (ferror(out) | fclose(out)) != 0 || rename(fresh, path) != 0) {
		r = err_set(err, ERR_HOST, errno ? errno : EIO, "%s: cannot write: %s", path,
			    strerror(errno ? errno : EIO));
		unlink(fresh);
	}
	free(fresh);
	return r;
}
