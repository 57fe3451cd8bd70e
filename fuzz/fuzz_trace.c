/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "packet/stream.h"
#include "packet/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A stream of what was read: each probe that can be told apart is itself. */
static void check_stream(const struct trace *t, enum id_format format, uint64_t rate_mpps)
{
	struct stream_spec spec = { .trace = t, .format = format, .rate_mpps = rate_mpps };
	static uint8_t frame[FRAME_MAX_BYTES];
	struct id_reader reader;
	struct err err = { 0 };
	struct stream *s;

	if (stream_create(&spec, &s, &err) != 0) {
		TARE_ASSERT(err.message[0] != '\0' && err.kind == ERR_USAGE);
		return;
	}
	TARE_ASSERT(s->count == t->packet_count);
	stream_reader(s, 1, &reader);
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t length_bytes = stream_fill(s, i, 1, frame), id = 0;
		bool own = stream_packet(s, i)->fate == STREAM_OK;

		TARE_ASSERT(i == 0 || s->send_ns[i] >= s->send_ns[i - 1]);
		/* A sequence that the sender writes can look like the warm-up mark, but not before 4294967295 probes. */
		if (id_read(&reader, frame, length_bytes, &id) == ID_OK && own && format != ID_OCT)
			TARE_ASSERT(stream_lookup(s, id) == i);
		/* With markers at several places of the trace, a hint may hit another text; strict ids still lead home. */
		if (format == ID_OCT && own)
			TARE_ASSERT(stream_lookup(s, stream_packet(s, i)->id) == i);
		stream_fill_warm_up(s, i, 1, frame);
	}
	stream_destroy(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct err err = { 0 };
	struct trace *t;

	if (trace_parse(bytes, length, "fuzz", ID_FORMATS, &t, &err) != 0) {
		TARE_ASSERT(err.message[0] != '\0' && err.kind == ERR_USAGE);
		return 0;
	}
	TARE_ASSERT(t->packet_count > 0);
	TARE_ASSERT(t->ids_good + t->ids_unreadable + t->ids_shared == t->packet_count);
	for (uint32_t i = 0; i < t->packet_count; i++) {
		const struct trace_packet *p = &t->packets[i];

		TARE_ASSERT(p->length_bytes >= FRAME_MIN_BYTES && p->length_bytes <= FRAME_MAX_BYTES);
		TARE_ASSERT(p->offset_bytes + p->length_bytes <= t->byte_count);
		TARE_ASSERT(p->id_offset_bytes <= p->length_bytes);
	}
	check_stream(t, t->format, 0);
	check_stream(t, ID_NATIVE, 1000000);
	trace_destroy(t);
	return 0;
}
