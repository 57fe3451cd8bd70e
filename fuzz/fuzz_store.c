/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "campaign/control_values.h"
#include "report/html.h"
#include "report/terminal.h"
#include "store/hop.h"
#include "store/operation.h"
#include "store/resource.h"
#include "store/store_private.h"
#include "store/trial.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { PAIRS_MOST = 1 << 16, ROWS_MOST = 1 << 16 };

/* The same run taken for one of a transit plan: refused, or good enough to be aligned. */
static void read_transits(struct store *s, const struct stored_run *run)
{
	struct transit *rows = malloc((run->pair_count + 1) * sizeof(*rows));
	struct transit_conditions conditions;
	struct ledger ledger = { 0 };
	struct err err = { 0 };
	int64_t count;

	TARE_ASSERT(rows);
	count = store_read_transits(s, run, rows, run->pair_count, &err);
	TARE_ASSERT(count == run->pair_count || (count < 0 && err.message[0]));
	if (count > 0)
		TARE_ASSERT(transit_align(rows, (uint32_t)count, 0, &ledger, &conditions, NULL) == 0);
	err = (struct err){ 0 };
	TARE_ASSERT(store_read_conditions(s, run, &conditions, &err) == 0 || err.message[0]);
	free(rows);
}

static void read_values(struct store *s, const struct stored_run *run)
{
	struct run_value *values;
	struct err err = { 0 };
	struct arena arena;
	uint32_t count = 0;

	arena_init(&arena, 16 << 20);
	if (store_read_values(s, run, &arena, &values, &count, &err) < 0)
		TARE_ASSERT(err.message[0]);
	else
		for (uint32_t i = 0; i < count; i++)
			TARE_ASSERT(values[i].name[0] && values[i].unit);
	arena_release(&arena);
}

static void read_operations(struct store *s, const struct stored_run *run)
{
	struct run_value values[CONTROL_VALUES_MOST];
	struct control_account account;
	struct err err = { 0 };
	struct operation *rows;
	bool there = false;
	int64_t count;

	if (store_read_account(s, run, &account, &there, &err) < 0) {
		TARE_ASSERT(err.message[0]);
		return;
	}
	if (!there || account.operations > ROWS_MOST)
		return;
	rows = malloc((account.operations + 1) * sizeof(*rows));
	TARE_ASSERT(rows);
	count = store_read_operations(s, run, &account, rows, (uint32_t)account.operations, &err);
	TARE_ASSERT(count == (int64_t)account.operations || (count < 0 && err.message[0]));
	if (count >= 0)
		TARE_ASSERT(control_values(&account, rows, (uint32_t)count, values) <= CONTROL_VALUES_MOST);
	free(rows);
}

static void read_hops(struct store *s, const struct stored_run *run)
{
	struct err err = { 0 };
	int64_t count = store_count_hops(s, run, &err);
	struct hop *hops;

	TARE_ASSERT(count >= 0 || err.message[0]);
	if (count <= 0 || count > ROWS_MOST)
		return;
	hops = malloc((size_t)count * sizeof(*hops));
	TARE_ASSERT(hops);
	TARE_ASSERT(store_read_hops(s, run, hops, (size_t)count, &err) == count || err.message[0]);
	free(hops);
}

static void read_parts(struct store *s, const struct stored_run *run)
{
	struct err err = { 0 };
	int64_t count = store_count_parts(s, run, &err);
	struct probe_parts *parts;

	TARE_ASSERT(count >= 0 || err.message[0]);
	if (count <= 0 || count > ROWS_MOST)
		return;
	parts = malloc((size_t)count * sizeof(*parts));
	TARE_ASSERT(parts);
	TARE_ASSERT(store_read_parts(s, run, parts, (size_t)count, &err) == count || err.message[0]);
	free(parts);
}

static void read_search(struct store *s, const struct stored_run *run)
{
	struct search_record search;
	struct trial *trials;
	struct err err = { 0 };
	struct arena arena;
	uint32_t count = 0;
	bool found = false;

	arena_init(&arena, 16 << 20);
	if (store_read_search(s, run, &arena, &search, &trials, &count, &found, &err) < 0)
		TARE_ASSERT(err.message[0]);
	arena_release(&arena);
}

