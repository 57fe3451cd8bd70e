/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "import/study.h"

enum { RECORDS_MOST = 50000000 };

#define HOPS(how_)                                                                                                     \
	{ "hop_2_drift", "us", how_ }, { "hop_3_drift", "us", how_ }, { "hop_4_drift", "us", how_ },                   \
		{ "hop_5_drift", "us", how_ }, { "hop_6_drift", "us", how_ }, { "hop_7_drift", "us", how_ },           \
	{                                                                                                              \
		"hop_8_drift", "us", how_                                                                              \
	}

enum { DRIFT_HOP = 1, HOPS_NAMED = 7 };

const struct study_measure study_measures[MEASURES] = {
	[MEASURE_TRANSIT] = { .axes = { "program", "size", "carrier" } },
	[MEASURE_CONTROL] = { .axes = { "switches", "entries", "operation", "mode" },
			      .quantities = { { "wall", "ms", STUDY_MEDIAN },
					      { "entries_per_second", "1/s", STUDY_MEDIAN },
					      { "failures", "", STUDY_MEAN } } },
	[MEASURE_TELEMETRY] = { .axes = { "program", "switches", "carrier", "size" },
				.quantities = { { "drift", "us", STUDY_MEDIAN }, HOPS(STUDY_MEDIAN) } },
	[MEASURE_RESOURCES] = { .axes = { "program", "switches", "carrier", "workload" },
				.quantities = { { "cpu_total", "%", STUDY_MEAN },
						{ "cpu_switches", "%", STUDY_MEAN },
						{ "memory_switches", "MB", STUDY_MEAN },
						{ "packets", "1/s", STUDY_MEAN },
						{ "cpu_switches_max", "%", STUDY_MAX },
						{ "memory_switches_max", "MB", STUDY_MAX } } },
	[MEASURE_CALIBRATE] = { .axes = { "program", "size", "carrier" },
				.quantities = { { "probe_loss", "%", STUDY_MEDIAN },
						{ "probes_received", "", STUDY_MEDIAN },
						{ "transit_p50", "us", STUDY_MEDIAN },
						{ "transit_p99", "us", STUDY_MEDIAN },
						{ "carrier_received", "%", STUDY_MEDIAN } } },
};

/* Quantities of resources, and where their maxima stand. */
enum { CPU_TOTAL, CPU_SWITCHES, MEMORY, PACKETS, CPU_SWITCHES_MAX, MEMORY_MAX };

/* A record on its way: where it stands, for messages. */
struct record {
	struct study *study;
	const json_t *config, *extras;
	const char *metric;
	double value;
	uint32_t file, repetition;
	struct err *err;
};

static int bad(struct record *r, const char *what)
{
	return err_set(r->err, ERR_USAGE, EINVAL, "%s:%" PRIu64 ": %s%s%s", r->study->path, r->study->line,
		       r->metric ? r->metric : "", r->metric ? ": " : "", what);
}

static int lacks(struct record *r, const char *object, const char *key, const char *expected)
{
	char text[160];

	snprintf(text, sizeof(text), "no %s.%s that is %s", object, key, expected);
	return bad(r, text);
}

static int no_memory(struct record *r)
{
	return err_set(r->err, ERR_HOST, ENOMEM, "%s: out of memory", r->study->path);
}

static int get_text(struct record *r, const char *key, const char **ret)
{
	*ret = json_string_value(json_object_get(r->config, key));
	return *ret && **ret && strlen(*ret) <= 64 ? 0 : lacks(r, "config", key, "a short text");
}

static int get_count(struct record *r, const json_t *object, const char *name, const char *key, int64_t most,
		     int64_t *ret)
{
	const json_t *n = json_object_get(object, key);
	double d = json_number_value(n);

	if (!json_is_number(n) || !(d >= 0 && d <= (double)most) || d != floor(d))
		return lacks(r, name, key, "a whole number from 0 up");
	*ret = (int64_t)d;
	return 0;
}

/* NaN for null or absent. */
static double get_number(const json_t *object, const char *key)
{
	const json_t *n = json_object_get(object, key);

	return json_is_number(n) ? json_number_value(n) : NAN;
}

/* --- groups --- */

