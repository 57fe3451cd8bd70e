/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/build.h"

/* Why cold cells take longer than warm ones: pairs that differ in the carrier only, and where the scheduler was followed. */

static const char *const parts[CAUSE_PARTS] = { "part_wake_up", "part_cpu_wait", "part_running", "part_rest" };
static const char *const words[CAUSE_PARTS] = { "the way out of idle (wake-up)", "waiting for a CPU",
						"running, the same code slower", "the rest" };

static double quantity_us(const struct cell_result *c, const char *name)
{
	const struct quantity_result *q = cell_quantity(c, name, "us");

	return q ? q->value : NAN;
}

/*
 * False: nothing was followed. Where the plan asked for it and the host did not allow it, the switch's CPU time and wait
 * for each packet stand for what its probes ran and waited: a mean over all its threads and packets.
 */
static bool parts_of(const struct cell_result *c, struct cause_side *ret)
{
	if (!cell_quantity(c, parts[0], "us"))
		return false;
	for (int k = 0; k < CAUSE_PARTS; k++)
		ret->part_us[k] = quantity_us(c, parts[k]);
	ret->coarse = isnan(ret->part_us[CAUSE_RUNNING]);
	if (ret->coarse) {
		const struct figure *p50 = &c->gross.q[QUANTILE_P50];

		ret->part_us[CAUSE_RUNNING] = quantity_us(c, "switch_cpu_per_packet");
		ret->part_us[CAUSE_CPU_WAIT] = quantity_us(c, "switch_wait_per_packet");
		ret->part_us[CAUSE_WAKE_UP] = 0; /* in the rest: the counters do not tell it apart */
		ret->part_us[CAUSE_REST] =
			p50->state == FIGURE_NUMBER
				? p50->value / 1000 - ret->part_us[CAUSE_RUNNING] - ret->part_us[CAUSE_CPU_WAIT]
				: NAN;
	}
	ret->whole_us = 0;
	for (int k = 0; k < CAUSE_PARTS; k++)
		ret->whole_us += ret->part_us[k];
	return isfinite(ret->whole_us);
}

static bool same_but_carrier(const struct result *r, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < r->axis_count; i++)
		if (strcmp(r->axes[i], "carrier") != 0 && strcmp(r->cells[a].values[i], r->cells[b].values[i]) != 0)
			return false;
	return true;
}

static const char *statement(struct result *r, const struct cause_result *c)
{
	double difference = c->cold.whole_us - c->warm.whole_us, share;

	share = difference > 0 ? 100 * (c->cold.part_us[c->part] - c->warm.part_us[c->part]) / difference : NAN;
	if (isnan(share))
		return arena_printf(&r->arena, "%s is not slower than %s: %.1f us against %.1f%s",
				    r->cells[c->cold_cell].title, r->cells[c->warm_cell].title, c->cold.whole_us,
				    c->warm.whole_us, c->coarse ? " (coarse)" : "");
	return arena_printf(
		&r->arena, "%s takes %.2f times as long as %s; of the %.1f us between them %.0f %% are %s%s",
		r->cells[c->cold_cell].title, c->ratio, r->cells[c->warm_cell].title, difference, share, words[c->part],
		c->coarse ? " (coarse: from the scheduler's counters, means over all threads and packets)" : "");
}

static int add_cause(struct result *r, uint32_t cold, uint32_t warm)
{
	struct cause_result *c = &r->causes[r->cause_count];

	*c = (struct cause_result){ .cold_cell = cold, .warm_cell = warm };
	if (!parts_of(&r->cells[cold], &c->cold) || !parts_of(&r->cells[warm], &c->warm))
		return 0;
	c->coarse = c->cold.coarse || c->warm.coarse;
	c->ratio = c->cold.whole_us / c->warm.whole_us;
	for (uint32_t k = 1; k < CAUSE_PARTS; k++)
		if (c->cold.part_us[k] - c->warm.part_us[k] > c->cold.part_us[c->part] - c->warm.part_us[c->part])
			c->part = k;
	c->statement = statement(r, c);
	r->cause_count++;
	return c->statement ? 0 : -ENOMEM;
}

int causes_build(struct result *r)
{
	uint32_t most = 0;
	int rc = 0;

	for (uint32_t i = 0; i < r->cell_count; i++)
		most += strcmp(r->cells[i].regime, "warm") == 0;
	if (most == 0)
		return 0;
	/* each warm cell has at most one cold one, the first that fits */
	r->causes = arena_array(&r->arena, most, sizeof(*r->causes));
	if (!r->causes)
		return -ENOMEM;
	for (uint32_t w = 0; rc == 0 && w < r->cell_count; w++) {
		if (strcmp(r->cells[w].regime, "warm") != 0)
			continue;
		for (uint32_t c = 0; c < r->cell_count; c++) {
			if (strcmp(r->cells[c].regime, "cold") != 0 || !same_but_carrier(r, c, w))
				continue;
			rc = add_cause(r, c, w);
			break;
		}
	}
	return rc;
}
