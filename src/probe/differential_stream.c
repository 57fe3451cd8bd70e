/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/differential_stream.h"

#include <errno.h>
#include <stdio.h>

#include "probe/differential_settings.h"

enum { FLOWS = 16 };

__extension__ typedef unsigned __int128 wide;

static int trace_open(const struct settings *probes, const char *directory, struct trace **ret_trace, struct err *err)
{
	const char *name = settings_text(probes, "trace");
	int64_t format = settings_number(probes, "format");
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s%s%s", name[0] == '/' ? "" : directory, name[0] == '/' ? "" : "/",
			 name);

	if (n >= (int)sizeof(path))
		return err_set(err, ERR_USAGE, ENAMETOOLONG, "trace: the name is longer than %zu bytes",
			       sizeof(path) - 1);
	/* Ids written over are no matter of what the packets carry. */
	return trace_load(path, format == ID_INSTRUMENT || format == ID_OCT ? (enum id_format)format : ID_FORMATS,
			  ret_trace, err);
}

/* The caller destroys *ret_trace, also after a failure. */
static int spec_fill(const struct settings *probes, const char *directory, struct stream_spec *spec,
		     struct trace **ret_trace, struct err *err)
{
	const struct setting_value *count = settings_get(probes, "count"), *flows = settings_get(probes, "flows");
	int64_t format = settings_number(probes, "format"), kind = settings_number(probes, "template");
	bool has_ports = kind != FRAME_KIND_IPV4 && kind != FRAME_KIND_ETHER;

	*spec = (struct stream_spec){ .format = format == FORMAT_AUTO ? ID_NATIVE : (enum id_format)format };
	*ret_trace = NULL;
	if (settings_number(probes, "times") == TIMES_RATE)
		spec->rate_mpps = (uint64_t)settings_number(probes, "rate");
	if (settings_text(probes, "trace")) {
		int rc = trace_open(probes, directory, ret_trace, err);

		if (rc < 0)
			return rc;
		TARE_ASSERT(*ret_trace);
		spec->trace = *ret_trace;
		spec->count = count->present ? (uint32_t)count->number : 0;
		if (format == FORMAT_AUTO && spec->trace->format < ID_NONE)
			spec->format = spec->trace->format;
		return 0;
	}
	spec->count = count->present ? (uint32_t)count->number : DIFFERENTIAL_COUNT;
	spec->flows = flows->present ? (uint32_t)flows->number : has_ports ? FLOWS : 1;
	frame_template_default(&spec->frame, (enum frame_kind)kind, (uint32_t)settings_number(probes, "size"));
	spec->frame.vlan_count = (uint8_t)settings_number(probes, "vlans");
	for (uint16_t i = 0; i < spec->frame.vlan_count; i++)
		spec->frame.vlan_tci[i] = (uint16_t)(i + 1);
	return 0;
}

int differential_stream_create(const struct settings *probes, const char *directory, struct stream **ret_stream,
			       struct err *err)
{
	struct stream_spec spec;
	struct trace *trace;
	int rc = spec_fill(probes, directory, &spec, &trace, err);

	if (rc == 0)
		rc = stream_create(&spec, ret_stream, err);
	trace_destroy(trace);
	return rc;
}

static void outline_of_stream(const struct stream *s, struct stream_outline *ret)
{
	ret->probe_count = s->count;
	ret->longest_bytes = s->longest_bytes;
	ret->unreadable = s->unreadable;
	ret->shared = s->shared;
	ret->send_ns = s->send_ns[s->count - 1];
	if (s->count > 1)
		ret->send_ns += ret->send_ns / (s->count - 1);
}

int differential_outline(const struct settings *probes, const char *directory, struct stream_outline *ret,
			 struct err *err)
{
	struct stream_outline outline = { 0 };
	struct stream_spec spec;
	struct stream *stream = NULL;
	struct trace *trace;
	uint64_t frames;
	int rc = spec_fill(probes, directory, &spec, &trace, err);

	if (rc == 0 && !trace) {
		rc = stream_check(&spec, err);
		outline.probe_count = spec.count;
		outline.longest_bytes = spec.frame.length_bytes;
		outline.send_ns = (int64_t)((wide)spec.count * 1000000000000u / (spec.rate_mpps ? spec.rate_mpps : 1));
	} else if (rc == 0) {
		rc = stream_create(&spec, &stream, err);
		if (rc == 0)
			outline_of_stream(stream, &outline);
		stream_destroy(stream);
	}
	trace_destroy(trace);
	frames = (uint64_t)outline.probe_count * (1 + (uint64_t)settings_number(probes, "warm_train"));
	if (rc == 0 && frames > UINT32_MAX)
		return err_set(err, ERR_USAGE, ERANGE,
			       "%u probes with warm-up trains are %llu frames; expected fewer than 2^32",
			       outline.probe_count, (unsigned long long)frames);
	if (rc < 0)
		return rc;
	outline.frame_count = (uint32_t)frames;
	*ret = outline;
	return 0;
}
