/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/stream.h"

#include <errno.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

enum { CACHE_LINE_BYTES = 64 };

static uint64_t aligned(uint64_t bytes)
{
	return (bytes + CACHE_LINE_BYTES - 1) & ~(uint64_t)(CACHE_LINE_BYTES - 1);
}

static int no_memory(uint64_t bytes, struct err *err)
{
	unsigned long long megabytes = bytes / 1000000 + 1;

	return err_set(err, ERR_HOST, ENOMEM, "no memory for a probe stream of %llu MB", megabytes);
}

/* Room for s->packet_count packets; lengths are set, offsets follow. */
static int place_packets(struct stream *s, struct err *err)
{
	for (uint32_t i = 0; i < s->packet_count; i++) {
		s->packets[i].offset_bytes = s->byte_count;
		s->byte_count += aligned(s->packets[i].length_bytes);
		if (s->packets[i].length_bytes > s->longest_bytes)
			s->longest_bytes = s->packets[i].length_bytes;
	}
	s->bytes = aligned_alloc(CACHE_LINE_BYTES, s->byte_count);
	return s->bytes != NULL ? 0 : no_memory(s->byte_count, err);
}

static int alloc_packets(struct stream *s, uint32_t packet_count, struct err *err)
{
	TARE_ASSERT(packet_count > 0);
	s->packet_count = packet_count;
	s->packets = calloc(packet_count, sizeof(*s->packets));
	return s->packets != NULL ? 0 : no_memory((uint64_t)packet_count * sizeof(*s->packets), err);
}

/* --- generated --- */

static int check_generated(const struct stream_spec *spec, struct err *err)
{
	const struct frame_template *t = &spec->frame;
	bool has_ports = t->kind == FRAME_KIND_UDP4 || t->kind == FRAME_KIND_TCP4 || t->kind == FRAME_KIND_UDP6;
	uint32_t least;

	if (spec->count == 0)
		return err_set(err, ERR_USAGE, EINVAL, "probe count 0: expected 1 or more");
	if (spec->rate_mpps == 0)
		return err_set(err, ERR_USAGE, EINVAL,
			       "rate 0: expected more, as a generated stream has no times of its own");
	if (spec->format >= ID_NONE)
		return err_set(err, ERR_USAGE, EINVAL,
			       "probe id format none: expected tare, instrument or oct for a generated stream");
	if (spec->format == ID_INSTRUMENT && has_ports)
		return err_set(err, ERR_USAGE, EINVAL,
			       "instrument ids in %s frames: expected EtherType 0x88B5 or IPv4 protocol 0xFD",
			       frame_kind_name(t->kind));
	if (spec->flows > 1 && !has_ports)
		return err_set(err, ERR_USAGE, EINVAL, "%u flows in %s frames: expected 1, as they have no ports",
			       spec->flows, frame_kind_name(t->kind));
	if (spec->flows > UINT32_C(65536) - t->port_source)
		return err_set(err, ERR_USAGE, EINVAL, "%u flows in %s frames from port %u: expected 1 to %u",
			       spec->flows, frame_kind_name(t->kind), t->port_source, 65536 - t->port_source);
	least = id_formats[spec->format].least_bytes;
	if (spec->format == ID_OCT) {
		uint8_t text[ID_OCT_MARKER_BYTES + 10];

		least = oct_write(text, spec->count);
	}
	least += frame_template_headers(t);
	if (t->length_bytes < least || t->length_bytes > FRAME_MAX_BYTES)
		return err_set(err, ERR_USAGE, EINVAL,
			       "frame size %u B: expected %u to %u B for %s ids in %s frames (without the FCS)",
			       t->length_bytes, least, FRAME_MAX_BYTES, id_formats[spec->format].name,
			       frame_kind_name(t->kind));
	return 0;
}

