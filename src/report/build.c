/* SPDX-License-Identifier: Apache-2.0 */
#include "report/build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct build {
	struct store *store;
	struct result *result;
	struct arena arena; /* what the store was read into, and traces */
	struct stored_campaign campaign;
	struct stored_restart *stored; /* parallel to result->restarts */
	struct cell_work *works;       /* by cell */
	struct run_work run;
	struct transit *transits; /* of one run */
	uint32_t transit_capacity;
	struct transit_conditions conditions; /* of the cell's last run */
	uint32_t packets;                     /* in the stream, as the first good run saw it */
	uint64_t packets_dropped;
	double second_offset_ns; /* what the cell's null has between the clocks */
	struct err *err;
};

static int no_memory(struct build *b)
{
	return err_set(b->err, ERR_HOST, ENOMEM, "out of memory building the result");
}

/* --- what is only copied --- */

/* "forward size=64B" from the values; the label where there are none. */
static const char *title_of(const struct stored_campaign *campaign, const struct cell *cell, struct arena *arena)
{
	const char *title = cell->is_tare ? "null (tare)" : "";

	for (uint32_t i = 0; title && i < campaign->axis_count; i++) {
		bool program = strcmp(campaign->axes[i], "program") == 0;

		if (!cell->values || !cell->values[i] || (program && cell->is_tare))
			continue;
		title = arena_printf(arena, "%s%s%s%s%s", title, *title ? " " : "", program ? "" : campaign->axes[i],
				     program ? "" : "=", cell->values[i]);
	}
	return title && !*title ? arena_strdup(arena, cell->label) : title;
}

static int copy_cell(struct build *b, uint32_t index)
{
	const struct cell *from = &b->campaign.cells[index];
	struct arena *arena = &b->result->arena;
	struct cell_result *c = &b->result->cells[index];

	c->index = index;
	c->is_tare = from->is_tare;
	c->tare = from->tare < b->campaign.cell_count ? from->tare : CELL_NONE;
	c->label = arena_strdup(arena, from->label);
	c->title = title_of(&b->campaign, from, arena);
	c->value_count = b->campaign.axis_count;
	c->values = arena_array(arena, c->value_count + 1, sizeof(*c->values));
	if (!c->label || !c->title || !c->values)
		return no_memory(b);
	for (uint32_t i = 0; i < c->value_count; i++) {
		const char *value = from->values ? from->values[i] : NULL;

		c->values[i] = value ? arena_strdup(arena, value) : "";
		if (!c->values[i])
			return no_memory(b);
	}
	for (uint32_t i = 0; i < b->campaign.turn_count; i++)
		c->restarts_planned += b->campaign.turns[i].cell == index && !b->campaign.passed[i];
	return 0;
}

static int copy_texts(struct build *b)
{
	const struct stored_campaign *from = &b->campaign;
	struct result *r = b->result;
	bool good = true;

	r->headlines = measure_view(from->measure)->headlines;
	r->axes = arena_array(&r->arena, from->axis_count + 1, sizeof(*r->axes));
	r->facts = arena_array(&r->arena, from->fact_count + 1, sizeof(*r->facts));
	r->events = arena_array(&r->arena, from->event_count + 1, sizeof(*r->events));
	if (!r->axes || !r->facts || !r->events)
		return no_memory(b);
	for (uint32_t i = 0; i < from->axis_count; i++)
		good &= (r->axes[r->axis_count++] = arena_strdup(&r->arena, from->axes[i])) != NULL;
	for (uint32_t i = 0; i < from->fact_count; i++) {
		struct name_value *f = &r->facts[r->fact_count++];

		f->name = arena_strdup(&r->arena, from->facts[i].name);
		f->value = arena_strdup(&r->arena, from->facts[i].value);
		good &= f->name && f->value;
	}
	for (uint32_t i = 0; i < from->event_count; i++) {
		struct event_result *e = &r->events[r->event_count++];

		e->utc_ns = from->events[i].utc_ns;
		e->kind = arena_strdup(&r->arena, from->events[i].kind);
		e->message = arena_strdup(&r->arena, from->events[i].message);
		good &= e->kind && e->message;
	}
	return good ? 0 : no_memory(b);
}

