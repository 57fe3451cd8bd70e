/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/resources_settings.h"

#include "probe/transit_settings.h"

const struct setting resources_settings[] = {
	{ .name = "duration",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "60s",
	  .least = 100000000,
	  .most = 86400000000000,
	  .help = "of a run" },
	{ .name = "interval",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "100ms",
	  .least = 1000000,
	  .most = 60000000000,
	  .help = "between samples, on an absolute schedule" },
	{ .name = "carrier",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_BITRATE,
	  .fallback = "0",
	  .most = 100000000000,
	  .help = "UDP traffic through the switches, rate of whole frames; 0: none" },
	{ .name = "carrier_size",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SIZE,
	  .fallback = "1500B",
	  .least = 60,
	  .most = TRANSIT_FRAME_MOST,
	  .help = "frame of the carrier, without its checksum" },
	{ .name = NULL },
};

void resources_settings_check(const struct settings *s,
			      void (*problem)(void *context, const char *setting, const char *message), void *context)
{
	int64_t carrier_bps = settings_number(s, "carrier");

	if (carrier_bps > 0 && carrier_bps < 1000)
		problem(context, "carrier", "less than a frame in a second; expected 0, or 1kbps and more");
	if (settings_number(s, "interval") > settings_number(s, "duration"))
		problem(context, "interval", "longer than the run; expected less than its duration");
}

int resources_outline(const struct settings *probes, const char *directory, struct stream_outline *ret, struct err *err)
{
	(void)directory;
	(void)err;
	*ret = (struct stream_outline){
		.longest_bytes = (uint32_t)settings_number(probes, "carrier_size"),
		.send_ns = settings_number(probes, "duration"),
	};
	return 0;
}