static bool is_of(const struct study_group *g, enum measure measure, const struct record *r, const char *const *values)
{
	if (g->measure != measure || g->file != r->file || g->repetition != r->repetition)
		return false;
	for (int i = 0; study_measures[measure].axes[i]; i++)
		if (strcmp(g->values[i], values[i]) != 0)
			return false;
	return true;
}

/* Records of a group mostly follow one another. */
static int group_of(struct record *r, enum measure measure, const char *const *values, struct study_group **ret)
{
	struct study *s = r->study;
	struct study_group *g = s->last;

	for (int i = 0; study_measures[measure].axes[i]; i++)
		TARE_ASSERT(values[i]);

	if (g && is_of(g, measure, r, values)) {
		*ret = g;
		return 0;
	}
	for (size_t i = s->groups.count; i-- > 0;)
		if (is_of(s->groups.items[i], measure, r, values)) {
			*ret = s->last = s->groups.items[i];
			return 0;
		}
	g = calloc(1, sizeof(*g));
	if (!g || vec_push(&s->groups, g) < 0) {
		free(g);
		return no_memory(r);
	}
	g->measure = measure;
	g->file = r->file;
	g->repetition = r->repetition;
	for (int i = 0; study_measures[measure].axes[i]; i++) {
		g->values[i] = arena_strdup(&s->arena, values[i]);
		if (!g->values[i])
			return no_memory(r);
	}
	*ret = s->last = g;
	return 0;
}

static int add_number(struct record *r, struct study_group *g, int quantity, double value)
{
	const struct study_number n = { (uint16_t)quantity, value };

	return vec_push(&g->numbers, n) < 0 ? no_memory(r) : 0;
}

/* --- one function a measure --- */

struct words {
	char size[24], carrier[24], switches[24], entries[24];
};

static int take_axes(struct record *r, struct words *w, const char *carrier_key, bool switches, int64_t *ret_mbps)
{
	int64_t size = 0, mbps = 0, n = 0;
	int rc = 0;

	if (json_object_get(r->config, "packet_size_bytes")) {
		rc = get_count(r, r->config, "config", "packet_size_bytes", 65535, &size);
		snprintf(w->size, sizeof(w->size), "%" PRId64 "B", rc == 0 ? size : 0);
	}
	if (rc == 0)
		rc = get_count(r, r->config, "config", carrier_key, 1000000, &mbps);
	if (rc == 0) {
		snprintf(w->carrier, sizeof(w->carrier), mbps ? "%" PRId64 "Mbps" : "%" PRId64, mbps);
		*ret_mbps = mbps;
	}
	if (rc == 0 && switches)
		rc = get_count(r, r->config, "config", "n_switches", 4096, &n);
	if (rc == 0 && switches)
		snprintf(w->switches, sizeof(w->switches), "%" PRId64, n);
	return rc;
}

static int take_transit(struct record *r)
{
	struct words w = { .size = "?" };
	struct study_transit t = { 0 };
	struct study_group *g = NULL;
	const char *program = NULL;
	int64_t mbps = 0, sequence = 0;
	int rc = get_text(r, "p4_program", &program);

	if (rc == 0)
		rc = take_axes(r, &w, "background_load_mbps", false, &mbps);
	if (rc == 0 && strcmp(w.size, "?") == 0)
		rc = lacks(r, "config", "packet_size_bytes", "a whole number from 0 up");
	if (rc == 0)
		rc = get_count(r, r->extras, "extras", "sequence", UINT32_MAX - 1, &sequence);
	if (rc == 0)
		rc = get_count(r, r->extras, "extras", "ingress_ts_us", INT64_C(1) << 48, &t.p4_in_us);
	if (rc == 0)
		rc = get_count(r, r->extras, "extras", "egress_ts_us", INT64_C(1) << 48, &t.p4_out_us);
	if (rc == 0 && fabs(r->value - (double)(t.p4_out_us - t.p4_in_us)) > 0.5)
		rc = bad(r, "its value is not egress_ts_us - ingress_ts_us");
	if (rc == 0)
		rc = group_of(r, MEASURE_TRANSIT, (const char *const[STUDY_AXES_MOST]){ program, w.size, w.carrier },
			      &g);
	if (rc < 0 || !g)
		return rc;
	t.sequence = (uint32_t)sequence;
	g->cold = mbps == 0;
	g->records++;
	return vec_push(&g->transits, t) < 0 ? no_memory(r) : 0;
}

