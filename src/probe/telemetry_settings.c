/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/telemetry_settings.h"

#include <inttypes.h>
#include <stdio.h>

#include "probe/telemetry.h"
#include "probe/transit_settings.h"

/* What the taps see waits in their rings until the run is over: nobody is woken at every switch beside the measurement. */
void telemetry_settings_check(const struct settings *s,
			      void (*problem)(void *context, const char *setting, const char *message), void *context)
{
	int64_t count = settings_number(s, "count");
	char message[128];

	transit_settings_check(s, problem, context);
	if (count <= TELEMETRY_PROBES_MOST)
		return;
	snprintf(message, sizeof(message),
		 "%" PRId64 " probes in a run; at most %d are kept at every switch; expected more runs", count,
		 TELEMETRY_PROBES_MOST);
	problem(context, "count", message);
}
