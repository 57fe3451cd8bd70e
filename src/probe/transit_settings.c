/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/transit_settings.h"

#include "probe/line_settings.h"

static const char *const transit_tracer_choices[] = { "off", "on", NULL };

const struct setting transit_settings[] = {
	{ .name = "count",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "1000",
	  .least = 1,
	  .most = 10000000,
	  .help = "probes in a run" },
	{ .name = "interval",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "60ms",
	  .least = 10000,
	  .most = 60000000000,
	  .help = "between probes, on an absolute schedule" },
	SETTING_PROBE_SIZE,
	SETTING_CARRIER("UDP traffic beside the probes, rate of whole frames; 0: none (cold)"),
	SETTING_CARRIER_SIZE(""),
	SETTING_DEADLINE("late"),
	{ .name = "in_flight",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "256",
	  .most = 1000000,
	  .help = "most probes on their way at a time, a further one is late; 0: no bound" },
	{ .name = "drift",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SHARE,
	  .fallback = "0",
	  .most = 1000,
	  .help = "most that the switch's clock drifts against the host's; 0: they are one clock" },
	{ .name = "tracer",
	  .type = SETTING_CHOICE,
	  .choices = transit_tracer_choices,
	  .fallback = "off",
	  .help = "on: follow the switch's threads through the scheduler, and divide each probe's time by cause" },
	{ .name = NULL },
};

void transit_settings_check(const struct settings *s,
			    void (*problem)(void *context, const char *setting, const char *message), void *context)
{
	int64_t carrier_bps = settings_number(s, "carrier");

	carrier_setting_check(s, problem, context);
	if (carrier_bps == 0 && settings_get(s, "carrier_size")->set && !settings_get(s, "carrier")->set)
		problem(context, "carrier_size", "there is no carrier; leave it out, or set carrier");
}

int transit_outline(const struct settings *probes, const char *directory, struct stream_outline *ret, struct err *err)
{
	(void)directory;
	(void)err;
	*ret = (struct stream_outline){
		.probe_count = (uint32_t)settings_number(probes, "count"),
		.frame_count = (uint32_t)settings_number(probes, "count"),
		.longest_bytes = (uint32_t)settings_number(probes, "size"),
		.send_ns = settings_number(probes, "count") * settings_number(probes, "interval"),
	};
	if (settings_number(probes, "carrier") > 0 && settings_number(probes, "carrier_size") > ret->longest_bytes)
		ret->longest_bytes = (uint32_t)settings_number(probes, "carrier_size");
	return 0;
}

const char *transit_regime(int64_t carrier_bps, int64_t interval_ns)
{
	return carrier_bps > 0 ? "warm" : interval_ns >= TRANSIT_COLD_NS ? "cold" : "dense";
}
