/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "store/store_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { PAIRS_MOST = 1 << 16 };

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

static void read_samples(struct store *s, const struct stored_restart *restart)
{
	for (uint32_t i = 0; i < restart->run_count; i++) {
		const struct stored_run *run = &restart->runs[i];
		struct err err = { 0 };
		struct pair *pairs;
		int64_t count;

		read_values(s, run);
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
		}
	}
	arena_release(&arena);
	store_close(s);
	return 0;
}
