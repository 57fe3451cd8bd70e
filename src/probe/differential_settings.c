/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/differential_settings.h"

#include <stdio.h>
#include <string.h>

#include "packet/probe_id.h"

static const char *const times_choices[] = { "rate", "original", NULL };
static const char *const template_choices[] = { "udp4", "tcp4", "udp6", "ipv4", "ether", NULL };
static const char *const format_choices[] = { "tare", "instrument", "oct", "auto", NULL };
static const char *const clock_choices[] = { "adapter_unsynced", "adapter", "kernel", NULL };
static const char *const cores_choices[] = { "auto", "1", "2", "3", "4", NULL };

#define TIME(name_, fallback_, least_, most_, help_)                                                                   \
	{                                                                                                              \
		.name = name_, .type = SETTING_QUANTITY, .dim = QUANTITY_TIME, .fallback = fallback_, .least = least_, \
		.most = most_, .help = help_                                                                           \
	}
#define COUNT(name_, fallback_, least_, most_, help_)                                                                  \
	{                                                                                                              \
		.name = name_, .type = SETTING_QUANTITY, .dim = QUANTITY_COUNT, .fallback = fallback_,                 \
		.least = least_, .most = most_, .help = help_                                                          \
	}

const struct setting differential_settings[] = {
	COUNT("count", NULL, 1, 100000000, "probes in a run (default: the whole trace, or 1000 generated)"),
	{ .name = "rate",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_RATE,
	  .fallback = "1kpps",
	  .least = 1,
	  .most = 100000000000,
	  .help = "probes a second, on an absolute schedule" },
	{ .name = "size",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SIZE,
	  .fallback = "256B",
	  .least = 60,
	  .most = 9018,
	  .help = "frame of a generated probe, without its checksum (FCS)" },
	{ .name = "template",
	  .type = SETTING_CHOICE,
	  .choices = template_choices,
	  .fallback = "udp4",
	  .help = "what generated probes look like" },
	COUNT("vlans", "0", 0, 2, "VLAN tags of a generated probe"),
	COUNT("flows", NULL, 1, 16384,
	      "source ports that generated probes go through in turn (default: 16 where there are ports)"),
	{ .name = "trace",
	  .type = SETTING_TEXT,
	  .value_name = "FILE",
	  .help = "pcap or pcapng file to replay instead of generated probes" },
	{ .name = "times",
	  .type = SETTING_CHOICE,
	  .choices = times_choices,
	  .fallback = "rate",
	  .help = "send at the rate, or with the trace's own times" },
	{ .name = "format",
	  .type = SETTING_CHOICE,
	  .choices = format_choices,
	  .fallback = "auto",
	  .help = "how a probe carries its id; auto: tare, or what the trace's packets carry" },
	COUNT("warm_train", "0", 0, 64, "unmeasured packets before each probe, to keep the path warm"),
	TIME("train_gap", "20us", 1000, 1000000000, "time between packets of the warm-up train"),
	TIME("deadline", "100ms", 1000, 60000000000, "a copy that arrives later than this is late"),
	TIME("gap_limit", "400ns", 1, 1000000000, "poll gap over which a sample is set apart"),
	COUNT("in_flight", "256", 1, 65536, "most probes on their way at a time"),
	{ .name = "cores",
	  .type = SETTING_CHOICE,
	  .choices = cores_choices,
	  .fallback = "auto",
	  .help = "cores the engine uses; auto: as many as are free and of use" },
	{ .name = "reflect",
	  .type = SETTING_TEXT,
	  .value_name = "PORT",
	  .help = "send both copies on, marked, through this port: an interface, or dpdk:DEVICE" },
	{ .name = "capture",
	  .type = SETTING_TEXT,
	  .value_name = "INTERFACE",
	  .help = "where the reflected copies arrive, stamped by a second clock" },
	{ .name = "capture_clock",
	  .type = SETTING_CHOICE,
	  .choices = clock_choices,
	  .help = "which clock must stamp there (default: the best it has)" },
	COUNT("bound_cycles", NULL, 1, 1000000000, "vendor's worst case of the program, in cycles of bound_clock"),
	{ .name = "bound_clock",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_FREQUENCY,
	  .least = 1,
	  .most = 100000000000,
	  .help = "clock of the vendor's cycles, such as 250MHz" },
	{ .name = "bound_bus",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SIZE,
	  .fallback = "64B",
	  .least = 1,
	  .most = 65536,
	  .help = "width of its bus: one more cycle for each begun by inserted headers" },
	{ .name = "bound_inserted",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SIZE,
	  .most = 65536,
	  .help = "header bytes the program inserts (default: from its .spec; of other targets 0)" },
	{ .name = NULL },
};

