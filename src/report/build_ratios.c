/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/build.h"
#include "stats/compare.h"
#include "stats/sort.h"

/*
 * Cells against each other. A question says which pairs of cells belong together
 * and how they are called; its pairs are compared in one quantity after the
 * other, and every quantity's ratios are a family.
 */
struct question {
	const char *axis, *over, *base, *group;
	struct pair_of_cells {
		uint32_t cell, base;
		const char *name;
	} * pairs;
	uint32_t count;
};

struct ratios {
	struct result *result;
	const struct cell_work *works;
	double *figures[2]; /* of the restarts of either side, as many as there are restarts at all */
	uint32_t room, families_room;
};

/* Lists grow in the result's arena by doubling: few, and dropped with it. */
static int grow(struct arena *arena, void *list_at, uint32_t count, uint32_t *room, size_t size_bytes)
{
	void *list, *larger;

	if (count < *room)
		return 0;
	*room = *room ? 2 * *room : 16;
	larger = arena_array(arena, *room, size_bytes);
	if (!larger)
		return -ENOMEM;
	memcpy(&list, list_at, sizeof(list));
	if (count)
		memcpy(larger, list, count * size_bytes);
	memcpy(list_at, &larger, sizeof(larger));
	return 0;
}

/* --- one family --- */

/* A side of a ratio: its restart figures, sorted, and the 95 % interval that is printed for it. */
struct side {
	const double *figures;
	uint32_t count;
	struct span interval;
};

/* `quantity` NULL: the gross median. */
static struct side side_of(const struct ratios *all, int which, uint32_t cell, const char *quantity, const char *unit)
{
	const struct cell_result *c = &all->result->cells[cell];
	struct side s = { .figures = all->figures[which], .interval = { NAN, NAN, NAN } };
	const struct quantity_result *q = quantity ? cell_quantity(c, quantity, unit) : NULL;
	double *figures = all->figures[which];

	if (quantity) {
		for (; q && s.count < q->restart_count; s.count++)
			figures[s.count] = q->restart_values[s.count];
		if (q)
			s.interval = q->interval;
	} else {
		for (uint32_t i = 0; i < all->works[cell].restart_count; i++) {
			const struct restart_result *r = all->works[cell].restarts[i];
			const struct figure *f = &r->gross.q[QUANTILE_P50];

			if (strcmp(r->state, "valid") == 0 && f->state != FIGURE_REFUSED)
				figures[s.count++] = f->value;
		}
		s.interval = c->gross_interval;
	}
	sort_double(figures, s.count);
	return s;
}

static int add_ratio(struct ratios *all, const struct pair_of_cells *pair, const struct side *over,
		     const struct side *base)
{
	struct comparison k = compare_medians(over->figures, over->count, base->figures, base->count, 0.95);
	struct result *r = all->result;

	if (grow(&r->arena, &r->ratios, r->ratio_count, &all->room, sizeof(*r->ratios)) < 0)
		return -ENOMEM;
	r->ratios[r->ratio_count++] = (struct ratio_result){
		.name = pair->name,
		.family = r->family_count,
		.cell = pair->cell,
		.base = pair->base,
		.ratio = k.ratio.state == FIGURE_NUMBER ? k.ratio.value : NAN,
		.interval = k.interval.state == FIGURE_NUMBER
				    ? (struct span){ k.interval.low, k.interval.high, k.interval.coverage * 100 }
				    : (struct span){ NAN, NAN, NAN },
		.p = k.p.state == FIGURE_NUMBER ? k.p.value : NAN,
		.p_holm = NAN,
		.apart = span_is(&over->interval) && span_is(&base->interval) &&
			 (over->interval.low > base->interval.high || over->interval.high < base->interval.low),
	};
	return 0;
}

