/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/secondclock.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/sort.h"

/* Two steps, edges or periods that are within so much of each other are the same. */
#define ALIKE 0.02

static const char *const names[ARTEFACTS] = { "quantum", "dead zone", "period" };

const char *clock_artefact_name(enum clock_artefact artefact)
{
	return names[artefact];
}

struct room {
	int64_t *sorted, *scratch;
	double *values;
};

static int character(const int64_t *readings, size_t n, struct room *room, struct clock_character *ret)
{
	int rc;

	for (size_t i = 0; i < n; i++)
		room->values[i] = (double)readings[i];
	rc = check_period(room->values, n, &ret->period);
	memcpy(room->sorted, readings, n * sizeof(*readings));
	sort_i64(room->sorted, n, room->scratch);
	if (rc == 0)
		rc = check_quantum(room->sorted, n, &ret->quantum);
	if (rc == 0)
		ret->dead_zone = check_dead_zone(room->sorted, n, ret->quantum.quantum);
	return rc;
}

static bool alike(double a, double b)
{
	return fabs(a - b) <= ALIKE * fmax(fabs(a), fabs(b));
}

static void add(struct second_clock *c, enum clock_artefact artefact, enum artefact_owner owner, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void add(struct second_clock *c, enum clock_artefact artefact, enum artefact_owner owner, const char *fmt, ...)
{
	static const char *const owners[] = { "", "first clock", "second clock", "both clocks" };
	struct clock_finding *f = &c->findings[c->finding_count++];
	va_list args;
	int n;

	f->artefact = artefact;
	f->owner = owner;
	n = snprintf(f->text, sizeof(f->text), "%s: ", owners[owner]);
	va_start(args, fmt);
	vsnprintf(f->text + n, sizeof(f->text) - (size_t)n, fmt, args);
	va_end(args);
}

static enum artefact_owner owner_of(bool first, bool second, bool same)
{
	if (first && second && same)
		return OWNER_BOTH;
	return second ? OWNER_SECOND : first ? OWNER_FIRST : OWNER_NONE;
}

static void name_findings(struct second_clock *c, double ns)
{
	const struct clock_character *a = &c->first, *b = &c->second;
	enum artefact_owner quantum =
		owner_of(a->quantum.found, b->quantum.found, alike(a->quantum.quantum, b->quantum.quantum));
	enum artefact_owner dead =
		owner_of(a->dead_zone.found, b->dead_zone.found,
			 alike(a->dead_zone.high - a->dead_zone.low, b->dead_zone.high - b->dead_zone.low));
	enum artefact_owner period =
		owner_of(a->period.found, b->period.found, alike(a->period.period_samples, b->period.period_samples));

	if (quantum)
		add(c, ARTEFACT_QUANTUM, quantum, "readings come in steps of %.3g ns",
		    ns * (quantum == OWNER_FIRST ? a : b)->quantum.quantum);
	if (dead) {
		const struct dead_zone_check *z = &(dead == OWNER_FIRST ? a : b)->dead_zone;

		add(c, ARTEFACT_DEAD_ZONE, dead, "no reading between %.3g and %.3g ns, where %.0f should be",
		    ns * z->low, ns * z->high, z->expected);
	}
	if (period) {
		const struct period_check *p = &(period == OWNER_FIRST ? a : b)->period;

		add(c, ARTEFACT_PERIOD, period, "a part repeats every %.4g probes, amplitude %.3g ns%s",
		    p->period_samples, ns * p->amplitude,
		    period == OWNER_BOTH ? ": the traffic's or the target's" : "");
	} else if (c->difference.found) {
		add(c, ARTEFACT_PERIOD, OWNER_SECOND,
		    "against the first, a part repeats every %.4g probes, amplitude %.3g ns: a beat of the two",
		    c->difference.period_samples, ns * c->difference.amplitude);
	}
}

int second_clock_check(const int64_t *first, const int64_t *second, size_t count, double ns_per_unit,
		       struct second_clock *ret)
{
	size_t n = count ? count : 1;
	struct room room = { calloc(n, sizeof(int64_t)), calloc(n, sizeof(int64_t)), calloc(n, sizeof(double)) };
	struct second_clock c = { 0 };
	int rc = room.sorted && room.scratch && room.values ? 0 : -ENOMEM;

	if (rc == 0)
		rc = character(first, count, &room, &c.first);
	if (rc == 0)
		rc = character(second, count, &room, &c.second);
	for (size_t i = 0; rc == 0 && i < count; i++)
		room.values[i] = (double)(second[i] - first[i]);
	if (rc == 0)
		rc = check_period(room.values, count, &c.difference);
	free(room.sorted);
	free(room.scratch);
	free(room.values);
	if (rc != 0)
		return rc;
	name_findings(&c, ns_per_unit);
	*ret = c;
	return 0;
}
