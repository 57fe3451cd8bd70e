/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_RESOURCES_SETTINGS_H
#define TARE_PROBE_RESOURCES_SETTINGS_H

#include "base/settings.h"
#include "probe/differential_stream.h"

/* The probes: section of a resources plan: nothing is probed, switches are watched while a carrier runs through them. */
extern const struct setting resources_settings[];

/* What the table alone cannot say; as differential_settings_check. */
void resources_settings_check(const struct settings *s,
			      void (*problem)(void *context, const char *setting, const char *message), void *context);

int resources_outline(const struct settings *probes, const char *directory, struct stream_outline *ret,
		      struct err *err);

#endif
