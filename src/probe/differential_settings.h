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

enum differential_times { TIMES_RATE, TIMES_ORIGINAL }; /* choices of "times" */
/* Choices of "format" are enum id_format's tare, instrument and oct, and after them: */
enum { FORMAT_AUTO = 3 };
/* Choices of "template" are enum frame_kind's. Choices of "cores" are their number, 0 for auto. */

/*
 * What the table alone cannot say: settings that need or exclude one another.
 * Calls `problem` for each, with the setting's name and a message that does not
 * repeat it. Looks at no file.
 */
void differential_settings_check(const struct settings *s,
				 void (*problem)(void *context, const char *setting, const char *message),
				 void *context);

#endif
