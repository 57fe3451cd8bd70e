/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_TELEMETRY_SETTINGS_H
#define TARE_PROBE_TELEMETRY_SETTINGS_H

#include "base/settings.h"

/* The probes: section of a telemetry plan is that of a transit plan; this is what differs. As transit_settings_check. */
void telemetry_settings_check(const struct settings *s,
			      void (*problem)(void *context, const char *setting, const char *message), void *context);

#endif
