/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/bound.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"

double bound_ns(const struct vendor_bound *v, uint32_t inserted_bytes)
{
	TARE_ASSERT(v->clock_hz > 0 && v->bus_bytes > 0);
	return (v->cycles + ceil((double)inserted_bytes / v->bus_bytes)) / v->clock_hz * 1e9;
}

static int by_margin(const void *a, const void *b)
{
	const struct bound_margin *x = a, *y = b;

	if (x->margin_cycles != y->margin_cycles)
		return (x->margin_cycles > y->margin_cycles) - (x->margin_cycles < y->margin_cycles);
	return (x->packet > y->packet) - (x->packet < y->packet);
}

void bound_check(const struct vendor_bound *v, const struct bounded_packet *packets, size_t count, double expanded_ns,
		 struct bound_margin *ret_margins, struct bound_summary *ret)
{
	struct bound_summary s = { .packets = count, .least_cycles = NAN, .median_cycles = NAN, .most_cycles = NAN };
	double unsure_cycles = fabs(expanded_ns) * v->clock_hz / 1e9;

	for (size_t i = 0; i < count; i++) {
		struct bound_margin *m = &ret_margins[i];

		m->packet = packets[i].packet;
		m->bound_ns = bound_ns(v, packets[i].inserted_bytes);
		m->margin_cycles = (m->bound_ns - packets[i].latency_ns) * v->clock_hz / 1e9;
		m->verdict = m->margin_cycles < -unsure_cycles  ? BOUND_OVER
			     : m->margin_cycles < unsure_cycles ? BOUND_UNSURE
								: BOUND_UNDER;
		s.under += m->verdict == BOUND_UNDER;
		s.unsure += m->verdict == BOUND_UNSURE;
		s.over += m->verdict == BOUND_OVER;
	}
	/* ascending margins: over, unsure and under follow of themselves */
	qsort(ret_margins, count, sizeof(*ret_margins), by_margin);
	if (count) {
		s.least_cycles = ret_margins[0].margin_cycles;
		s.most_cycles = ret_margins[count - 1].margin_cycles;
		s.median_cycles =
			(ret_margins[(count - 1) / 2].margin_cycles + ret_margins[count / 2].margin_cycles) / 2;
	}
	*ret = s;
}