static void second_clock_check_settings(const struct settings *s,
					void (*problem)(void *context, const char *setting, const char *message),
					void *context)
{
	const char *reflect = settings_text(s, "reflect"), *capture = settings_text(s, "capture");

	if (capture && !reflect)
		problem(context, "capture", "needs copies that come there; expected reflect: PORT as well");
	if (reflect && capture && strcmp(reflect, capture) == 0)
		problem(context, "capture",
			"is the port that reflect sends from; expected the one at the other end of its cable");
	if (settings_get(s, "capture_clock")->present && !capture)
		problem(context, "capture_clock", "says which clock capture has; expected capture: INTERFACE as well");
	if (reflect && settings_number(s, "format") == ID_INSTRUMENT)
		problem(context, "reflect", "cannot mark copies in format instrument; expected tare or oct");
}

static void bound_check_settings(const struct settings *s,
				 void (*problem)(void *context, const char *setting, const char *message),
				 void *context)
{
	bool cycles = settings_get(s, "bound_cycles")->present, clock = settings_get(s, "bound_clock")->present;

	if (cycles && !clock)
		problem(context, "bound_cycles",
			"has no clock; expected bound_clock: FREQUENCY as well, such as 250MHz");
	if (clock && !cycles)
		problem(context, "bound_clock", "is the clock of bound_cycles; expected bound_cycles: N as well");
	if (settings_get(s, "bound_bus")->set && !cycles)
		problem(context, "bound_bus", "adds to bound_cycles; expected bound_cycles: N as well");
	if (settings_get(s, "bound_inserted")->set && !cycles)
		problem(context, "bound_inserted", "adds to bound_cycles; expected bound_cycles: N as well");
}

void differential_settings_check(const struct settings *s,
				 void (*problem)(void *context, const char *setting, const char *message),
				 void *context)
{
	static const char *const generated_only[] = { "size", "template", "vlans", "flows" };
	bool trace = settings_text(s, "trace") != NULL;
	int64_t train_ns = settings_number(s, "warm_train") * settings_number(s, "train_gap");
	int64_t rate_mpps = settings_number(s, "rate");

	second_clock_check_settings(s, problem, context);
	bound_check_settings(s, problem, context);
	for (unsigned i = 0; i < sizeof(generated_only) / sizeof(generated_only[0]); i++)
		if (trace && settings_get(s, generated_only[i])->set)
			problem(context, generated_only[i],
				"is for generated probes; leave it out, or leave out trace");
	if (!trace && settings_number(s, "times") == TIMES_ORIGINAL)
		problem(context, "times", "'original' needs a trace whose times to take");
	if (settings_number(s, "times") == TIMES_ORIGINAL && settings_get(s, "rate")->set)
		problem(context, "rate", "does not go with times: original; leave one of them out");
	if (train_ns > 0 && settings_number(s, "times") == TIMES_RATE && train_ns >= 1000000000000 / rate_mpps) {
		char message[160];

		snprintf(message, sizeof(message),
			 "a train of %lld ns does not fit between probes %lld ns apart; expected a lower rate, "
			 "fewer packets or a shorter train_gap",
			 (long long)train_ns, (long long)(1000000000000 / rate_mpps));
		problem(context, "warm_train", message);
	}
}
