/* SPDX-License-Identifier: Apache-2.0 */
#include "import/second_run.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/csv.h"
#include "import/tree.h"
#include "packet/probe_id.h"
#include "probe/second_match.h"

enum { RUNS_MOST = 1000 };
#define RUN_GAP_NS INT64_C(1000000000)

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void second_set_release(struct second_set *set)
{
	for (uint32_t i = 0; i < set->run_count; i++)
		free(set->runs[i].rows);
	free(set->runs);
	*set = (struct second_set){ 0 };
}

const struct second_of_run *second_set_find(const struct second_set *set, uint32_t run)
{
	for (uint32_t i = 0; i < set->run_count; i++)
		if (set->runs[i].run == run)
			return &set->runs[i];
	return NULL;
}

/* Which probe is it, as the matcher wants to know? */
static uint32_t probe_of(const struct import_ids *ids, int64_t id)
{
	uint32_t probe = import_ids_find(ids, id);

	if (probe == UINT32_MAX)
		return SECOND_FOREIGN;
	return ids->state[probe] == IMPORT_ID_OWN ? probe : SECOND_UNREADABLE;
}

/* A run's frames are all in: to the set. */
static int close_run(struct second_set *set, struct second_match *m, const char *path, uint32_t run, const char *clock,
		     double resolution_ns, struct err *err)
{
	struct second_of_run *runs = realloc(set->runs, (set->run_count + 1) * sizeof(*runs)), *r;

	if (!runs)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path);
	set->runs = runs;
	r = &runs[set->run_count];
	*r = (struct second_of_run){ .run = run, .rows = malloc((m->count ? m->count : 1) * sizeof(*r->rows)) };
	if (!r->rows)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path);
	set->run_count++;
	second_match_finish(m, r->rows);
	r->clock = m->clock;
	r->clock.resolution_ns = resolution_ns;
	snprintf(r->clock.clock, sizeof(r->clock.clock), "%s", clock);
	snprintf(r->clock.source, sizeof(r->clock.source), "%s", file_name(path));
	if (r->clock.pairs)
		return 0;
	return err_set(err, ERR_USAGE, EINVAL,
		       "%s: run %u: of %" PRIu64 " frames none make a pair of a probe that was sent (%" PRIu64
		       " with other ids, %" PRIu64 " without one of their own): is it of another run?",
		       path, run, m->clock.frames, m->clock.foreign, m->clock.unreadable);
}

/* --- differences --- */

static int take_rows(struct csv *csv, const struct import_ids *ids, struct second_match *m, struct second_set *set,
		     struct err *err)
{
	const char *path = csv->lines.path;
	uint32_t run = 0;
	int64_t row[CSV_WANTED_MOST];
	int r;

	while ((r = csv_next(csv, row, err)) == 1) {
		if (row[0] < 1 || row[0] > RUNS_MOST || row[0] < run)
			return err_set(err, ERR_USAGE, EINVAL,
				       "%s:%" PRIu64 ": run %" PRId64 " behind run %u; expected ascending, 1 to %d",
				       path, csv->lines.number, row[0], run, RUNS_MOST);
		if (row[0] != run && run)
			r = close_run(set, m, path, run, "published differences", 0, err);
		if (row[0] != run && r >= 0) {
			second_match_release(m);
			r = second_match_init(m, ids->count, err);
		}
		if (r < 0)
			return r;
		run = (uint32_t)row[0];
		/* the bypass stamp itself was not kept: at 0, the path's is the difference */
		second_match_take(m, probe_of(ids, row[1]), SECOND_PATH, row[2]);
		second_match_take(m, probe_of(ids, row[1]), SECOND_BYPASS, 0);
	}
	if (r == 0 && !run)
		return err_set(err, ERR_USAGE, EINVAL, "%s:2: no rows behind the header", path);
	return r == 0 ? close_run(set, m, path, run, "published differences", 0, err) : r;
}

int second_from_csv(const char *path, const struct import_ids *ids, struct second_set *ret, struct err *err)
{
	struct second_set set = { 0 };
	struct second_match m = { 0 };
	struct csv csv;
	int r = csv_open(&csv, path, second_csv_columns, err);

	if (r < 0)
		return r;
	r = take_rows(&csv, ids, &m, &set, err);
	csv_release(&csv);
	second_match_release(&m);
	for (uint32_t i = 0; i < set.run_count; i++)
		for (uint64_t k = 0; k < set.runs[i].clock.pairs; k++)
			set.runs[i].rows[k].at_ns = SECOND_NONE;
	if (r < 0)
		second_set_release(&set);
	else
		*ret = set;
	return r;
}