static int copy_campaign(struct build *b)
{
	const struct stored_campaign *from = &b->campaign;
	struct result *r = b->result;
	int rc = copy_texts(b);

	r->schema = RESULT_SCHEMA;
	r->tool_version = TARE_VERSION;
	r->name = arena_strdup(&r->arena, from->name);
	r->measure = measure_name(from->measure);
	r->seed = from->seed;
	r->target_kind = arena_strdup(&r->arena, from->target_kind);
	r->plan_text = arena_strdup(&r->arena, from->plan_text);
	r->turns = from->turn_count - from->turns_passed;
	r->turns_done = from->turns_done;
	r->turns_failed = from->turns_failed;
	r->cells = arena_array(&r->arena, from->cell_count + 1, sizeof(*r->cells));
	r->cell_count = from->cell_count;
	if (!r->name || !r->target_kind || !r->plan_text || !r->cells)
		return no_memory(b);
	for (uint32_t i = 0; rc == 0 && i < from->cell_count; i++)
		rc = copy_cell(b, i);
	if (rc == 0 && stops_copy(r, from) < 0)
		rc = no_memory(b);
	return rc;
}

static int copy_restart(struct build *b, uint32_t index)
{
	const struct stored_restart *from = &b->stored[index];
	struct restart_result *r = &b->result->restarts[index];
	struct arena *arena = &b->result->arena;

	if (from->cell >= b->result->cell_count)
		return err_set(b->err, ERR_USAGE, EINVAL, "%s: restart %" PRId64 " is of cell %" PRIu32 " of %" PRIu32,
			       store_path(b->store), from->id, from->cell, b->result->cell_count);
	*r = (struct restart_result){
		.order = index,
		.position = from->position,
		.block = from->block,
		.cell = from->cell,
		.restart = from->restart,
		.started_utc_ns = from->started_utc_ns,
		.host = arena_strdup(arena, from->host ? from->host : ""),
		.state = from->failure ? "failed" : "valid",
		.reason = from->failure ? arena_strdup(arena, from->failure) : "",
		.target_facts = arena_strdup(arena, from->target_facts ? from->target_facts : ""),
		.runs = arena_array(arena, from->run_count + 1, sizeof(*r->runs)),
		.run_count = from->run_count,
	};
	return r->host && r->reason && r->target_facts && r->runs ? 0 : no_memory(b);
}

/* Restarts to the result, and each cell's own list of them. */
static int lay_out(struct build *b, uint32_t count)
{
	struct result *r = b->result;
	int rc = 0;

	r->restarts = arena_array(&r->arena, count + 1, sizeof(*r->restarts));
	r->restart_count = count;
	b->works = arena_array(&b->arena, r->cell_count + 1, sizeof(*b->works));
	if (!r->restarts || !b->works)
		return no_memory(b);
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		rc = copy_restart(b, i);
		if (rc == 0)
			b->works[b->stored[i].cell].restart_count++;
	}
	for (uint32_t c = 0; rc == 0 && c < r->cell_count; c++) {
		struct cell_work *w = &b->works[c];

		w->cell = &r->cells[c];
		w->restarts = arena_array(&b->arena, w->restart_count + 1, sizeof(*w->restarts));
		w->traces = arena_array(&b->arena, w->restart_count + 1, sizeof(*w->traces));
		if (!w->restarts || !w->traces)
			return no_memory(b);
		w->restart_count = 0;
	}
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		struct cell_work *w = &b->works[r->restarts[i].cell];

		w->traces[w->restart_count] = arena_array(&b->arena, r->restarts[i].run_count + 1, sizeof(**w->traces));
		if (!w->traces[w->restart_count])
			return no_memory(b);
		w->restarts[w->restart_count++] = &r->restarts[i];
	}
	if (count)
		r->started_utc_ns = r->restarts[0].started_utc_ns;
	return rc;
}

/* --- what is computed --- */

/* How many packets the stream has: the largest index in this run, plus one. */
static uint32_t stream_packets(const struct pair *pairs, uint32_t count)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < count; i++)
		if (pairs[i].packet > largest)
			largest = pairs[i].packet;
	return count ? largest + 1 : 0;
}

static uint32_t usable_runs(const struct cell_work *w)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < w->restart_count; i++)
		if (strcmp(w->restarts[i]->state, "failed") != 0)
			n += w->restarts[i]->run_count;
	return n;
}

/* A packet sent several times in a run (a looped stream) has a value for each. Too many: none, and it is noted. */
static int table_for(struct build *b, struct cell_work *w, uint32_t probes, struct packet_table **ret)
{
	uint64_t per_packet = b->packets ? ((uint64_t)probes + b->packets - 1) / b->packets : 0;
	uint64_t values = per_packet * usable_runs(w);

	if (values * b->packets > PACKET_VALUES_MOST)
		w->packet_values_over = values * b->packets;
	else if (values > 0 && !(*ret = packet_table_create(b->packets, (uint32_t)values)))
		return no_memory(b);
	return 0;
}

