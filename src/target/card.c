/* SPDX-License-Identifier: Apache-2.0 */
#include "target/card.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "clock/tsc.h"
#include "io/dpdk.h"
#include "io/memory.h"
#include "target/card_private.h"
#include "target/card_stamps.h"

#define TIME(name_, fallback_, least_, most_, help_)                                                                   \
	{                                                                                                              \
		.name = name_, .type = SETTING_QUANTITY, .dim = QUANTITY_TIME, .fallback = fallback_, .least = least_, \
		.most = most_, .help = help_                                                                           \
	}
#define SHARE(name_, help_)                                                                                            \
	{                                                                                                              \
		.name = name_, .type = SETTING_QUANTITY, .dim = QUANTITY_SHARE, .fallback = "0%", .help = help_        \
	}

enum card_io { CARD_IO_MEMORY, CARD_IO_DPDK };
static const char *const io_choices[] = { "memory", "dpdk", NULL };

static const struct setting card_settings[] = {
	{ .name = "clock",
	  .type = SETTING_QUANTITY,
	  .dim = QUANTITY_FREQUENCY,
	  .fallback = "250MHz",
	  .least = 1000000,
	  .most = 10000000000,
	  .help = "the card's clock; see grid" },
	{ .name = "grid", .type = SETTING_FLAG, .help = "round programs' delays up to whole cycles of the clock" },
	TIME("shell_path", "1200ns", 1000, 1000000, "what the path takes beside the program, null included"),
	TIME("shell_bypass", "200ns", 0, 1000000, "what the bypass takes"),
	TIME("jitter", "0", 0, 100000, "standard deviation of the path's delay (normal)"),
	SHARE("loss", "copies not let out, each by itself"),
	SHARE("duplicates", "copies let out twice"),
	SHARE("reorder", "path copies let out behind their successor"),
	SHARE("unreadable", "copies whose probe id is damaged"),
	TIME("drift", "0", 0, 1000000, "the path gets slower by this much a minute, null included"),
	{ .name = "io",
	  .type = SETTING_CHOICE,
	  .choices = io_choices,
	  .fallback = "memory",
	  .help = "what its ports are" },
	{ .name = "stamps", .type = SETTING_FLAG, .help = "stamp arrivals by the kernel's clock too, as a second one" },
	{ .name = NULL },
};

/* How long a reordered copy waits to be overtaken, if no other frame comes: well under any deadline. */
#define REORDER_WAIT_NS 20e6
/* Longer than what a loop does between two polls, short enough for 2 million frames a second. */
#define SPIN_NS 150

static int card_probe(struct err *err)
{
	(void)err;
	return 0;
}

static int card_check(const struct target_setup *setup, struct err *err)
{
	const struct settings *s = setup->settings;
	struct card_program program;
	int r = card_program_parse(setup->program, &program, err);

	if (r < 0)
		return r;
	if (settings_number(s, "shell_path") < settings_number(s, "shell_bypass"))
		return err_set(err, ERR_USAGE, EINVAL,
			       "shell_path %s is shorter than shell_bypass %s; expected the path copy to leave last",
			       settings_text(s, "shell_path"), settings_text(s, "shell_bypass"));
	if (setup->frame_bytes > 16384)
		return err_set(err, ERR_USAGE, EINVAL, "frames of %u bytes do not fit the card; expected at most 16384",
			       setup->frame_bytes);
	return 0;
}

static int cable_open(enum card_io io, uint32_t frame_bytes, struct io_cable *ret, struct err *err)
{
	if (io == CARD_IO_DPDK)
		return dpdk_cable_open(CARD_RING_SLOTS, frame_bytes, ret, err);
	TARE_ASSERT(io == CARD_IO_MEMORY);
	return memory_cable_open(CARD_RING_SLOTS, frame_bytes, ret, err);
}

static void port_close(struct io_port *port)
{
	if (port)
		port->ops->close(port);
}

