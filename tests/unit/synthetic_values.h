/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_SYNTHETIC_VALUES_H
#define TARE_TESTS_SYNTHETIC_VALUES_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "plan/plan.h"
#include "store/store.h"

/*
 * A campaign of a measure without probes, of known values, written through the
 * store's own functions: the product of its axes, every restart with the same
 * number of runs, each with the values that `value_of` says.
 */
enum { VALUES_AXES_MOST = 4, VALUES_CELLS_MOST = 64, VALUES_TURNS_MOST = 1024, VALUES_NAMES_MOST = 16 };

struct synthetic_values {
	enum measure measure;
	const char *name;
	const char *axes[VALUES_AXES_MOST];
	const char *values[VALUES_AXES_MOST][8]; /* of each axis, NULL-terminated */
	uint32_t restarts, runs;
	struct run_value names[VALUES_NAMES_MOST]; /* names and units; ends with a NULL name */
	/* The number `name` of a run of a cell whose axes have these values. */
	double (*value_of)(const char *const *at, unsigned name, uint32_t restart, uint32_t run, struct rng *rng);
	const char *(*invalid)(uint32_t cell, uint32_t restart, uint32_t run); /* NULL: all are valid */
	uint32_t failed_turn;                                                  /* fails; UINT32_MAX: none */
};

static inline struct plan *synthetic_values_plan(const struct synthetic_values *s)
{
	static struct cell cells[VALUES_CELLS_MOST];
	static const char *at[VALUES_CELLS_MOST][VALUES_AXES_MOST];
	static char labels[VALUES_CELLS_MOST][160];
	static struct turn turns[VALUES_TURNS_MOST];
	static struct plan plan;
	uint32_t cell_count = 1, axis_count = 0, n = 0;

	while (axis_count < VALUES_AXES_MOST && s->axes[axis_count]) {
		uint32_t k = 0;

		while (s->values[axis_count][k])
			k++;
		cell_count *= k;
		axis_count++;
	}
	for (uint32_t c = 0; c < cell_count; c++) {
		size_t length = 0;
		uint32_t left = c;

		for (uint32_t a = axis_count; a-- > 0;) {
			uint32_t k = 0;

			while (s->values[a][k])
				k++;
			at[c][a] = s->values[a][left % k];
			left /= k;
		}
		for (uint32_t a = 0; a < axis_count; a++)
			length += (size_t)snprintf(labels[c] + length, sizeof(labels[c]) - length, "%s%s=%s",
						   a ? " " : "", s->axes[a], at[c][a]);
		cells[c] = (struct cell){ .index = c, .tare = CELL_NONE, .label = labels[c], .values = at[c] };
	}
	for (uint32_t b = 0; b < s->restarts; b++)
		for (uint32_t c = 0; c < cell_count; c++)
			turns[n++] = (struct turn){ .cell = (c + b) % cell_count, .restart = b, .block = b };
	memset(&plan, 0, sizeof(plan));
	plan.path = "values.yaml";
	plan.directory = ".";
	plan.text = "name: values\n";
	plan.text_hash = 2;
	plan.name = s->name;
	plan.measure = s->measure;
	plan.seed = 7;
	plan.restarts = s->restarts;
	plan.runs = s->runs;
	plan.axes = (const char *const *)s->axes;
	plan.axis_count = axis_count;
	plan.cells = cells;
	plan.cell_count = cell_count;
	plan.turns = turns;
	plan.turn_count = n;
	return &plan;
}

static inline int synthetic_values_write(const struct synthetic_values *s, const char *dir, struct err *err)
{
	struct plan *plan = synthetic_values_plan(s);
	struct store *store = NULL;
	struct rng rng;
	int rc = store_open_write(dir, plan, &store, err);

	rng_init(&rng, 42);
	for (uint32_t t = 0; rc == 0 && t < plan->turn_count; t++) {
		const struct turn *turn = &plan->turns[t];

		rc = store_begin_restart(store, t, err);
		for (uint32_t r = 0; rc == 0 && r < s->runs; r++) {
			struct run_record record = { .run = r, .elapsed_ns = 1000000 };
			struct run_value v[VALUES_NAMES_MOST];
			uint32_t count = 0;

			if (s->invalid && s->invalid(turn->cell, turn->restart, r))
				snprintf(record.invalid, sizeof(record.invalid), "%s",
					 s->invalid(turn->cell, turn->restart, r));
			for (; s->names[count].name; count++) {
				v[count] = s->names[count];
				v[count].value =
					s->value_of(plan->cells[turn->cell].values, count, turn->restart, r, &rng);
			}
			rc = store_put_run(store, &record, NULL, 0, err);
			if (rc == 0)
				rc = store_put_values(store, v, count, err);
		}
		if (rc == 0)
			rc = store_commit_restart(store, "{\"kind\":\"synthetic\"}",
						  t == s->failed_turn ? "the switch did not come up" : NULL, err);
	}
	store_close(store);
	return rc;
}

#endif