static const char *state(const struct ratio_family *f, struct arena *arena)
{
	const char *what = arena_printf(arena, "%s%s%s, %s over %s: ", f->quantity, f->group[0] ? ", " : "", f->group,
					f->over, f->base);
	const char *range = isnan(f->least) ? "no ratio"
			    : f->count == 1 ? arena_printf(arena, "ratio %.3g", f->least)
					    : arena_printf(arena, "ratios %.3g to %.3g", f->least, f->most);

	if (!what || !range)
		return NULL;
	if (!f->judged)
		return arena_printf(arena, "%s%s; too few restarts to say whether they differ", what, range);
	return arena_printf(arena,
			    "%sintervals apart in %" PRIu32 " of %" PRIu32 " cell%s (%s larger in %" PRIu32
			    "); %" PRIu32 " differ%s at 5 %% by Holm; %s",
			    what, f->apart, f->judged, f->judged == 1 ? "" : "s", f->over, f->larger, f->significant,
			    f->significant == 1 ? "s" : "", range);
}

/* Adjust p over the family, count it up, say it. Its ratios are those from `first` on. */
static int close_family(struct ratios *all, const struct question *q, const char *quantity, const char *unit,
			uint32_t first)
{
	struct result *r = all->result;
	struct ratio_family f = {
		.quantity = quantity ? quantity : "p50",
		.unit = quantity ? unit : "ns",
		.axis = q->axis,
		.over = q->over,
		.base = q->base,
		.group = q->group,
		.count = r->ratio_count - first,
		.least = NAN,
		.most = NAN,
	};
	double *p = calloc(f.count ? f.count : 1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (uint32_t i = 0; i < f.count; i++)
		p[i] = r->ratios[first + i].p;
	if (holm_adjust(p, f.count, p) < 0) {
		free(p);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < f.count; i++) {
		struct ratio_result *ratio = &r->ratios[first + i];

		ratio->p_holm = p[i];
		f.judged += !isnan(p[i]);
		f.apart += ratio->apart;
		f.larger += ratio->apart && ratio->ratio > 1;
		f.significant += p[i] < 0.05;
		f.least = fmin(f.least, ratio->ratio);
		f.most = fmax(f.most, ratio->ratio);
	}
	free(p);
	f.statement = state(&f, &r->arena);
	if (!f.statement ||
	    grow(&r->arena, &r->families, r->family_count, &all->families_room, sizeof(*r->families)) < 0)
		return -ENOMEM;
	r->families[r->family_count++] = f;
	return 0;
}

/* `quantity` NULL: the gross median. A quantity that no pair has is no family. */
static int ask(struct ratios *all, const struct question *q, const char *quantity, const char *unit)
{
	uint32_t first = all->result->ratio_count;

	for (uint32_t i = 0; i < q->count; i++) {
		struct side over = side_of(all, 0, q->pairs[i].cell, quantity, unit);
		struct side base = side_of(all, 1, q->pairs[i].base, quantity, unit);

		if (!over.count || !base.count)
			continue;
		if (add_ratio(all, &q->pairs[i], &over, &base) < 0)
			return -ENOMEM;
	}
	return all->result->ratio_count == first ? 0 : close_family(all, q, quantity, unit, first);
}

static int ask_all(struct ratios *all, const struct question *q)
{
	struct result *r = all->result;
	int rc = 0;

	if (result_has_probes(r))
		return ask(all, q, NULL, NULL);
	for (uint32_t i = 0; rc == 0 && i < r->quantity_count; i++)
		rc = ask(all, q, r->quantities[i].name, r->quantities[i].value);
	return rc;
}

/* --- cells that differ in an axis --- */

static bool find_axis(const struct result *r, const char *name, uint32_t *ret)
{
	for (uint32_t i = 0; name && i < r->axis_count; i++)
		if (strcmp(r->axes[i], name) == 0) {
			*ret = i;
			return true;
		}
	return false;
}

static bool same_but(const struct result *r, const struct cell_result *a, const struct cell_result *b, uint32_t axis)
{
	for (uint32_t i = 0; i < r->axis_count; i++)
		if (i != axis && strcmp(a->values[i], b->values[i]) != 0)
			return false;
	return true;
}

/* "size=256B carrier=25Mbps": the cell without an axis or two. */
static const char *name_without(struct result *r, const struct cell_result *c, uint32_t axis, uint32_t other)
{
	const char *name = "";

	for (uint32_t i = 0; name && i < r->axis_count; i++)
		if (i != axis && i != other && c->values[i][0])
			name = arena_printf(&r->arena, "%s%s%s%s%s", name, *name ? " " : "",
					    strcmp(r->axes[i], "program") == 0 ? "" : r->axes[i],
					    strcmp(r->axes[i], "program") == 0 ? "" : "=", c->values[i]);
	return name && !*name ? "all" : name;
}

/* Is the value of an axis in cell `index` there in an earlier one? */
static bool seen_before(const struct result *r, uint32_t axis, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++)
		if (strcmp(r->cells[i].values[axis], r->cells[index].values[axis]) == 0)
			return true;
	return false;
}

