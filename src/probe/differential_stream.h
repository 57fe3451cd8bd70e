/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_DIFFERENTIAL_STREAM_H
#define TARE_PROBE_DIFFERENTIAL_STREAM_H

#include <stdint.h>

#include "base/err.h"
#include "base/settings.h"
#include "packet/stream.h"

/*
 * From the probes: section of a differential plan (differential_settings) to the
 * stream that is sent. Relative names of traces start at `directory`. On success
 * the caller owns *ret_stream (stream_destroy). An error names the setting or the
 * trace that is wrong.
 */
int differential_stream_create(const struct settings *probes, const char *directory, struct stream **ret_stream,
			       struct err *err);

/* What a run sends, before it is built. */
struct stream_outline {
	uint32_t probe_count;        /* in a run */
	uint32_t frame_count;        /* with their warm-up trains */
	uint32_t longest_bytes;      /* frame */
	int64_t send_ns;             /* from the first probe to the end of the last one's period */
	uint32_t unreadable, shared; /* probes of a trace without an id, and with one that is not theirs alone */
};

/* The same checks. A generated stream is not built for it; a trace is read whole, every packet looked at. */
int differential_outline(const struct settings *probes, const char *directory, struct stream_outline *ret,
			 struct err *err);

#endif