static void read_second(struct store *s, const struct stored_run *run)
{
	struct second_record clock;
	struct second_pair *rows;
	struct err err = { 0 };
	int there = store_read_second_clock(s, run, &clock, &err);
	int64_t count;

	TARE_ASSERT(there >= 0 || err.message[0]);
	if (there != 1 || clock.pairs > ROWS_MOST)
		return;
	rows = malloc((clock.pairs + 1) * sizeof(*rows));
	TARE_ASSERT(rows);
	count = store_read_second(s, run, &clock, rows, (uint32_t)clock.pairs, &err);
	TARE_ASSERT(count == (int64_t)clock.pairs || (count < 0 && err.message[0]));
	free(rows);
}

static void read_samples(struct store *s, const struct stored_restart *restart)
{
	for (uint32_t i = 0; i < restart->run_count; i++) {
		const struct stored_run *run = &restart->runs[i];
		struct err err = { 0 };
		struct pair *pairs;
		int64_t count;

		read_values(s, run);
		read_operations(s, run);
		read_hops(s, run);
		read_parts(s, run);
		read_search(s, run);
		read_second(s, run);
		if (run->pair_count > PAIRS_MOST)
			continue;
		pairs = malloc((run->pair_count + 1) * sizeof(*pairs));
		TARE_ASSERT(pairs);
		count = store_read_pairs(s, run, pairs, run->pair_count, &err);
		TARE_ASSERT(count == run->pair_count || (count < 0 && err.message[0]));
		for (int64_t p = 0; p < count; p++)
			TARE_ASSERT(pairs[p].fate < FATES);
		free(pairs);
		read_transits(s, run);
	}
}

/* Somebody else's store is reported, or it is said why not. */
static void report(struct store *s)
{
	struct terminal_style style = { .width = 72, .utf8 = true };
	struct result *result = NULL;
	struct err err = { 0 };
	FILE *out = fopen("/dev/null", "w");

	TARE_ASSERT(out);
	if (result_build(s, &result, &err) == 0) {
		TARE_ASSERT(terminal_write(result, out, &style, TERMINAL_CELLS | TERMINAL_BUDGET, &err) == 0);
		TARE_ASSERT(html_write(result, out, &err) == 0);
		result_destroy(result);
	} else {
		TARE_ASSERT(err.message[0]);
	}
	fclose(out);
}

/* Is no run so long, by its own word, that reading it would take long? */
static bool is_small(const struct stored_restart *restarts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < restarts[i].run_count; k++)
			if (restarts[i].runs[k].pair_count > PAIRS_MOST)
				return false;
	return true;
}

/* A database image from anywhere: refused with a message, or everything read from it can be used as it is. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct stored_campaign campaign;
	struct stored_restart *restarts;
	struct arena arena;
	struct err err = { 0 };
	struct store *s;
	uint32_t count;

	if (store_open_image(bytes, length, &s, &err) != 0) {
		TARE_ASSERT(err.message[0] && err.kind != ERR_NONE);
		return 0;
	}
	arena_init(&arena, 64 << 20);
	if (store_read_campaign(s, &arena, &campaign, &err) == 0) {
		for (uint32_t t = 0; t < campaign.turn_count; t++)
			TARE_ASSERT(campaign.turns[t].cell < campaign.cell_count);
		for (uint32_t c = 0; c < campaign.cell_count; c++)
			TARE_ASSERT(campaign.cells[c].label && (campaign.cells[c].tare == CELL_NONE ||
								campaign.cells[c].tare < campaign.cell_count));
		if (store_read_restarts(s, &arena, &restarts, &count, &err) == 0) {
			for (uint32_t i = 0; i < count; i++) {
				TARE_ASSERT(restarts[i].cell < campaign.cell_count);
				read_samples(s, &restarts[i]);
			}
			if (is_small(restarts, count))
				report(s);
		}
	}
	arena_release(&arena);
	store_close(s);
	return 0;
}
