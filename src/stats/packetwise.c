/* SPDX-License-Identifier: Apache-2.0 */
#include "stats/packetwise.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/quantile.h"
#include "stats/sort.h"

struct packet_table {
	uint32_t packets, values_max;
	uint32_t *counts; /* by packet */
	double *values;   /* values_max of each packet */
};

struct packet_table *packet_table_create(uint32_t packets, uint32_t values_max)
{
	struct packet_table *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->packets = packets;
	t->values_max = values_max;
	t->counts = calloc((size_t)packets + 1, sizeof(*t->counts));
	t->values = calloc((size_t)packets * values_max + 1, sizeof(*t->values));
	if (t->counts == NULL || t->values == NULL) {
		packet_table_destroy(t);
		return NULL;
	}
	return t;
}

void packet_table_destroy(struct packet_table *t)
{
	if (t == NULL)
		return;
	free(t->counts);
	free(t->values);
	free(t);
}

void packet_table_clear(struct packet_table *t)
{
	memset(t->counts, 0, t->packets * sizeof(*t->counts));
}

int packet_table_add(struct packet_table *t, uint32_t packet, double diff_ns)
{
	if (packet >= t->packets)
		return -ERANGE;
	if (t->counts[packet] == t->values_max)
		return -ENOSPC;
	t->values[(size_t)packet * t->values_max + t->counts[packet]++] = diff_ns;
	return 0;
}

uint32_t packet_table_medians(struct packet_table *t, double quantum_ns, struct packet_median *ret)
{
	uint32_t written = 0;

	for (uint32_t p = 0; p < t->packets; p++) {
		double *values = t->values + (size_t)p * t->values_max;
		uint32_t count = t->counts[p], lost = 0;

		if (count == 0)
			continue;
		sort_double(values, count);
		while (lost < count && isinf(values[count - 1 - lost]))
			lost++;
		const struct sample_set set = {
			.values = values, .finite = count - lost, .lost = lost, .quantum = quantum_ns
		};

		ret[written++] = (struct packet_median){
			.packet = p,
			.count = count,
			.lost = lost,
			.median_ns = quantile_point(&set, 0.5).value,
		};
	}
	return written;
}

uint32_t packet_nets(const struct packet_median *program, uint32_t program_count, const struct packet_median *tare,
		     uint32_t tare_count, double net_ns, struct packet_net *ret)
{
	uint32_t written = 0, j = 0;

	for (uint32_t i = 0; i < program_count; i++) {
		while (j < tare_count && tare[j].packet < program[i].packet)
			j++;
		if (j == tare_count)
			break;
		if (tare[j].packet != program[i].packet || isinf(program[i].median_ns) || isinf(tare[j].median_ns))
			continue;
		double net = program[i].median_ns - tare[j].median_ns;

		ret[written++] = (struct packet_net){ program[i].packet, net, net - net_ns };
	}
	return written;
}
