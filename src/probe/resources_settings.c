/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/resources_settings.h"

#include "probe/line_settings.h"

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
	SETTING_CARRIER("UDP traffic through the switches, rate of whole frames; 0: none"),
	SETTING_CARRIER_SIZE(""),
	{ .name = NULL },
};

void resources_settings_check(const struct settings *s,
			      void (*problem)(void *context, const char *setting, const char *message), void *context)
{
	carrier_setting_check(s, problem, context);
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