static int measure_transit(struct build *b, const struct stored_run *run, struct run_result *ret,
			   struct run_trace *trace)
{
	int64_t count;

	if (run->pair_count > b->transit_capacity || !b->transits) {
		free(b->transits);
		b->transits = calloc(run->pair_count ? run->pair_count : 1, sizeof(*b->transits));
		b->transit_capacity = b->transits ? run->pair_count : 0;
		if (!b->transits)
			return no_memory(b);
	}
	count = store_read_transits(b->store, run, b->transits, b->transit_capacity, b->err);
	if (count < 0)
		return (int)count;
	if (store_read_conditions(b->store, run, &b->conditions, b->err) < 0)
		return -EBADMSG;
	return run_measure_transit(b->transits, (uint32_t)count, &run->record, &b->conditions, &b->result->arena, ret,
				   trace) < 0
		       ? no_memory(b)
		       : 0;
}

/* The run's samples, if its measure has any; everything of `ret` and `trace` but the values. */
static int measure_run(struct build *b, struct cell_work *w, const struct stored_run *run,
		       struct packet_table **packets, struct run_result *ret, struct run_trace *trace)
{
	int64_t count;
	int rc;

	if (b->campaign.measure == MEASURE_TRANSIT)
		return measure_transit(b, run, ret, trace);
	if (b->campaign.measure != MEASURE_DIFFERENTIAL)
		return run_measure_values(&run->record, &b->result->arena, ret, trace) == 0 ? 0 : no_memory(b);
	rc = run_work_reserve(&b->run, run->pair_count ? run->pair_count : 1, b->err);
	if (rc != 0)
		return rc;
	count = store_read_pairs(b->store, run, b->run.pairs, b->run.capacity, b->err);
	if (count < 0)
		return (int)count;
	if (b->packets == 0)
		b->packets = stream_packets(b->run.pairs, (uint32_t)count);
	if (!*packets && (rc = table_for(b, w, (uint32_t)count, packets)) != 0)
		return rc;
	rc = run_measure(&b->run, (uint32_t)count, &run->record, &b->result->arena, *packets, &b->packets_dropped,
			 &w->findings, ret, trace);
	if (rc != 0)
		return no_memory(b);
	return ret->valid ? run_second(b->store, run, b->run.pairs, (uint32_t)count, w, b->second_offset_ns,
				       &b->result->arena, &trace->second, b->err)
			  : 0;
}

static int measure_restart(struct build *b, struct cell_work *w, uint32_t index, struct packet_table **packets)
{
	struct restart_result *r = w->restarts[index];
	const struct stored_restart *stored = &b->stored[r->order];
	bool failed = stored->failure != NULL;

	for (uint32_t j = 0; j < stored->run_count; j++) {
		const struct stored_run *run = &stored->runs[j];
		struct run_trace *trace = &w->traces[index][j];
		struct run_value *values = NULL;
		int rc;

		if (run_conditions(&run->record, &b->result->arena, &r->runs[j]) != 0)
			return no_memory(b);
		if (failed) {
			r->runs[j].reason = "its restart failed";
			continue;
		}
		rc = measure_run(b, w, run, packets, &r->runs[j], trace);
		if (rc == 0)
			rc = store_read_values(b->store, run, &b->arena, &values, &trace->value_count, b->err);
		trace->values = values;
		if (rc != 0)
			return rc;
	}
	restart_summarise(r);
	return 0;
}

static int take_packets(struct build *b, struct cell_work *w, struct packet_table *table)
{
	w->packets = arena_array(&b->arena, b->packets, sizeof(*w->packets));
	if (!w->packets)
		return no_memory(b);
	w->packet_count = packet_table_medians(table, w->grid_ns, w->packets);
	return 0;
}