struct contrast_axes {
	uint32_t axis, group; /* group UINT32_MAX: none */
	const char *fixed;
};

/* The pairs of one family: `other` against the fixed value, where the group's axis has `group_value`. */
static int ask_pair(struct ratios *all, const struct contrast *rule, const struct contrast_axes *at, const char *other,
		    const char *group_value)
{
	struct result *r = all->result;
	struct question q = { .axis = r->axes[at->axis],
			      .over = rule->fixed_over ? at->fixed : other,
			      .base = rule->fixed_over ? other : at->fixed,
			      .group = "" };
	int rc = 0;

	if (group_value)
		q.group = arena_printf(&r->arena, "%s=%s", r->axes[at->group], group_value);
	q.pairs = arena_array(&r->arena, r->cell_count, sizeof(*q.pairs));
	if (!q.pairs || !q.group)
		return -ENOMEM;
	for (uint32_t a = 0; rc == 0 && a < r->cell_count; a++)
		for (uint32_t b = 0; rc == 0 && b < r->cell_count; b++) {
			const struct cell_result *over = &r->cells[a], *base = &r->cells[b];

			if (strcmp(over->values[at->axis], q.over) != 0 ||
			    strcmp(base->values[at->axis], q.base) != 0 || !same_but(r, over, base, at->axis) ||
			    (group_value && strcmp(over->values[at->group], group_value) != 0))
				continue;
			q.pairs[q.count].cell = a;
			q.pairs[q.count].base = b;
			q.pairs[q.count].name = name_without(r, over, at->axis, at->group);
			rc = q.pairs[q.count++].name ? 0 : -ENOMEM;
		}
	return rc < 0 || q.count == 0 ? rc : ask_all(all, &q);
}

static int contrast(struct ratios *all, const struct contrast *rule)
{
	struct result *r = all->result;
	struct contrast_axes at = { .group = UINT32_MAX, .fixed = rule->fixed };
	bool grouped;
	int rc = 0;

	if (!find_axis(r, rule->axis, &at.axis))
		return 0;
	grouped = find_axis(r, rule->group, &at.group);
	for (uint32_t i = 0; !at.fixed && i < r->cell_count; i++)
		if (!r->cells[i].is_tare && r->cells[i].values[at.axis][0])
			at.fixed = r->cells[i].values[at.axis];
	for (uint32_t g = 0; at.fixed && rc == 0 && g < (grouped ? r->cell_count : 1); g++) {
		if (grouped && (seen_before(r, at.group, g) || r->cells[g].is_tare))
			continue;
		for (uint32_t i = 0; rc == 0 && i < r->cell_count; i++) {
			const char *other = r->cells[i].values[at.axis];

			if (!r->cells[i].is_tare && other[0] && strcmp(other, at.fixed) != 0 &&
			    !seen_before(r, at.axis, i))
				rc = ask_pair(all, rule, &at, other, grouped ? r->cells[g].values[at.group] : NULL);
		}
	}
	return rc;
}