static void card_close(struct target *target)
{
	struct card *card = (struct card *)target;

	if (!card)
		return;
	port_close(card->ports.in);
	port_close(card->ports.path);
	port_close(card->ports.bypass);
	port_close(card->in);
	port_close(card->path.port);
	port_close(card->bypass.port);
	free(card->orders);
	free(card->records);
	free(card->done);
	arena_release(&card->arena);
	free(card);
}

static int ports_open(struct card *card, enum card_io io, uint32_t frame_bytes, struct err *err)
{
	struct io_cable in, path, bypass;
	int r;

	if (frame_bytes < 64)
		frame_bytes = 64;
	r = cable_open(io, frame_bytes, &in, err);
	if (r < 0)
		return r;
	card->ports.in = in.send_end;
	card->in = in.receive_end;
	r = cable_open(io, frame_bytes, &path, err);
	if (r < 0)
		return r;
	card->path = (struct card_lane){ .port = path.send_end, .shift = 0, .frame_bytes = frame_bytes };
	card->ports.path = path.receive_end;
	r = cable_open(io, frame_bytes, &bypass, err);
	if (r < 0)
		return r;
	card->bypass = (struct card_lane){ .port = bypass.send_end, .shift = 8, .frame_bytes = frame_bytes };
	card->ports.bypass = bypass.receive_end;
	return 0;
}

/* A second clock behind the first, at both receiving ports. */
static int stamps_open(struct card *card, struct err *err)
{
	int r = card_stamps_open(card->ports.path, &card->ports.path, err);

	if (r == 0)
		r = card_stamps_open(card->ports.bypass, &card->ports.bypass, err);
	card->ports.clock = CARD_STAMPS_CLOCK;
	return r;
}

static void facts_write(struct card *card, const struct target_setup *setup)
{
	const struct settings *s = setup->settings;
	char delays[CARD_MODES_MOST * 12] = "";

	for (uint32_t i = 0; i < card->program.mode_count; i++) {
		size_t n = strlen(delays);

		snprintf(delays + n, sizeof(delays) - n, "%s%u", i ? "," : "", card->program.delay_ns[i]);
	}
	/* The program was parsed, so its text needs no escaping. */
	card->facts = arena_printf(
		&card->arena,
		"{\"kind\":\"card\",\"program\":\"%s\",\"delays_ns\":[%s],\"shell_path\":\"%s\","
		"\"shell_bypass\":\"%s\",\"clock\":\"%s\",\"grid\":%s,\"jitter\":\"%s\",\"loss\":\"%s\","
		"\"duplicates\":\"%s\",\"reorder\":\"%s\",\"unreadable\":\"%s\",\"drift\":\"%s\","
		"\"io\":\"%s\"}",
		setup->program, delays, settings_text(s, "shell_path"), settings_text(s, "shell_bypass"),
		settings_text(s, "clock"), settings_flag(s, "grid") ? "true" : "false", settings_text(s, "jitter"),
		settings_text(s, "loss"), settings_text(s, "duplicates"), settings_text(s, "reorder"),
		settings_text(s, "unreadable"), settings_text(s, "drift"), settings_text(s, "io"));
}

static void settings_take(struct card *card, const struct target_setup *setup)
{
	const struct settings *s = setup->settings;
	double bypass_ns = (double)settings_number(s, "shell_bypass");

	card->seed = setup->seed;
	card->loss_ppm = (uint32_t)settings_number(s, "loss");
	card->duplicates_ppm = (uint32_t)settings_number(s, "duplicates");
	card->reorder_ppm = (uint32_t)settings_number(s, "reorder");
	card->unreadable_ppm = (uint32_t)settings_number(s, "unreadable");
	card->jitter_ns = (double)settings_number(s, "jitter");
	card->drift_ns_per_min = settings_number(s, "drift");
	card->cycle_ns = settings_flag(s, "grid") ? 1e9 / (double)settings_number(s, "clock") : 0;
	card->shell_bypass_ticks = card_ticks(card, bypass_ns);
	card->shell_gap_ticks = card_ticks(card, (double)settings_number(s, "shell_path") - bypass_ns);
	card->spin_ticks = card_ticks(card, SPIN_NS);
	card->reorder_wait_ticks = card_ticks(card, REORDER_WAIT_NS);
}

