/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/control_settings.h"

#include <stdio.h>

static const char *const operations[] = { "insert", "modify", "delete", "read", "read_table", "read_single", NULL };
static const char *const modes[] = { "sync", "async", "pipelined", "batched", NULL };

const struct setting control_settings[] = {
	{ .name = "switches",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "1",
	  .least = 1,
	  .most = CONTROL_SWITCHES_MOST,
	  .help = "started side by side; N" },
	{ .name = "count",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "1000",
	  .least = 1,
	  .most = CONTROL_ENTRIES_MOST,
	  .help = "entries of each switch; K" },
	{ .name = "operation",
	  .type = SETTING_CHOICE,
	  .choices = operations,
	  .fallback = "insert",
	  .help = "what is done to them" },
	{ .name = "mode",
	  .type = SETTING_CHOICE,
	  .choices = modes,
	  .fallback = "async",
	  .help = "one RPC at all, one a switch, a window a switch, or many entries a Write" },
	{ .name = "window",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "64",
	  .least = 1,
	  .most = 4096,
	  .help = "RPCs in flight a switch, when pipelined" },
	{ .name = "batch",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "100",
	  .least = 1,
	  .most = CONTROL_BATCH_MOST,
	  .help = "entries a Write, when batched" },
	{ .name = "table",
	  .type = SETTING_TEXT,
	  .value_name = "NAME",
	  .help = "that is written to (the program's largest)" },
	{ .name = "action",
	  .type = SETTING_TEXT,
	  .value_name = "NAME",
	  .help = "of its entries (the table's first with parameters)" },
	{ .name = "port",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_COUNT,
	  .fallback = "2",
	  .most = 65535,
	  .help = "value of action parameters called port" },
	{ .name = "connect",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "5s",
	  .least = 1000000,
	  .most = 600000000000,
	  .help = "a switch that has not made us its primary client by then has failed" },
	{ .name = "deadline",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "10s",
	  .most = 3600000000000,
	  .help = "of each RPC" },
	{ .name = "limit",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "60s",
	  .least = 1000000,
	  .most = 86400000000000,
	  .help = "what of a run has not been sent by then is not sent any more" },
	{ .name = "reconnect",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "0",
	  .most = 60000000000,
	  .help = "after a loss connect again, so long later; 0: not in the same run" },
	{ .name = "spin",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "0",
	  .most = 1000000000,
	  .help = "stay awake so long for the next answer before sleeping: measures the work, not the wake-ups" },
	{ .name = "acting",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_SHARE,
	  .fallback = "0",
	  .help = "of inserts that packets are sent for, to see when they act" },
	{ .name = "acting_rate",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_RATE,
	  .fallback = "10kpps",
	  .least = 100000,
	  .most = 1000000000,
	  .help = "of these packets, at each switch; the time between two is the resolution" },
	{ .name = "acting_limit",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_TIME,
	  .fallback = "1s",
	  .least = 1000000,
	  .most = 60000000000,
	  .help = "an entry that does not act so long after its answer never does" },
	{ .name = NULL },
};

const char *control_operation_name(enum control_operation operation)
{
	return operations[operation];
}

const char *control_mode_name(enum control_mode mode)
{
	return modes[mode];
}

void control_settings_check(const struct settings *s,
			    void (*problem)(void *context, const char *setting, const char *message), void *context)
{
	enum control_operation operation = (enum control_operation)settings_number(s, "operation");
	enum control_mode mode = (enum control_mode)settings_number(s, "mode");
	char message[160];

	if (settings_number(s, "deadline") < 1000)
		problem(context, "deadline", "no RPC is answered within no time; expected 1us or more");
	if (mode == CONTROL_BATCHED && operation >= CONTROL_READ) {
		snprintf(message, sizeof(message),
			 "batched is a mode of writing; expected sync, async or pipelined for %s",
			 control_operation_name(operation));
		problem(context, "mode", message);
	}
	if (settings_number(s, "acting") > 0 && operation != CONTROL_INSERT) {
		snprintf(message, sizeof(message), "when an entry begins to act is seen for inserts; expected 0 for %s",
			 control_operation_name(operation));
		problem(context, "acting", message);
	}
}

int control_outline(const struct settings *probes, const char *directory, struct stream_outline *ret, struct err *err)
{
	(void)probes;
	(void)directory;
	(void)err;
	*ret = (struct stream_outline){ 0 };
	return 0;
}