static int build_generated(struct stream *s, const struct stream_spec *spec, struct err *err)
{
	struct frame_template t = spec->frame;
	uint32_t flows = spec->flows > 1 ? spec->flows : 1, at = frame_template_headers(&t);
	int failed = check_generated(spec, err);

	if (failed)
		return failed;
	s->format = spec->format;
	s->count = spec->count;
	failed = alloc_packets(s, s->format == ID_OCT || flows > s->count ? s->count : flows, err);
	if (failed)
		return failed;
	for (uint32_t i = 0; i < s->packet_count; i++)
		s->packets[i].length_bytes = t.length_bytes;
	failed = place_packets(s, err);
	for (uint32_t i = 0; i < s->packet_count && !failed; i++) {
		struct stream_packet *p = &s->packets[i];
		uint8_t *frame = s->bytes + p->offset_bytes;
		struct frame_view view;

		t.port_source = (uint16_t)(spec->frame.port_source + i % flows);
		failed = frame_build(&t, frame, err);
		if (failed)
			break;
		p->id_offset = (uint16_t)at;
		if (s->format != ID_OCT)
			continue;
		p->id = i + 1; /* published traces count from 1 */
		oct_write(frame + at, p->id);
		frame_parse(frame, t.length_bytes, &view);
		frame_set_checksums(frame, &view, true);
	}
	return failed;
}

/* --- from a trace --- */

static int check_trace(const struct stream_spec *spec, struct err *err)
{
	const struct trace *t = spec->trace;

	if (spec->format != ID_NATIVE && (spec->format != t->format || spec->format == ID_NONE))
		return err_set(
			err, ERR_USAGE, EINVAL,
			"%s: its packets carry %s ids, not %s: expected tare (written over them)%s%s", t->path,
			id_formats[t->format].name, spec->format < ID_FORMATS ? id_formats[spec->format].name : "?",
			t->format != ID_NONE ? " or " : "", t->format != ID_NONE ? id_formats[t->format].name : "");
	if (!id_formats[spec->format].patchable && spec->count > t->packet_count)
		return err_set(
			err, ERR_USAGE, EINVAL,
			"%s: %u probes of a trace of %u packets: expected at most as many, as an id of the trace "
			"can be sent once in a run (tare ids can go round)",
			t->path, spec->count, t->packet_count);
	if (spec->rate_mpps != 0)
		return 0;
	if (t->times_back > 0)
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: %u packets are earlier than the one before: expected rising times (sort it with "
			       "`reordercap IN OUT`, or give a rate)",
			       t->path, t->times_back);
	if (spec->count > t->packet_count && t->packets[t->packet_count - 1].time_ns == 0)
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: its times do not advance: expected a rate, to send it more than once", t->path);
	return 0;
}

/* Where a native id may be written over a frame: the payload of UDP, TCP and probe protocols. 0: nowhere. */
static uint32_t native_place(const struct frame_view *v)
{
	bool ours = v->ethertype == ETHERTYPE_PROBE ||
		    (v->ip_version != 0 && !v->any_fragment &&
		     (v->ip_proto == IP_PROTO_UDP || v->ip_proto == IP_PROTO_TCP || v->ip_proto == IP_PROTO_PROBE));

	return v->fault == FRAME_OK && ours && v->payload_bytes >= ID_NATIVE_BYTES ? v->payload_offset : 0;
}

static int write_native_over(const struct trace *t, uint32_t i, uint8_t *frame, struct stream_packet *p,
			     struct err *err)
{
	struct frame_view v;
	bool good;

	frame_parse(frame, p->length_bytes, &v);
	p->id_offset = (uint16_t)native_place(&v);
	if (p->id_offset == 0) {
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: packet %u (EtherType 0x%04x, IP protocol %u, %u bytes, payload %u, %s) has no room "
			       "for a tare id: expected UDP, TCP, IPv4 protocol 0xFD or EtherType 0x88B5, no fragment, "
			       "with %u bytes of payload",
			       t->path, i + 1, v.ethertype, v.ip_proto, p->length_bytes, v.payload_bytes,
			       frame_fault_name(v.fault), ID_NATIVE_BYTES);
	}
	/* Once the sum is right with one id it is with all: they balance. A capture's wrong sums stay as they were. */
	good = frame_checksums_good(frame, &v);
	id_native_write(frame + p->id_offset, 0, 0);
	if (good)
		frame_set_checksums(frame, &v, false);
	return 0;
}

