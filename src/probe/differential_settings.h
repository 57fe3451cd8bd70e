/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_DIFFERENTIAL_SETTINGS_H
#define TARE_PROBE_DIFFERENTIAL_SETTINGS_H

#include "base/settings.h"

/*
 * The probes: section of a differential plan. `count` may be absent: the whole
 * trace then, or DIFFERENTIAL_COUNT generated probes.
 */
extern const struct setting differential_settings[];

enum { DIFFERENTIAL_COUNT = 1000 };

enum differential_times { TIMES_RATE, TIMES_ORIGINAL };                  /* choices of "times" */
enum differential_template { TEMPLATE_UDP, TEMPLATE_TCP };               /* choices of "template" */
enum differential_format { FORMAT_TARE, FORMAT_INSTRUMENT, FORMAT_OCT }; /* choices of "format" */
enum differential_cores { CORES_AUTO, CORES_ONE, CORES_TWO };            /* choices of "cores" */

/*
 * What the table alone cannot say: settings that need or exclude one another.
 * Calls `problem` for each, with the setting's name and a message that does not
 * repeat it. Looks at no file.
 */
void differential_settings_check(const struct settings *s,
				 void (*problem)(void *context, const char *setting, const char *message),
				 void *context);

#endif
