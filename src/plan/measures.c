/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "plan/plan_private.h"
#include "probe/differential_settings.h"

static void differential_stream(const struct settings *probes, const char *directory, int64_t *ret_ns,
				uint32_t *ret_probes, uint32_t *ret_frame_bytes)
{
	bool trace = settings_text(probes, "trace") != NULL;
	const struct setting_value *count = settings_get(probes, "count");
	int64_t probe_count = count->present ? count->number : trace ? 0 : DIFFERENTIAL_COUNT;

	(void)directory;
	*ret_probes = (uint32_t)probe_count;
	*ret_frame_bytes = trace ? 0 : (uint32_t)settings_number(probes, "size");
	*ret_ns = 0;
	/* A count is at most 1e8 and a period at most 1e12 ns: no overflow. */
	if (settings_number(probes, "times") == TIMES_RATE)
		*ret_ns = (int64_t)((wide_ns)probe_count * 1000000000000 / settings_number(probes, "rate"));
}

const struct measure_kind measure_kinds[MEASURES] = {
	[MEASURE_TRANSIT] = { .name = "transit" },
	[MEASURE_DIFFERENTIAL] = { .name = "differential",
				   .probes = differential_settings,
				   .tare_program = "null",
				   .check = differential_settings_check,
				   .stream = differential_stream },
	[MEASURE_CONTROL] = { .name = "control" },
	[MEASURE_TELEMETRY] = { .name = "telemetry" },
	[MEASURE_RESOURCES] = { .name = "resources" },
	[MEASURE_CALIBRATE] = { .name = "calibrate" },
};

const char *measure_name(enum measure measure)
{
	return measure < MEASURES ? measure_kinds[measure].name : "?";
}

bool measure_find(const char *name, enum measure *ret_measure)
{
	for (int i = 0; i < MEASURES; i++) {
		if (strcmp(measure_kinds[i].name, name) == 0) {
			*ret_measure = (enum measure)i;
			return true;
		}
	}
	return false;
}