static int card_open(const struct target_setup *setup, struct target **ret_target, struct err *err)
{
	struct card *card;
	struct tsc tsc;
	int r = card_check(setup, err);

	if (r < 0)
		return r;
	/* Only the nominal delays depend on this rate; the truth is in ticks. Whether the TSC may be used at all is
	 * for the measuring side to say. */
	r = tsc_calibrate(&tsc, 10000000, true, err);
	if (r < 0)
		return r;
	card = aligned_alloc(64, (sizeof(*card) + 63) / 64 * 64);
	if (!card)
		return err_set(err, ERR_HOST, ENOMEM, "no memory for a card");
	memset(card, 0, sizeof(*card));
	arena_init(&card->arena, 0);
	card->target.ops = &target_card;
	card->hz = tsc.hz;
	card->deferred = UINT64_MAX;
	r = card_program_parse(setup->program, &card->program, err);
	TARE_ASSERT(r == 0);
	settings_take(card, setup);
	facts_write(card, setup);
	card->frame_count = setup->frame_count ? setup->frame_count : setup->probe_count;
	card->orders = calloc(card->frame_count + 1, sizeof(*card->orders));
	card->records = calloc(card->frame_count + 1, sizeof(*card->records));
	card->done = calloc(card->frame_count + 1, sizeof(*card->done));
	if (!card->orders || !card->records || !card->done || !card->facts)
		r = err_set(err, ERR_HOST, ENOMEM, "no memory for a card's records of %u frames", card->frame_count);
	else
		r = ports_open(card, settings_number(setup->settings, "io"), setup->frame_bytes, err);
	if (r == 0 && settings_flag(setup->settings, "stamps"))
		r = stamps_open(card, err);
	if (r < 0) {
		card_close(&card->target);
		return r;
	}
	*ret_target = &card->target;
	return 0;
}

static void card_ports(struct target *target, struct target_ports *ret_ports)
{
	*ret_ports = ((struct card *)target)->ports;
}

/* Since the process started, so that a drift goes on over restarts. */
static double process_age_min(void)
{
	unsigned long long start = 0;
	struct timespec now;
	char line[1024];
	FILE *f = fopen("/proc/self/stat", "re");

	if (f) {
		/* The name may hold anything but is closed by the last ')'; start time is the 20th field behind it. */
		const char *p = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;

		for (int field = 0; p && field < 20; field++)
			p = strchr(p + 1, ' ');
		if (p)
			start = strtoull(p, NULL, 10);
		fclose(f);
	}
	clock_gettime(CLOCK_BOOTTIME, &now);
	return ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 - (double)start / (double)sysconf(_SC_CLK_TCK)) / 60;
}

static bool chance(struct rng *rng, uint32_t ppm)
{
	return ppm != 0 && rng_below(rng, 1000000) < ppm;
}

static uint16_t draw_faults(const struct card *card, struct rng *rng, bool path)
{
	uint16_t faults = 0;

	if (chance(rng, card->loss_ppm))
		return CARD_LOST;
	if (chance(rng, card->duplicates_ppm))
		faults |= CARD_DUPLICATED;
	if (chance(rng, card->unreadable_ppm))
		faults |= CARD_UNREADABLE;
	/* An unreadable copy can be told only by its time: it is not moved as well. */
	if (path && chance(rng, card->reorder_ppm) && !(faults & CARD_UNREADABLE))
		faults |= CARD_REORDERED;
	return faults;
}