static int take_control(struct record *r)
{
	struct words w = { 0 };
	struct study_group *g = NULL;
	const char *operation = NULL, *mode = NULL;
	int64_t n = 0, entries = 0;
	int rc = get_text(r, "operation", &operation);

	if (rc == 0)
		rc = get_text(r, "mode", &mode);
	if (rc == 0)
		rc = get_count(r, r->config, "config", "n_switches", 4096, &n);
	if (rc == 0)
		rc = get_count(r, r->config, "config", "n_entries_per_switch", 1000000000, &entries);
	if (rc < 0)
		return rc;
	snprintf(w.switches, sizeof(w.switches), "%" PRId64, n);
	snprintf(w.entries, sizeof(w.entries), "%" PRId64, entries);
	rc = group_of(r, MEASURE_CONTROL,
		      (const char *const[STUDY_AXES_MOST]){ w.switches, w.entries, operation, mode }, &g);
	if (rc < 0 || !g)
		return rc;
	g->records++;
	rc = add_number(r, g, 0, r->value * 1000);
	if (rc == 0)
		rc = add_number(r, g, 1, get_number(r->extras, "entries_per_second"));
	return rc < 0 ? rc : add_number(r, g, 2, get_number(r->extras, "failure_count"));
}

static int take_telemetry(struct record *r)
{
	struct words w = { .size = "?" };
	const json_t *drifts = json_object_get(r->extras, "drift_us");
	struct study_group *g = NULL;
	const char *program = NULL;
	int64_t mbps = 0;
	int rc = get_text(r, "p4_program", &program);

	if (rc == 0)
		rc = take_axes(r, &w, "background_load_mbps", true, &mbps);
	if (rc == 0 && drifts && !json_is_array(drifts))
		rc = lacks(r, "extras", "drift_us", "a list");
	if (rc == 0)
		rc = group_of(r, MEASURE_TELEMETRY,
			      (const char *const[STUDY_AXES_MOST]){ program, w.switches, w.carrier, w.size }, &g);
	if (rc < 0 || !g)
		return rc;
	g->records++;
	rc = add_number(r, g, 0, r->value);
	for (size_t i = 0; rc == 0 && i < json_array_size(drifts) && i < HOPS_NAMED; i++)
		if (json_is_number(json_array_get(drifts, i)))
			rc = add_number(r, g, DRIFT_HOP + (int)i, json_number_value(json_array_get(drifts, i)));
	return rc;
}

static int take_resources(struct record *r, int quantity, int maximum, double scale)
{
	struct words w = { 0 };
	struct study_group *g = NULL;
	const char *program = json_string_value(json_object_get(r->config, "p4_program")), *workload = NULL;
	int64_t mbps = 0;
	int rc = get_text(r, "source_workload_type", &workload);

	/* control-plane workloads name no program */
	if (program && !*program)
		program = "-";
	else if (rc == 0)
		rc = get_text(r, "p4_program", &program);
	if (rc == 0)
		rc = take_axes(r, &w, "background_load_mbps", true, &mbps);
	if (rc == 0)
		rc = group_of(r, MEASURE_RESOURCES,
			      (const char *const[STUDY_AXES_MOST]){ program, w.switches, w.carrier, workload }, &g);
	if (rc < 0 || !g)
		return rc;
	g->records++;
	rc = add_number(r, g, quantity, r->value * scale);
	return rc == 0 && maximum ? add_number(r, g, maximum, r->value * scale) : rc;
}

static int take_cpu_total(struct record *r)
{
	return take_resources(r, CPU_TOTAL, 0, 1);
}

static int take_cpu_switches(struct record *r)
{
	return take_resources(r, CPU_SWITCHES, CPU_SWITCHES_MAX, 1);
}

static int take_memory(struct record *r)
{
	return take_resources(r, MEMORY, MEMORY_MAX, 1e-6);
}

static int take_packets(struct record *r)
{
	return take_resources(r, PACKETS, 0, 1);
}

