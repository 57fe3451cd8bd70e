/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/second.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/afpacket.h"
#include "probe/second_match.h"
#include "target/wire_port.h"

#define PATIENCE_NS INT64_C(200000000) /* longer than a capture keeps frames to itself */

static int same_port(const char *name, const struct settings *target, struct err *err)
{
	static const char *const ports[] = { "path", "bypass", "in" };

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		const char *other = setting_find(target->table, ports[i]) ? settings_text(target, ports[i]) : NULL;

		if (other && strcmp(other, name) == 0)
			return err_set(
				err, ERR_USAGE, EINVAL,
				"reflect and the target's %s are the same port '%s': what goes back would be taken for "
				"a probe; expected a port of its own",
				ports[i], name);
	}
	return 0;
}

int second_check(const struct settings *probes, const struct settings *target, struct err *err)
{
	const char *reflect = settings_text(probes, "reflect"), *name = settings_text(probes, "capture");
	struct capture *capture;
	int r;

	if (!reflect)
		return 0;
	r = same_port(reflect, target, err);
	if (r == 0 && !wire_port_by_dpdk(reflect) && if_nametoindex(reflect) == 0)
		r = err_set(err, ERR_HOST, ENODEV, "reflect: there is no interface '%s' here (ip link shows them)",
			    reflect);
	if (r < 0 || !name)
		return r;
	r = capture_open(name, ID_NATIVE, settings_text(probes, "capture_clock"), 0, &capture, err);
	if (r == 0)
		capture_close(capture);
	return r;
}

int second_open(struct second *s, const struct settings *probes, const struct stream *stream, struct err *err)
{
	const char *reflect = settings_text(probes, "reflect"), *name = settings_text(probes, "capture");
	uint64_t frames = 2 * (uint64_t)stream->count * (1 + (uint64_t)settings_number(probes, "warm_train")) + 4096;
	int r;

	*s = (struct second){ .stream = stream };
	if (!reflect)
		return 0;
	if (!reflected_format(stream->format))
		return err_set(err, ERR_USAGE, EINVAL, "reflect cannot mark copies in format %s; expected tare or oct",
			       id_formats[stream->format].name);
	snprintf(s->reflect_name, sizeof(s->reflect_name), "%s", reflect);
	r = wire_port_open(reflect, 0, stream->longest_bytes, &s->reflect, err);
	if (r < 0 || !name)
		return r;
	snprintf(s->capture_name, sizeof(s->capture_name), "%s", name);
	s->rows = malloc(((size_t)stream->count + 1) * sizeof(*s->rows));
	if (!s->rows)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for the second clock of %u probes", stream->count);
	return capture_open(name, stream->format, settings_text(probes, "capture_clock"),
			    frames < UINT32_MAX ? (uint32_t)frames : UINT32_MAX, &s->capture, err);
}

void second_close(struct second *s)
{
	capture_close(s->capture);
	if (s->reflect)
		s->reflect->ops->close(s->reflect);
	free(s->rows);
	*s = (struct second){ 0 };
}

int second_begin(struct second *s, struct err *err)
{
	return s->capture ? capture_start(s->capture, err) : 0;
}

/* Which probe is this copy of, as the matcher wants to know? */
static uint32_t probe_of(const struct second *s, const struct capture_event *e, uint16_t tag, uint32_t sent)
{
	uint32_t probe;

	if (e->copy == 0)
		return SECOND_FOREIGN;
	if (e->status != ID_OK)
		return SECOND_UNREADABLE;
	if (s->stream->format == ID_NATIVE && e->tag != tag)
		return SECOND_FOREIGN;
	probe = stream_lookup(s->stream, e->id);
	if (probe == STREAM_NONE || probe >= sent)
		return SECOND_FOREIGN;
	return stream_packet(s->stream, probe)->fate == STREAM_OK ? probe : SECOND_UNREADABLE;
}

static int match(struct second *s, const struct capture_event *events, uint32_t count, uint16_t tag, uint32_t sent,
		 struct err *err)
{
	struct second_match m;
	int r = second_match_init(&m, sent, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < count; i++)
		if (events[i].status != ID_WARM_UP)
			second_match_take(&m, probe_of(s, &events[i], tag, sent),
					  events[i].copy == REFLECTED_PATH ? SECOND_PATH : SECOND_BYPASS,
					  events[i].stamp_ns);
	second_match_finish(&m, s->rows);
	s->record = m.clock;
	second_match_release(&m);
	return 0;
}

int second_end(struct second *s, uint16_t tag, uint32_t sent, uint64_t frames, struct err *err)
{
	const struct capture_event *events;
	uint64_t dropped = 0;
	uint32_t count;
	int r = 0;

	if (s->reflect && !wire_port_by_dpdk(s->reflect_name))
		r = afpacket_check(s->reflect);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "reflect: port %s %s during the run", s->reflect_name,
			       r == -ENETDOWN ? "went down" : "vanished");
	if (!s->capture)
		return 0;
	r = capture_stop(s->capture, 2 * frames, PATIENCE_NS, &events, &count, &dropped, err);
	if (r == 0)
		r = match(s, events, count, tag, sent, err);
	if (r < 0)
		return r;
	snprintf(s->record.clock, sizeof(s->record.clock), "%s", capture_clock(s->capture));
	snprintf(s->record.source, sizeof(s->record.source), "%s", s->capture_name);
	if (dropped)
		snprintf(s->record.source, sizeof(s->record.source), "%.32s (%llu frames dropped by the capture)",
			 s->capture_name, (unsigned long long)dropped);
	return 0;
}

int second_put(const struct second *s, struct store *store, struct err *err)
{
	return s->capture ? store_put_second(store, &s->record, s->rows, err) : 0;
}