/* --- cells that differ in their regime: the cold ones against the rest --- */

static bool of_regime(const char *axis)
{
	static const char *const axes[] = { "carrier", "interval", "carrier_size" };

	for (size_t k = 0; k < sizeof(axes) / sizeof(axes[0]); k++)
		if (strcmp(axis, axes[k]) == 0)
			return true;
	return false;
}

static bool same_but_regime(const struct result *r, const struct cell_result *a, const struct cell_result *b)
{
	for (uint32_t i = 0; i < r->axis_count; i++)
		if (!of_regime(r->axes[i]) && strcmp(a->values[i], b->values[i]) != 0)
			return false;
	return true;
}

static bool is_only_cold(const struct result *r, const struct cell_result *cold)
{
	uint32_t others = 0;

	for (uint32_t i = 0; i < r->cell_count; i++)
		others += &r->cells[i] != cold && strcmp(r->cells[i].regime, "cold") == 0 &&
			  same_but_regime(r, &r->cells[i], cold);
	return others == 0;
}

/* "l3_lpm size=256B: cold / carrier=1Mbps"; where several are cold, which one. */
static const char *name_of_regimes(struct result *r, const struct cell_result *cold, const struct cell_result *base)
{
	const char *common = "", *over = "", *under = "";

	for (uint32_t i = 0; common && over && under && i < r->axis_count; i++) {
		const char *axis = strcmp(r->axes[i], "program") == 0 ? "" : r->axes[i], *is = *axis ? "=" : "";

		if (!of_regime(r->axes[i])) {
			common = arena_printf(&r->arena, "%s%s%s%s%s", common, *common ? " " : "", axis, is,
					      cold->values[i]);
			continue;
		}
		over = arena_printf(&r->arena, "%s%s%s%s%s", over, *over ? " " : "", axis, is, cold->values[i]);
		under = arena_printf(&r->arena, "%s%s%s%s%s", under, *under ? " " : "", axis, is, base->values[i]);
	}
	if (is_only_cold(r, cold))
		over = "cold";
	return common && over && under
		       ? arena_printf(&r->arena, "%s%s%s / %s", common, *common ? ": " : "", over, under)
		       : NULL;
}

static int cold_over_the_rest(struct ratios *all)
{
	struct result *r = all->result;
	struct question q = { .axis = "regime", .over = "cold", .base = "the others", .group = "" };
	uint32_t room = 0;

	for (uint32_t a = 0; a < r->cell_count; a++)
		for (uint32_t b = 0; b < r->cell_count; b++) {
			const struct cell_result *cold = &r->cells[a], *base = &r->cells[b];

			if (strcmp(cold->regime, "cold") != 0 || strcmp(base->regime, "cold") == 0 ||
			    base->restarts_valid == 0 || !same_but_regime(r, cold, base))
				continue;
			if (grow(&r->arena, &q.pairs, q.count, &room, sizeof(*q.pairs)) < 0)
				return -ENOMEM;
			q.pairs[q.count].cell = a;
			q.pairs[q.count].base = b;
			q.pairs[q.count].name = name_of_regimes(r, cold, base);
			if (!q.pairs[q.count++].name)
				return -ENOMEM;
		}
	return q.count ? ask_all(all, &q) : 0;
}

int ratios_build(struct result *r, const struct cell_work *works, const struct measure_view *view)
{
	struct ratios all = { .result = r, .works = works };
	int rc = 0;

	for (int i = 0; i < 2; i++)
		all.figures[i] = calloc(r->restart_count + 1, sizeof(*all.figures[i]));
	if (!all.figures[0] || !all.figures[1])
		rc = -ENOMEM;
	if (rc == 0 && strcmp(r->measure, "transit") == 0)
		rc = cold_over_the_rest(&all);
	for (const struct contrast *rule = view->contrasts; rc == 0 && rule->axis; rule++)
		rc = contrast(&all, rule);
	free(all.figures[0]);
	free(all.figures[1]);
	return rc;
}