static int take_calibrate(struct record *r)
{
	static const char *const keys[] = { "probes_received", "median_us", "p99_us", "iperf3_received_bytes_pct" };
	struct words w = { .size = "?" };
	struct study_group *g = NULL;
	const char *program = NULL;
	int64_t mbps = 0;
	int rc = get_text(r, "p4_program", &program);

	if (rc == 0)
		rc = take_axes(r, &w, "rate_mbps", false, &mbps);
	if (rc == 0)
		rc = group_of(r, MEASURE_CALIBRATE, (const char *const[STUDY_AXES_MOST]){ program, w.size, w.carrier },
			      &g);
	if (rc < 0 || !g)
		return rc;
	g->records++;
	rc = add_number(r, g, 0, r->value);
	for (int i = 0; rc == 0 && i < 4; i++)
		rc = add_number(r, g, 1 + i, get_number(r->extras, keys[i]));
	return rc;
}

static const struct {
	const char *metric;
	int (*take)(struct record *r);
} metrics[] = {
	{ "switch_transit_us", take_transit },          { "saturation_probe_loss_pct", take_calibrate },
	{ "control_plane_wall_clock_s", take_control }, { "int_drift_us", take_telemetry },
	{ "cpu_percent_total", take_cpu_total },        { "cpu_percent_per_bmv2", take_cpu_switches },
	{ "rss_per_bmv2_bytes", take_memory },          { "net_io_pps_per_iface", take_packets },
};

/* --- a line --- */

static int take_failure(struct record *r, const json_t *value)
{
	const char *program = json_string_value(json_object_get(r->config, "p4_program"));
	const char *text = arena_printf(&r->study->arena, "%s, repetition %u: %s", program ? program : "?",
					r->repetition, json_is_string(value) ? json_string_value(value) : "no message");

	return !text || vec_push(&r->study->failures, text) < 0 ? no_memory(r) : 0;
}

static int take_record(struct record *r, const json_t *root)
{
	const json_t *value = json_object_get(root, "value");
	int64_t repetition = 0;
	int rc;

	r->metric = json_string_value(json_object_get(root, "metric"));
	r->config = json_object_get(root, "config");
	r->extras = json_object_get(root, "extras");
	if (!r->metric)
		return bad(r, "no metric that is a text");
	if (!json_is_object(r->config))
		return bad(r, "no config that is an object");
	rc = get_count(r, r->config, "config", "repetition", 9999, &repetition);
	if (rc < 0)
		return rc;
	r->repetition = (uint32_t)repetition;
	if (strcmp(r->metric, "config_failure") == 0)
		return take_failure(r, value);
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		if (strcmp(metrics[i].metric, r->metric) != 0)
			continue;
		if (!json_is_number(value))
			return bad(r, "no value that is a number");
		r->value = json_number_value(value);
		return metrics[i].take(r);
	}
	if (!r->study->unknown++)
		r->study->first_unknown = arena_strdup(&r->study->arena, r->metric);
	return 0;
}

int study_take_line(struct study *s, uint32_t file, const char *text, size_t length, struct err *err)
{
	struct record r = { .study = s, .file = file, .err = err };
	json_error_t why;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
	int rc;

	if (!root)
		return err_set(err, ERR_USAGE, EINVAL, "%s:%" PRIu64 ": column %d: not JSON: %s", s->path, s->line,
			       why.column, why.text);
	if (!json_is_object(root))
		rc = bad(&r, "not a JSON object");
	else if (++s->records > RECORDS_MOST)
		rc = err_set(err, ERR_USAGE, EFBIG, "%s:%" PRIu64 ": over %d records", s->path, s->line, RECORDS_MOST);
	else
		rc = take_record(&r, root);
	json_decref(root);
	return rc;
}

void study_init(struct study *s)
{
	memset(s, 0, sizeof(*s));
	arena_init(&s->arena, 0);
}

void study_release(struct study *s)
{
	for (size_t i = 0; i < s->groups.count; i++) {
		free(s->groups.items[i]->transits.items);
		free(s->groups.items[i]->numbers.items);
		free(s->groups.items[i]);
	}
	free(s->groups.items);
	free(s->failures.items);
	arena_release(&s->arena);
}
