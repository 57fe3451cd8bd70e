/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "campaign/line.h"
#include "campaign/restart.h"
#include "probe/telemetry_figures.h"
#include "probe/transit_settings.h"
#include "store/hop.h"

/*
 * A restart of telemetry: a line of switches, a carrier from before the warm-up to the end, runs of probes that each switch
 * stacks its stamps on. A run is stored as a transit run, its figures as values, its hops as they are.
 */
struct measuring {
	struct line_bed bed;

	struct line_probes probes;
	struct telemetry telemetry; /* of the run */
};

static int begin(const struct measure_setup *setup, struct store *store, struct measuring **ret, struct err *err)
{
	return line_begin(sizeof(struct measuring), setup, store, ret, err);
}

static int open_restart(struct measuring *m, const struct turn *turn, uint64_t seed, struct err *err)
{
	return line_probes_open(&m->bed, &m->probes, turn, seed, err);
}

/* Not one stack with the hops of this line: what came back says nothing about it. */
static int check_stacks(const struct telemetry *t, uint64_t matched, struct err *err)
{
	const char *what = t->int_md ? "report" : "probe", *worst = "nothing was there";
	const struct telemetry_counts *c = &t->counts;
	uint64_t most = 0;

	for (uint32_t i = 0; i < t->count; i++)
		if (t->hops[i].stamped)
			return 0;
	if (matched == 0)
		return 0; /* the ledger tells of it */
	for (int f = 0; f < (t->int_md ? (int)INT_MD_FAULTS : (int)INT_FAULTS); f++) {
		uint64_t n = t->int_md ? c->md.by_fault[f] : c->shim.by_fault[f];

		if (n <= most)
			continue;
		most = n;
		worst = t->int_md ? int_md_fault_name((enum int_md_fault)f) : int_fault_name((enum int_fault)f);
	}
	if (c->other_length)
		worst = "another number of hops";
	return err_set(err, ERR_RESULT, EPROTO,
		       "no %s came back with the hops of %" PRIu32
		       " switches (%s); does the program add its stamps to probes, "
		       "as l3_lpm_int_chain and int_md do?",
		       what, t->switches, worst);
}

static int run(struct measuring *m, uint32_t number, const char **ret_invalid, struct err *err)
{
	int r;

	m->probes.config.run = number;
	telemetry_release(&m->telemetry);
	if (telemetry_init(&m->telemetry, m->probes.config.line.line->switch_count, m->probes.config.count,
			   m->probes.config.line.int_md) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for a run of %" PRIu32 " probes",
			       m->probes.config.count);
	r = telemetry_run(&m->probes.config, m->probes.rows, &m->telemetry, &m->probes.record, &m->probes.conditions,
			  err);
	if (r == 0)
		r = check_stacks(&m->telemetry, m->probes.record.ledger.fate[FATE_MATCHED], err);
	r = line_outcome(&m->bed, r, err);
	if (r == 0)
		*ret_invalid = m->probes.record.invalid[0] ? m->probes.record.invalid : NULL;
	return r;
}

static int put_values(struct measuring *m, struct store *store, struct err *err)
{
	struct telemetry_value *found = calloc(TELEMETRY_VALUES_MOST, sizeof(*found));
	struct run_value values[TELEMETRY_VALUES_MOST];
	int n = found ? telemetry_figures(&m->telemetry, found) : -ENOMEM, r;

	for (int i = 0; i < n; i++)
		values[i] = (struct run_value){ found[i].name, found[i].unit, found[i].value };
	r = n < 0 ? err_set(err, ERR_HOST, ENOMEM, "out of memory") : store_put_values(store, values, (uint32_t)n, err);
	free(found);
	return r;
}

static int put(struct measuring *m, struct store *store, struct err *err)
{
	const struct telemetry *t = &m->telemetry;
	int r = store_put_transit_run(store, &m->probes.record, &m->probes.conditions, m->probes.rows,
				      (uint32_t)m->probes.record.ledger.sent, err);

	if (r == 0)
		r = put_values(m, store, err);
	return r == 0 ? store_put_hops(store, t->hops, (size_t)t->switches * t->count, err) : r;
}

static void close_restart(struct measuring *m)
{
	telemetry_release(&m->telemetry);
	line_probes_close(&m->bed, &m->probes);
}

const struct measure_ops measure_telemetry = {
	.measure = MEASURE_TELEMETRY,
	.check = line_check,
	.begin = begin,
	.open = open_restart,
	.run = run,
	.put = put,
	.watched = line_watched,
	.facts = line_facts,
	.close = close_restart,
	.end = restart_end,
};
