/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_LINE_SETTINGS_H
#define TARE_PROBE_LINE_SETTINGS_H

#include "base/settings.h"
#include "probe/transit_settings.h"

/* Rows that the probes: sections of measures on a line have in common: one meaning, one range, one default. */
#define SETTING_PROBE_SIZE                                                                                             \
	{                                                                                                              \
		.name = "size", .type = SETTING_QUANTITY, .dim = QUANTITY_SIZE, .fallback = "256B",                    \
		.least = TRANSIT_FRAME_LEAST, .most = TRANSIT_FRAME_MOST,                                              \
		.help = "frame of a probe, without its checksum (FCS)"                                                 \
	}
#define SETTING_DEADLINE(then)                                                                                         \
	{                                                                                                              \
		.name = "deadline", .type = SETTING_QUANTITY, .dim = QUANTITY_TIME, .fallback = "1s", .least = 1000,   \
		.most = 60000000000, .help = "a probe that arrives later than this is " then                           \
	}
#define SETTING_CARRIER(help_)                                                                                         \
	{                                                                                                              \
		.name = "carrier", .type = SETTING_QUANTITY, .dim = QUANTITY_BITRATE, .fallback = "0",                 \
		.most = 100000000000, .help = help_                                                                    \
	}
#define SETTING_CARRIER_SIZE(also)                                                                                     \
	{                                                                                                              \
		.name = "carrier_size", .type = SETTING_QUANTITY, .dim = QUANTITY_SIZE, .fallback = "1500B",           \
		.least = 60, .most = TRANSIT_FRAME_MOST, .help = "frame of the carrier, without its checksum" also     \
	}

/* What can be wrong with `carrier` by itself. */
static inline void carrier_setting_check(const struct settings *s,
					 void (*problem)(void *context, const char *setting, const char *message),
					 void *context)
{
	int64_t carrier_bps = settings_number(s, "carrier");

	if (carrier_bps > 0 && carrier_bps < 1000)
		problem(context, "carrier", "less than a frame in a second; expected 0, or 1kbps and more");
}

#endif