static int measure_cell(struct build *b, uint32_t cell)
{
	struct cell_work *w = &b->works[cell];
	struct packet_table *packets = NULL;
	int rc = 0;

	b->second_offset_ns = 0;
	if (w->cell->tare != CELL_NONE && w->cell->tare != cell &&
	    cell_second_offset(&b->works[w->cell->tare], &b->second_offset_ns) < 0)
		return no_memory(b);
	for (uint32_t i = 0; rc == 0 && i < w->restart_count; i++)
		rc = measure_restart(b, w, i, &packets);
	if (rc == 0)
		rc = cell_summarise(w, &b->result->arena, b->result->seed + cell, b->err);
	if (rc == 0 && packets)
		rc = take_packets(b, w, packets);
	if (rc == 0 && b->campaign.measure == MEASURE_TRANSIT && cell_transit(w, &b->conditions, &b->result->arena) < 0)
		rc = no_memory(b);
	if (rc == 0 && cell_values(w, &b->result->arena, b->result->seed + cell) < 0)
		rc = no_memory(b);
	packet_table_destroy(packets);
	return rc;
}

static int measure_all(struct build *b)
{
	struct result *r = b->result;
	int rc = 0;

	/* Tares first: what is net needs them. */
	for (uint32_t c = 0; rc == 0 && c < r->cell_count; c++)
		if (r->cells[c].is_tare)
			rc = measure_cell(b, c);
	if (rc == 0)
		rc = blocks_build(r, b->works, b->err);
	for (uint32_t c = 0; rc == 0 && c < r->cell_count; c++)
		if (!r->cells[c].is_tare)
			rc = measure_cell(b, c);
	for (uint32_t c = 0; rc == 0 && c < r->cell_count; c++) {
		const struct cell_work *tare = r->cells[c].tare == CELL_NONE ? NULL : &b->works[r->cells[c].tare];

		if (!r->cells[c].is_tare && tare)
			rc = cell_net(&b->works[c], tare, r, b->err);
		if (rc == 0 && cell_second(&b->works[c], tare) < 0)
			rc = no_memory(b);
		if (rc == 0)
			rc = cell_packets(&b->works[c], tare, &r->arena, r->seed, b->err);
		if (rc == 0 && cell_bound(&b->works[c], tare, &r->arena) < 0)
			rc = no_memory(b);
	}
	if (rc == 0)
		stops_print_exact(r);
	for (uint32_t c = 0; rc == 0 && c < r->cell_count; c++)
		rc = cell_hosts(&b->works[c], &r->arena) < 0 ? no_memory(b) : 0;
	if (rc == 0 && (quantities_list(r) < 0 || ratios_build(r, b->works, measure_view(b->campaign.measure)) < 0 ||
			sweeps_build(r, measure_view(b->campaign.measure)) < 0 || causes_build(r) < 0 ||
			(b->campaign.measure == MEASURE_TRANSIT && regimes_build(r, b->works) < 0)))
		rc = no_memory(b);
	return rc;
}

static int refuse_pilot(struct build *b)
{
	for (uint32_t i = 0; i < b->campaign.fact_count; i++)
		if (strcmp(b->campaign.facts[i].name, "plan.pilot") == 0)
			return err_set(
				b->err, ERR_USAGE, ENOTSUP,
				"%s: a pilot: its data enter no figure; 'tare plan --pilot' draws its proposal again",
				store_path(b->store));
	return 0;
}

static int build(struct build *b)
{
	uint32_t count = 0;
	int rc = store_read_campaign(b->store, &b->arena, &b->campaign, b->err);

	if (rc == 0)
		rc = refuse_pilot(b);
	if (rc != 0)
		return rc;
	rc = store_read_restarts(b->store, &b->arena, &b->stored, &count, b->err);
	if (rc == 0)
		rc = copy_campaign(b);
	if (rc == 0)
		rc = lay_out(b, count);
	if (rc == 0)
		rc = measure_all(b);
	if (rc == 0 && b->campaign.measure == MEASURE_CALIBRATE)
		rc = searches_build(b->result, b->store, b->stored, count, b->err);
	if (rc == 0)
		rc = problems_build(b->result, b->works, b->packets_dropped, b->err);
	if (rc == 0 && method_describe(b->result) != 0)
		rc = no_memory(b);
	return rc;
}

int result_build(struct store *store, struct result **ret_result, struct err *err)
{
	struct build b = { .store = store, .err = err };
	int rc;

	b.result = calloc(1, sizeof(*b.result));
	if (!b.result)
		return no_memory(&b);
	arena_init(&b.result->arena, 0);
	arena_init(&b.arena, 0);
	rc = build(&b);
	arena_release(&b.arena);
	run_work_release(&b.run);
	free(b.transits);
	if (rc == 0)
		*ret_result = b.result;
	else
		result_destroy(b.result);
	return rc;
}