/* --- a capture --- */

static void take_frame(struct second_match *m, const struct import_ids *ids, const uint8_t *frame,
		       uint32_t length_bytes, int64_t stamp_ns)
{
	struct oct_id id;
	enum id_status status = oct_find(frame, length_bytes, &id);
	bool reflected = status != ID_NOT_A_PROBE && (id.copy == 'P' || id.copy == 'B');
	uint32_t probe = SECOND_FOREIGN;

	if (reflected)
		probe = status == ID_OK ? probe_of(ids, id.id) : SECOND_UNREADABLE;
	second_match_take(m, probe, reflected && id.copy == 'B' ? SECOND_BYPASS : SECOND_PATH, stamp_ns);
}

struct capture {
	const char *path;
	pcap_t *pcap;
	double resolution_ns;
	uint64_t frame; /* read so far */
};

static int capture_open(struct capture *c, const char *path, struct err *err)
{
	char reason[PCAP_ERRBUF_SIZE] = "";

	*c = (struct capture){ .path = path };
	c->pcap = pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, reason);
	if (!c->pcap) {
		/* libpcap's own words begin with the path, or do not */
		size_t skip = strncmp(reason, path, strlen(path)) == 0 ? strlen(path) : 0;

		return err_set(err, ERR_USAGE, EINVAL, "%s: no capture: %s", path,
			       reason + skip + (skip ? strspn(reason + skip, ": ") : 0));
	}
	if (pcap_datalink(c->pcap) != DLT_EN10MB)
		return err_set(err, ERR_USAGE, EINVAL, "%s: a capture of %s; expected one of Ethernet", path,
			       pcap_datalink_val_to_name(pcap_datalink(c->pcap)));
	return 0;
}

static int64_t stamp_of(const struct pcap_pkthdr *h)
{
	return (int64_t)h->ts.tv_sec * 1000000000 + h->ts.tv_usec;
}

/* Frames of one run, and the first of the next, which stays with pcap until the next call. */
static int take_frames(struct capture *c, const struct import_ids *ids, struct second_set *set, struct err *err)
{
	struct second_match m = { 0 };
	struct pcap_pkthdr *header;
	const u_char *frame;
	int64_t last_ns = SECOND_NONE;
	uint32_t run = 0;
	int r = 0, got = 1;

	while (r == 0 && (got = pcap_next_ex(c->pcap, &header, &frame)) == 1) {
		int64_t stamp_ns = stamp_of(header);

		c->frame++;
		if (last_ns == SECOND_NONE || stamp_ns - last_ns > RUN_GAP_NS) {
			if (run)
				r = close_run(set, &m, c->path, run, "published capture", c->resolution_ns, err);
			second_match_release(&m);
			if (r == 0 && ++run > RUNS_MOST)
				r = err_set(err, ERR_USAGE, EINVAL, "%s: frame %" PRIu64 ": over %d runs", c->path,
					    c->frame, RUNS_MOST);
			if (r == 0)
				r = second_match_init(&m, ids->count, err);
		}
		last_ns = stamp_ns > last_ns ? stamp_ns : last_ns;
		if (r == 0)
			take_frame(&m, ids, frame, header->caplen, stamp_ns);
	}
	if (r == 0 && got == PCAP_ERROR)
		r = err_set(err, ERR_USAGE, EINVAL, "%s: frame %" PRIu64 ": %s", c->path, c->frame + 1,
			    pcap_geterr(c->pcap));
	if (r == 0 && !run)
		r = err_set(err, ERR_USAGE, EINVAL, "%s: no frames in it", c->path);
	if (r == 0)
		r = close_run(set, &m, c->path, run, "published capture", c->resolution_ns, err);
	second_match_release(&m);
	return r;
}

int second_from_capture(const char *path, const struct import_ids *ids, struct second_set *ret, struct err *err)
{
	struct second_set set = { 0 };
	struct capture c;
	int r = capture_open(&c, path, err);

	if (r == 0)
		r = take_frames(&c, ids, &set, err);
	if (c.pcap)
		pcap_close(c.pcap);
	if (r < 0)
		second_set_release(&set);
	else
		*ret = set;
	return r;
}
