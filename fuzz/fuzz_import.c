/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "import/study.h"
#include "import/tsc_run.h"

/* Files of others: the first byte says whether the rest is a CSV of a run or records of a study. */

enum { PROBES = 64 };

static void take_csv(const uint8_t *data, size_t size)
{
	static uint8_t state[PROBES] = { [3] = IMPORT_ID_UNREADABLE, [5] = IMPORT_ID_SHARED };
	static uint32_t probe_of[PROBES + 1];
	const struct import_ids ids = { .count = PROBES, .state = state, .probe_of = probe_of, .id_count = PROBES + 1 };
	struct pair pairs[PROBES];
	struct run_record record;
	struct csv csv;
	uint64_t fates = 0;

	for (uint32_t i = 0; i < PROBES; i++)
		probe_of[i + 1] = i + 1;
	if (lines_open_memory(&csv.lines, data, size, "fuzz", NULL) < 0 || csv_start(&csv, tsc_run_columns, NULL) < 0)
		return;
	if (tsc_run_take(&csv, &ids, pairs, &record, NULL) < 0)
		return;
	TARE_ASSERT(ledger_balances(&record.ledger));
	for (uint32_t i = 0; i < PROBES; i++) {
		TARE_ASSERT(pairs[i].fate < FATES);
		TARE_ASSERT(pairs[i].fate != FATE_MATCHED || pairs[i].path_ticks != PAIR_NONE);
		fates += pairs[i].fate == FATE_MATCHED;
	}
	TARE_ASSERT(fates == record.ledger.fate[FATE_MATCHED]);
}

static void take_records(const uint8_t *data, size_t size)
{
	struct lines lines;
	struct study study;
	const char *text;
	size_t length;

	if (lines_open_memory(&lines, data, size, "fuzz", NULL) < 0)
		return;
	study_init(&study);
	study.path = "fuzz";
	while (lines_next(&lines, &text, &length, NULL) == 1) {
		study.line = lines.number;
		if (study_take_line(&study, 0, text, length, NULL) < 0)
			break;
	}
	study_release(&study);
	lines_release(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	(data[0] == 'c' ? take_csv : take_records)(data + 1, size - 1);
	return 0;
}
