/* SPDX-License-Identifier: Apache-2.0 */
#include "report/view.h"

#include "base/err.h"

static const struct measure_view views[MEASURES] = {
	[MEASURE_TRANSIT] = { .heading = "In-switch latency by cell",
			      .contrasts = { { .axis = "program" }, { .axis = "tracer", .fixed = "off" } },
			      .sweeps = { "interval", "carrier", "size" },
			      .sweep_least = 3 },
	[MEASURE_DIFFERENTIAL] = { .heading = "Net latency by program", .sweep_least = 2 },
	[MEASURE_CONTROL] = { .heading = "Control plane by cell",
			      .contrasts = { { .axis = "mode",
					       .fixed = "sync",
					       .fixed_over = true,
					       .group = "operation" } },
			      .sweeps = { "switches", "count" },
			      .exponents = true,
			      .headlines = 1,
			      .sweep_least = 2 },
	[MEASURE_RESOURCES] = { .heading = "Resources by cell",
				.contrasts = { { .axis = "program" } },
				.sweeps = { "hops", "carrier" },
				.exponents = true,
				.headlines = 2,
				.sweep_least = 2 },
	[MEASURE_TELEMETRY] = { .heading = "Telemetry by cell",
				.sweeps = { "hops", "carrier" },
				.headlines = 2,
				.sweep_least = 2 },
	[MEASURE_CALIBRATE] = { .heading = "Load that each cell carries",
				.contrasts = { { .axis = "program" } },
				.sweeps = { "size" },
				.headlines = 1,
				.sweep_least = 3 },
};

const struct measure_view *measure_view(enum measure measure)
{
	TARE_ASSERT(measure < MEASURES);
	return &views[measure];
}
