/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/watch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "store/resource.h"

enum { VALUES_MOST = 40 };

void watched_add(struct watched *w, pid_t pid, const struct netns *netns)
{
	const uint32_t i = w->process_count;

	if (i == WATCHED_PROCESSES)
		return;
	snprintf(w->names[i], sizeof(w->names[i]), "switch %u", i + 1);
	w->processes[w->process_count++] = (struct sampler_process){ .pid = pid, .name = w->names[i] };
	if (netns)
		w->networks[w->network_count++] = (struct sampler_network){ .netns = netns, .name = w->names[i] };
}

void watched_line(const struct lab_line *line, struct watched *ret)
{
	*ret = (struct watched){ .forwards = true };
	for (uint32_t i = 0; i < line->switch_count; i++)
		if (line->switches[i].process)
			watched_add(ret, process_pid(line->switches[i].process), &line->switches[i].netns);
	ret->networks[ret->network_count++] = (struct sampler_network){ .netns = &line->a.netns, .name = "host a" };
	ret->networks[ret->network_count++] = (struct sampler_network){ .netns = &line->b.netns, .name = "host b" };
}

int watch_begin(struct watch *w, int64_t interval_ns, int32_t cpu, struct err *err)
{
	const struct sampler_config config = {
		.interval_ns = interval_ns,
		.cpu = cpu,
		.processes = w->what.processes,
		.process_count = w->what.process_count,
		.networks = w->what.networks,
		.network_count = w->what.network_count,
	};

	sampler_log_release(&w->log);
	return sampler_start(&config, &w->sampler, err);
}

int watch_end(struct watch *w, struct err *err)
{
	int r;

	sampler_log_release(&w->log);
	r = sampler_stop(w->sampler, &w->log, err);
	w->sampler = NULL;
	if (r == 0 && usage_of(&w->log, &w->usage) < 0)
		r = err_set(err, ERR_HOST, ENOMEM, "out of memory for samples of resources");
	return r;
}

void watch_release(struct watch *w)
{
	struct sampler_log log;

	if (w->sampler && sampler_stop(w->sampler, &log, NULL) == 0)
		sampler_log_release(&log);
	w->sampler = NULL;
	sampler_log_release(&w->log);
}

/* A packet's share of what the switches did: the coarse answer to where its time goes. */
static double per_packet_us(double percent, double packets_per_s)
{
	return packets_per_s > 0 ? percent / 100 * 1e6 / packets_per_s : NAN;
}

static uint32_t forwarding(const struct watch *w, bool whole, struct run_value *ret)
{
	const uint32_t last = w->what.process_count - 1;
	double in = usage_interface_per_s(&w->log, 0, "p1", INTERFACE_RX_PACKETS);
	uint32_t n = 0;

	ret[n++] = (struct run_value){ "switch_cpu_per_packet", "us", per_packet_us(w->usage.cpu_pct, in) };
	ret[n++] = (struct run_value){ "switch_wait_per_packet", "us", per_packet_us(w->usage.wait_pct, in) };
	ret[n++] = (struct run_value){ "first_in", "pps", in };
	if (!whole)
		return n;
	ret[n++] = (struct run_value){ "first_in_rate", "Mbit/s",
				       usage_interface_per_s(&w->log, 0, "p1", INTERFACE_RX_BYTES) * 8e-6 };
	ret[n++] = (struct run_value){ "last_out", "pps",
				       usage_interface_per_s(&w->log, last, "p2", INTERFACE_TX_PACKETS) };
	ret[n++] = (struct run_value){ "last_out_rate", "Mbit/s",
				       usage_interface_per_s(&w->log, last, "p2", INTERFACE_TX_BYTES) * 8e-6 };
	return n;
}

int watch_put(const struct watch *w, bool whole, struct store *store, struct err *err)
{
	struct run_value values[VALUES_MOST];
	uint32_t n = 0;
	int r;

	for (const struct usage_column *c = usage_columns; c->name; c++) {
		double value = *(const double *)((const char *)&w->usage + c->offset);

		if (whole || c->kept == USAGE_BESIDE || (c->kept == USAGE_BESIDE_IF_ANY && !isnan(value)))
			values[n++] = (struct run_value){ c->name, c->unit, value };
	}
	if (w->what.forwards && w->what.process_count)
		n += forwarding(w, whole, values + n);
	TARE_ASSERT(n <= VALUES_MOST);
	r = store_put_values(store, values, n, err);
	return r == 0 && whole ? store_put_resources(store, &w->log, err) : r;
}
