/* SPDX-License-Identifier: Apache-2.0 */
#include "report/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	double p;
} quantile_table[QUANTILES] = {
	{ "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p99.9", 0.999 }, { "p99.99", 0.9999 },
};

const char *quantile_name(unsigned quantile)
{
	TARE_ASSERT(quantile < QUANTILES);
	return quantile_table[quantile].name;
}

double quantile_p(unsigned quantile)
{
	TARE_ASSERT(quantile < QUANTILES);
	return quantile_table[quantile].p;
}

void result_destroy(struct result *result)
{
	if (!result)
		return;
	arena_release(&result->arena);
	free(result);
}

int result_check(const struct result *result, struct err *err)
{
	for (uint32_t i = 0; i < result->problem_count; i++) {
		const struct problem *p = &result->problems[i];

		if (strcmp(p->severity, "error") == 0)
			return err_set(err, ERR_RESULT, EBADMSG, "%s%s%s", p->about, p->about[0] ? ": " : "", p->text);
	}
	return 0;
}

const struct quantity_result *cell_quantity(const struct cell_result *cell, const char *name, const char *unit)
{
	for (uint32_t i = 0; i < cell->quantity_count; i++)
		if (strcmp(cell->quantities[i].name, name) == 0 && strcmp(cell->quantities[i].unit, unit) == 0)
			return &cell->quantities[i];
	return NULL;
}

bool result_has_probes(const struct result *result)
{
	return strcmp(result->measure, "transit") == 0 || strcmp(result->measure, "differential") == 0;
}

bool result_in_summary(const struct result *result, const char *quantity)
{
	for (uint32_t i = 0; i < result->quantity_count && i < result->headlines; i++)
		if (strcmp(result->quantities[i].name, quantity) == 0)
			return true;
	return result_has_probes(result);
}

const struct cell_result *result_find_cell(const struct result *result, const char *label)
{
	for (uint32_t i = 0; i < result->cell_count; i++)
		if (strcmp(result->cells[i].label, label) == 0)
			return &result->cells[i];
	return NULL;
}
