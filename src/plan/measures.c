/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "plan/plan_private.h"
#include "probe/calibrate_settings.h"
#include "probe/control.h"
#include "probe/differential_settings.h"
#include "probe/differential_stream.h"
#include "probe/resources_settings.h"
#include "probe/telemetry_settings.h"
#include "probe/transit_settings.h"

const struct measure_kind measure_kinds[MEASURES] = {
	[MEASURE_TRANSIT] = { .name = "transit",
			      .on_line = true,
			      .figure = "the transit's median",
			      .probes = transit_settings,
			      .check = transit_settings_check,
			      .outline = transit_outline },
	[MEASURE_DIFFERENTIAL] = { .name = "differential",
				   .probes = differential_settings,
				   .tare_program = "null",
				   .figure = "the net",
				   .check = differential_settings_check,
				   .outline = differential_outline },
	[MEASURE_CONTROL] = { .name = "control",
			      .on_agents = true,
			      .probes = control_settings,
			      .check = control_settings_check,
			      .fits = control_fits,
			      .outline = control_outline },
	[MEASURE_TELEMETRY] = { .name = "telemetry",
				.on_line = true,
				.probes = transit_settings,
				.check = telemetry_settings_check,
				.outline = transit_outline },
	[MEASURE_RESOURCES] = { .name = "resources",
				.on_line = true,
				.probes = resources_settings,
				.check = resources_settings_check,
				.outline = resources_outline },
	[MEASURE_CALIBRATE] = { .name = "calibrate",
				.on_line = true,
				.probes = calibrate_settings,
				.check = calibrate_settings_check,
				.outline = calibrate_outline },
};

const char *measure_name(enum measure measure)
{
	return measure < MEASURES ? measure_kinds[measure].name : "?";
}

const struct setting *measure_probes(enum measure measure)
{
	return measure < MEASURES ? measure_kinds[measure].probes : NULL;
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