static int build_from_trace(struct stream *s, const struct stream_spec *spec, struct err *err)
{
	const struct trace *t = spec->trace;
	int failed = check_trace(spec, err);

	if (failed)
		return failed;
	s->from_trace = true;
	s->format = spec->format;
	s->count = spec->count != 0 ? spec->count : t->packet_count;
	failed = alloc_packets(s, s->count < t->packet_count ? s->count : t->packet_count, err);
	if (failed)
		return failed;
	for (uint32_t i = 0; i < s->packet_count; i++)
		s->packets[i].length_bytes = t->packets[i].length_bytes;
	failed = place_packets(s, err);
	for (uint32_t i = 0; i < s->packet_count && !failed; i++) {
		const struct trace_packet *from = &t->packets[i];
		struct stream_packet *p = &s->packets[i];
		uint8_t *frame = s->bytes + p->offset_bytes;

		memcpy(frame, t->bytes + from->offset_bytes, from->length_bytes);
		if (s->format == ID_NATIVE) {
			failed = write_native_over(t, i, frame, p, err);
			continue;
		}
		p->id = from->id;
		p->id_offset = (uint16_t)from->id_offset_bytes;
		if (from->id_status != ID_OK)
			p->fate = STREAM_UNREADABLE;
		else if (from->id_shared && s->format == ID_OCT)
			p->fate = STREAM_SHARED;
	}
	return failed;
}

/* --- what both have --- */

/* Intended times: start + n * period exactly, or the trace's, each further pass a mean gap after the last. */
static int set_times(struct stream *s, const struct stream_spec *spec, struct err *err)
{
	const struct trace *t = spec->trace;
	int64_t pass_ns = 0;

	s->send_ns = malloc((size_t)s->count * sizeof(*s->send_ns));
	if (s->send_ns == NULL)
		return no_memory((uint64_t)s->count * sizeof(*s->send_ns), err);
	if (spec->rate_mpps != 0) {
		wide last_ns = (wide)(s->count - 1) * 1000000000000u / spec->rate_mpps;

		if (last_ns > INT64_MAX / 2)
			return err_set(err, ERR_USAGE, ERANGE,
				       "%u probes at %llu/1000 packets a second: expected less than 146 years",
				       s->count, (unsigned long long)spec->rate_mpps);
		for (uint32_t i = 0; i < s->count; i++)
			s->send_ns[i] = (int64_t)(((wide)i * 1000000000000u + spec->rate_mpps / 2) / spec->rate_mpps);
		return 0;
	}
	if (s->count > s->packet_count) {
		int64_t last_ns = t->packets[s->packet_count - 1].time_ns;

		pass_ns = last_ns + (s->packet_count > 1 ? last_ns / (s->packet_count - 1) : 0);
		if ((wide)pass_ns * (s->count / s->packet_count + 1) > INT64_MAX / 2)
			return err_set(err, ERR_USAGE, ERANGE,
				       "%s: %u probes at the trace's own times: expected less than 146 years", t->path,
				       s->count);
	}
	for (uint32_t i = 0; i < s->count; i++)
		s->send_ns[i] = t->packets[i % s->packet_count].time_ns + (int64_t)(i / s->packet_count) * pass_ns;
	return 0;
}

/* The offsets where ids stand, most frequent first. */
static int set_hints(struct stream *s)
{
	uint32_t *seen = calloc(FRAME_MAX_BYTES + 1, sizeof(*seen));

	if (seen == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->packet_count; i++) {
		if (s->packets[i].fate != STREAM_UNREADABLE)
			seen[s->packets[i].id_offset]++;
	}
	while (s->hint_count < ID_HINTS_MAX) {
		uint32_t best = 0;

		for (uint32_t at = 1; at <= FRAME_MAX_BYTES; at++) {
			if (seen[at] > seen[best])
				best = at;
		}
		if (seen[best] == 0)
			break;
		s->hints[s->hint_count++] = (uint16_t)best;
		seen[best] = 0;
	}
	free(seen);
	return 0;
}

static uint32_t slot_of(const struct stream *s, uint32_t id)
{
	return (id ^ id >> 16) & s->slot_mask;
}