static void card_begin_run(struct target *target, uint32_t run)
{
	struct card *card = (struct card *)target;
	double drift_ns = card->drift_ns_per_min ? (double)card->drift_ns_per_min * process_age_min() : 0;
	struct rng rng;

	card_flush(card);
	card->base = card->taken;
	card->path.emitted = card->bypass.emitted = card->refused = 0;
	for (uint32_t i = 0; i < card->program.mode_count; i++) {
		double delay_ns = card->program.delay_ns[i];

		if (card->cycle_ns > 0)
			delay_ns = ceil(delay_ns / card->cycle_ns - 1e-9) * card->cycle_ns;
		card->mode_ticks[i] = card_ticks(card, delay_ns + drift_ns);
	}
	rng_init_stream(&rng, card->seed, run);
	for (uint32_t i = 0; i < card->frame_count; i++) {
		struct card_order *order = &card->orders[i];
		double jitter = card->jitter_ns > 0 ? card->jitter_ns * rng_normal(&rng) * card->hz / 1e9 : 0;
		double least = -(double)card->shell_gap_ticks;

		order->jitter_ticks = (int32_t)lrint(jitter > least ? jitter : least);
		order->faults = draw_faults(card, &rng, true);
		order->faults |= (uint16_t)(draw_faults(card, &rng, false) << 8);
	}
	memset(card->records, 0, (card->frame_count + 1) * sizeof(*card->records));
	memset(card->done, 0, (card->frame_count + 1) * sizeof(*card->done));
}

static int64_t card_truth(const struct target *target, uint32_t nth)
{
	uint64_t path = card_emitted_path(target, nth), bypass = card_emitted_bypass(target, nth);

	return path && bypass ? (int64_t)(path - bypass) : INT64_MIN;
}

static const char *card_describe(const struct target *target)
{
	return ((const struct card *)target)->facts;
}

uint64_t card_emitted_path(const struct target *target, uint32_t nth)
{
	const struct card *card = (const struct card *)target;

	return nth < card->frame_count ? card->records[nth].path : 0;
}

uint64_t card_emitted_bypass(const struct target *target, uint32_t nth)
{
	const struct card *card = (const struct card *)target;

	return nth < card->frame_count ? card->records[nth].bypass : 0;
}

uint16_t card_faults(const struct target *target, uint32_t nth)
{
	const struct card *card = (const struct card *)target;

	return nth < card->frame_count ? card->done[nth] : 0;
}

void card_injected(const struct target *target, struct card_account *ret)
{
	const struct card *card = (const struct card *)target;

	*ret = (struct card_account){
		.frames = card->taken - card->base,
		.emitted_path = card->path.emitted,
		.emitted_bypass = card->bypass.emitted,
		.refused = card->refused,
	};
	for (uint32_t i = 0; i < card->frame_count; i++) {
		unsigned path = card->done[i] & 0xff, bypass = card->done[i] >> 8;

		ret->lost_path += (path & CARD_LOST) != 0;
		ret->lost_bypass += (bypass & CARD_LOST) != 0;
		ret->duplicated_path += (path & CARD_DUPLICATED) != 0;
		ret->duplicated_bypass += (bypass & CARD_DUPLICATED) != 0;
		ret->reordered_path += (path & CARD_REORDERED) != 0;
		ret->unreadable_path += (path & CARD_UNREADABLE) != 0;
		ret->unreadable_bypass += (bypass & CARD_UNREADABLE) != 0;
	}
}

const struct target_ops target_card = {
	.kind = "card",
	.summary = "an emulated SmartNIC in this process, whose truth is known",
	.settings = card_settings,
	.knows_truth = true,
	.probe = card_probe,
	.check = card_check,
	.open = card_open,
	.ports = card_ports,
	.begin_run = card_begin_run,
	.poll = card_poll,
	.truth = card_truth,
	.describe = card_describe,
	.close = card_close,
};