/* The first probe with an id keeps it. */
static int set_slots(struct stream *s)
{
	uint64_t size = 4;

	if (id_formats[s->format].patchable)
		return 0;
	while (size < (uint64_t)s->packet_count * 2)
		size *= 2;
	s->slots = malloc(size * sizeof(*s->slots));
	if (s->slots == NULL)
		return -ENOMEM;
	s->slot_mask = (uint32_t)(size - 1);
	for (uint64_t i = 0; i < size; i++)
		s->slots[i].probe = STREAM_NONE;
	for (uint32_t i = 0; i < s->packet_count; i++) {
		uint32_t at = slot_of(s, s->packets[i].id);

		if (s->packets[i].fate == STREAM_UNREADABLE)
			continue;
		while (s->slots[at].probe != STREAM_NONE && s->slots[at].id != s->packets[i].id)
			at = (at + 1) & s->slot_mask;
		if (s->slots[at].probe == STREAM_NONE)
			s->slots[at] = (struct stream_slot){ .id = s->packets[i].id, .probe = i };
	}
	return 0;
}

static int finish(struct stream *s, const struct stream_spec *spec, struct err *err)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct stream_packet *p = stream_packet(s, i);

		s->total_bytes += p->length_bytes;
		s->unreadable += p->fate == STREAM_UNREADABLE;
		s->shared += p->fate == STREAM_SHARED;
	}
	if (set_hints(s) != 0 || set_slots(s) != 0)
		return no_memory((uint64_t)s->count * sizeof(*s->slots), err);
	return set_times(s, spec, err);
}

int stream_check(const struct stream_spec *spec, struct err *err)
{
	return spec->trace ? check_trace(spec, err) : check_generated(spec, err);
}

int stream_create(const struct stream_spec *spec, struct stream **ret_stream, struct err *err)
{
	struct stream *s = calloc(1, sizeof(*s));
	int failed;

	if (s == NULL)
		return no_memory(sizeof(*s), err);
	failed = spec->trace != NULL ? build_from_trace(s, spec, err) : build_generated(s, spec, err);
	if (!failed)
		failed = finish(s, spec, err);
	if (failed) {
		stream_destroy(s);
		return failed;
	}
	*ret_stream = s;
	return 0;
}

void stream_destroy(struct stream *s)
{
	if (s == NULL)
		return;
	free(s->bytes);
	free(s->packets);
	free(s->send_ns);
	free(s->slots);
	free(s);
}

uint32_t stream_fill_warm_up(const struct stream *s, uint32_t i, uint16_t tag, uint8_t *to)
{
	const struct stream_packet *p = stream_packet(s, i);

	memcpy(to, s->bytes + p->offset_bytes, p->length_bytes);
	if (p->fate == STREAM_UNREADABLE)
		return p->length_bytes;
	if (s->format == ID_NATIVE)
		id_native_write(to + p->id_offset, i, (tag & ID_TAG_MASK) | ID_TAG_WARM_UP);
	else if (s->format == ID_INSTRUMENT)
		store_be32(to + p->id_offset + 12, ID_SEQ_WARM_UP);
	else
		to[p->id_offset] = 'w';
	return p->length_bytes;
}

void stream_reader(const struct stream *s, uint16_t tag, struct id_reader *ret_reader)
{
	id_reader_init(ret_reader, s->format, tag);
	for (unsigned i = 0; i < s->hint_count; i++)
		id_reader_hint(ret_reader, s->hints[i]);
}

int stream_write_pcap(const struct stream *s, uint16_t tag, int64_t start_ns, const char *path, struct err *err)
{
	uint8_t frame[FRAME_MAX_BYTES];
	struct trace_writer *w;
	struct err ignored;
	int failed = trace_writer_open(path, &w, err);

	if (failed)
		return failed;
	for (uint32_t i = 0; i < s->count && !failed; i++) {
		uint32_t length_bytes = stream_fill(s, i, tag, frame);

		failed = trace_writer_put(w, start_ns + s->send_ns[i], frame, length_bytes, err);
	}
	if (failed) {
		trace_writer_close(w, &ignored);
		return failed;
	}
	return trace_writer_close(w, err);
}
