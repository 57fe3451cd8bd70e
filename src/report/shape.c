/* SPDX-License-Identifier: Apache-2.0 */
#include "report/shape.h"

#include "report/result.h"

#define PLAIN(type_, member, kind, unit_, help_)                                                                       \
	{                                                                                                              \
#member, kind, offsetof(struct type_, member), 0, NULL, unit_, help_                                   \
	}
#define TEXT(t, m, help)          PLAIN(t, m, FIELD_TEXT, NULL, help)
#define BOOL(t, m, help)          PLAIN(t, m, FIELD_BOOL, NULL, help)
#define COUNT(t, m, unit, help)   PLAIN(t, m, FIELD_COUNT, unit, help)
#define COUNT32(t, m, unit, help) PLAIN(t, m, FIELD_COUNT32, unit, help)
#define INTEGER(t, m, unit, help) PLAIN(t, m, FIELD_INTEGER, unit, help)
#define NUMBER(t, m, unit, help)  PLAIN(t, m, FIELD_NUMBER, unit, help)
#define EXACT(t, m, unit, help)   PLAIN(t, m, FIELD_EXACT, unit, help)
#define OBJECT(t, m, shape_, help)                                                                                     \
	{                                                                                                              \
#m, FIELD_OBJECT, offsetof(struct t, m), 0, &shape_, NULL, help                                        \
	}
#define MANY(t, m, count, kind, shape_, unit, help)                                                                    \
	{                                                                                                              \
#m, kind, offsetof(struct t, m), offsetof(struct t, count), shape_, unit, help                         \
	}
#define END                                                                                                            \
	{                                                                                                              \
		NULL, 0, 0, 0, NULL, NULL, NULL                                                                        \
	}

static const struct field ledger_fields[] = {
	COUNT(ledger, sent, "probes", "probes sent"),
	{ "matched", FIELD_COUNT, offsetof(struct ledger, fate[FATE_MATCHED]), 0, NULL, "probes",
	  "every copy arrived, in time, with a stamp" },
	{ "lost", FIELD_COUNT, offsetof(struct ledger, fate[FATE_LOST]), 0, NULL, "probes", "a copy never arrived" },
	{ "late", FIELD_COUNT, offsetof(struct ledger, fate[FATE_LATE]), 0, NULL, "probes",
	  "a copy arrived after its deadline" },
	{ "unparsed", FIELD_COUNT, offsetof(struct ledger, fate[FATE_UNPARSED]), 0, NULL, "probes",
	  "arrived, but no id could be read" },
	{ "shadowed", FIELD_COUNT, offsetof(struct ledger, fate[FATE_SHADOWED]), 0, NULL, "probes",
	  "its id was taken by another probe" },
	{ "unstamped", FIELD_COUNT, offsetof(struct ledger, fate[FATE_UNSTAMPED]), 0, NULL, "probes",
	  "arrived without a usable time" },
	COUNT(ledger, duplicates, "frames", "further copies of a probe already seen at that port"),
	COUNT(ledger, reordered, "frames", "arrived after a later-sent probe"),
	COUNT(ledger, foreign, "frames", "not probes of the run"),
	COUNT(ledger, set_apart, "probes", "matched, but a poll gap makes a stamp unsure: in no figure"),
	COUNT(ledger, arrived, "frames", "delivered by the receiving ports"),
	COUNT(ledger, classified, "frames", "accounted for by the matcher"),
	END,
};

const struct shape shape_ledger = {
	"ledger",
	"what became of every probe: sent = matched + lost + late + unparsed + shadowed + unstamped",
	sizeof(struct ledger),
	ledger_fields,
};

#define QUANTILE(index, text)                                                                                          \
	{                                                                                                              \
		text, FIELD_FIGURE, offsetof(struct quantiles, q[index]), 0, NULL, "ns",                               \
			"ranked over probes sent, a lost one being infinite"                                           \
	}

static const struct field quantiles_fields[] = {
	QUANTILE(QUANTILE_P50, "p50"),    QUANTILE(QUANTILE_P90, "p90"),      QUANTILE(QUANTILE_P99, "p99"),
	QUANTILE(QUANTILE_P999, "p99.9"), QUANTILE(QUANTILE_P9999, "p99.99"), END,
};

const struct shape shape_quantiles = {
	"quantiles",
	"a number, \"lost\" where the quantile falls on a lost probe, \"n<368\" where fewer probes than that were "
	"ranked",
	sizeof(struct quantiles),
	quantiles_fields,
};

static const struct field span_fields[] = {
	NUMBER(span, low, "ns", "lower end; null: there is no such interval"),
	NUMBER(span, high, "ns", "upper end"),
	NUMBER(span, level, "%", "its real confidence; without an interval the best that the data could give"),
	END,
};

const struct shape shape_span = { "interval", "an interval and its confidence", sizeof(struct span), span_fields };

static const struct field budget_fields[] = {
	TEXT(budget_line, name, "the quantity that is uncertain"),
	TEXT(budget_line, type, "A: from repetition; B: from other knowledge (GUM)"),
	NUMBER(budget_line, u_ns, "ns", "standard uncertainty of the net figure from this term"),
	NUMBER(budget_line, dof, NULL, "degrees of freedom; null: infinite"),
	NUMBER(budget_line, share, "%", "of the combined variance"),
	TEXT(budget_line, how, "where it comes from"),
	END,
};

const struct shape shape_budget = { "budget_line", "one term of an uncertainty budget", sizeof(struct budget_line),
				    budget_fields };

static const struct field mode_fields[] = {
	NUMBER(mode_result, net_ns, "ns", "where its packets' medians lie, tare taken off (gross for the tare)"),
	NUMBER(mode_result, share, "%", "of the packets"),
	COUNT(mode_result, packets, "packets", "how many packets"),
	END,
};

const struct shape shape_mode = { "mode", "packets that have a latency of their own", sizeof(struct mode_result),
				  mode_fields };

static const struct field host_fields[] = {
	TEXT(host_result, host, "its name"),
	COUNT32(host_result, restarts, NULL, "valid ones that ran there"),
	NUMBER(host_result, median_ns, "ns", "of their net figures; where there is no tare, of gross p50"),
	END,
};

const struct shape shape_host = { "host", "restarts of a cell on one of several hosts", sizeof(struct host_result),
				  host_fields };

static const struct field chain_fields[] = {
	TEXT(chain_result, name, "its two stamp points"),
	NUMBER(chain_result, median_ns, "ns", "of the link by itself: median over restarts"),
	NUMBER(chain_result, step_ns, "ns", "difference of the medians since tx at its ends: these add up to rx - tx"),
	NUMBER(chain_result, u_ns, "ns", "half the alignment's width where it is between two clocks, else 0"),
	END,
};

const struct shape shape_chain = { "chain_link", "a link of the chain that a probe goes through",
				   sizeof(struct chain_result), chain_fields };

static const struct field second_fields[] = {
	TEXT(second_result, clock, "what stamped: adapter_unsynced, adapter, kernel, software, ..."),
	TEXT(second_result, source, "where"),
	NUMBER(second_result, resolution_ns, "ns", "of one stamp, as its source promises it; null: it promises none"),
	COUNT32(second_result, runs, NULL, "valid runs that have it"),
	COUNT(second_result, pairs, "probes", "with both copies by it"),
	COUNT(second_result, compared, "probes", "of them in the first clock's figures as well"),
	COUNT(second_result, path_missing, "probes", "of which only the bypass copy came"),
	COUNT(second_result, bypass_missing, "probes", "of which only the path copy came"),
	COUNT(second_result, neither, "probes", "of which no copy came"),
	COUNT(second_result, duplicates, "frames", "further copies"),
	COUNT(second_result, unreadable, "frames", "without an id of their own"),
	COUNT(second_result, foreign, "frames", "of no probe of the run"),
	NUMBER(second_result, gross_ns, "ns", "path less bypass by it: median over restarts"),
	NUMBER(second_result, tare_ns, "ns", "gross less net"),
	NUMBER(second_result, net_ns, "ns", "by it: gross less the tare of the block, median over restarts"),
	NUMBER(second_result, first_net_ns, "ns", "by the first clock, over the same probes"),
	OBJECT(second_result, net_interval, shape_span, "of net_ns: 95 % over restarts"),
	NUMBER(second_result, bias_ns, "ns", "mean of second less first, probe by probe, the tare's own taken off"),
	NUMBER(second_result, median_ns, "ns", "median of the same"),
	NUMBER(second_result, sd_ns, "ns", "standard deviation of the same"),
	OBJECT(second_result, bias_interval, shape_span, "of bias_ns: 95 % over restarts"),
	NUMBER(second_result, low_ns, "ns", "2.5 % of the probes lie below"),
	NUMBER(second_result, high_ns, "ns", "2.5 % of the probes lie above"),
	EXACT(second_result, slope, NULL, "of the difference on the mean of both"),
	EXACT(second_result, anderson, NULL, "Anderson and Darling's statistic, standardised"),
	EXACT(second_result, anderson_p, NULL, "its p value"),
	COUNT32(second_result, runs_apart, NULL, "runs whose quantiles differ by more than chance, 95 %"),
	COUNT32(second_result, runs_rejected, NULL, "runs that Anderson and Darling reject at 5 %"),
	MANY(second_result, shift_p, shift_count, FIELD_NUMBERS, NULL, "%", "of the first run that has it: where"),
	MANY(second_result, shift_first_ns, shift_count, FIELD_NUMBERS, NULL, "ns", "the first clock's quantile"),
	MANY(second_result, shift_ns, shift_count, FIELD_NUMBERS, NULL, "ns", "the second's less that"),
	MANY(second_result, shift_low_ns, shift_count, FIELD_NUMBERS, NULL, "ns",
	     "lower end of the simultaneous 95 % band; null: open"),
	MANY(second_result, shift_high_ns, shift_count, FIELD_NUMBERS, NULL, "ns", "upper end; null: open"),
	NUMBER(second_result, distance, "%", "largest difference of shares"),
	NUMBER(second_result, band, "%", "what chance allows of it"),
	MANY(second_result, findings, finding_count, FIELD_TEXTS, NULL, NULL, "what either clock does to its readings"),
	END,
};

const struct shape shape_second = { "second_clock", "the same probes by a clock that had no part in the measurement",
				    sizeof(struct second_result), second_fields };

static const struct field bound_fields[] = {
	NUMBER(bound_result, cycles, NULL, "the vendor's worst case, without inserted headers"),
	NUMBER(bound_result, clock_hz, "Hz", "of these cycles"),
	COUNT32(bound_result, bus_bytes, "B", "one more cycle for each begun by inserted headers"),
	COUNT32(bound_result, inserted_bytes, "B", "of headers that the program inserts"),
	NUMBER(bound_result, bound_ns, "ns", "what comes of that"),
	NUMBER(bound_result, uncertainty_ns, "ns",
	       "of a packet's net, k = 2; null: not known, and all packets are unsure"),
	COUNT(bound_result, packets, "packets", "held against it: under + unsure + over"),
	COUNT(bound_result, under, "packets", "under it by more than their uncertainty"),
	COUNT(bound_result, unsure, "packets", "nearer to it than their uncertainty"),
	COUNT(bound_result, over, "packets", "over it by more than their uncertainty"),
	COUNT(bound_result, without, "packets", "without a net: lost in half of the runs or more"),
	NUMBER(bound_result, least_cycles, "cycles", "smallest margin; negative: over the bound"),
	NUMBER(bound_result, median_cycles, "cycles", "median margin"),
	NUMBER(bound_result, most_cycles, "cycles", "largest margin"),
	MANY(bound_result, worst_packet, worst_count, FIELD_NUMBERS, NULL, NULL,
	     "the first few that are not under it, worst first"),
	MANY(bound_result, worst_cycles, worst_count, FIELD_NUMBERS, NULL, "cycles", "their margins"),
	END,
};

const struct shape shape_bound = { "bound", "packets against the vendor's worst case", sizeof(struct bound_result),
				   bound_fields };

static const struct field range_fields[] = {
	EXACT(span, low, "its own", "lower end; null: there is no such interval"),
	EXACT(span, high, "its own", "upper end"),
	NUMBER(span, level, "%", "its real confidence; without an interval the best that the data could give"),
	END,
};

const struct shape shape_range = { "range", "an interval in the unit of what it belongs to, and its confidence",
				   sizeof(struct span), range_fields };

static const struct field quantity_fields[] = {
	TEXT(quantity_result, name, "what"),
	TEXT(quantity_result, unit, "of all its numbers; empty: a pure number"),
	EXACT(quantity_result, value, "its own", "median over restarts of the medians over their valid runs"),
	OBJECT(quantity_result, interval, shape_range, "95 % over restarts, the one to print"),
	OBJECT(quantity_result, order, shape_range, "order statistics of the restarts"),
	OBJECT(quantity_result, bootstrap, shape_range, "hierarchical bootstrap"),
	EXACT(quantity_result, u, "its own", "standard uncertainty between restarts; null: too few"),
	NUMBER(quantity_result, dof, NULL, "its degrees of freedom"),
	EXACT(quantity_result, between_sd, "its own", "standard deviation of restart figures"),
	EXACT(quantity_result, within_sd, "its own", "standard deviation of runs inside a restart"),
	COUNT32(quantity_result, runs, NULL, "valid runs that found it"),
	COUNT32(quantity_result, runs_without, NULL, "valid runs that did not"),
	MANY(quantity_result, restart_orders, restart_count, FIELD_NUMBERS, NULL, NULL, "its restarts, by run order"),
	MANY(quantity_result, restart_values, restart_count, FIELD_EXACTS, NULL, "its own", "their figures"),
	END,
};

const struct shape shape_quantity = { "quantity", "a number that runs found, beside their samples or instead of them",
				      sizeof(struct quantity_result), quantity_fields };

static const struct field family_fields[] = {
	TEXT(ratio_family, quantity, "what is compared; p50: the gross median"),
	TEXT(ratio_family, unit, "of it"),
	TEXT(ratio_family, axis, "in which the cells differ"),
	TEXT(ratio_family, over, "its value above the line"),
	TEXT(ratio_family, base, "and below it"),
	TEXT(ratio_family, group, "what parts this family from others of the same kind"),
	COUNT32(ratio_family, count, NULL, "ratios"),
	COUNT32(ratio_family, judged, NULL, "of them with an interval on both sides"),
	COUNT32(ratio_family, apart, NULL, "of these with intervals that do not meet"),
	COUNT32(ratio_family, larger, NULL, "of these with the larger above the line"),
	COUNT32(ratio_family, significant, NULL, "p_holm under 0.05"),
	EXACT(ratio_family, least, NULL, "the smallest ratio"),
	EXACT(ratio_family, most, NULL, "the largest"),
	TEXT(ratio_family, statement, "the same as a sentence"),
	END,
};

const struct shape shape_family = { "ratio_family", "ratios of one quantity that answer one question",
				    sizeof(struct ratio_family), family_fields };

static const struct field point_fields[] = {
	EXACT(sweep_point, x, "of the axis", "where"),
	TEXT(sweep_point, at, "the same as the plan has it"),
	COUNT32(sweep_point, cell, NULL, "index of its cell"),
	EXACT(sweep_point, value, "its own", "of the quantity"),
	OBJECT(sweep_point, interval, shape_range, "95 % over restarts"),
	END,
};

const struct shape shape_point = { "sweep_point", "a cell of a sweep", sizeof(struct sweep_point), point_fields };

static const struct field series_fields[] = {
	TEXT(sweep_series, name, "what its cells have in common"),
	MANY(sweep_series, points, point_count, FIELD_LIST, &shape_point, NULL, "by x"),
	EXACT(sweep_series, exponent, NULL, "b of the fit a x^b; null: none"),
	OBJECT(sweep_series, exponent_interval, shape_range, "95 %, restarts drawn again"),
	EXACT(sweep_series, misfit, NULL, "of the worst point, as a share of the fit"),
	TEXT(sweep_series, why, "why there is no exponent, or no interval"),
	END,
};

const struct shape shape_series = { "sweep_series", "cells that differ in the axis of a sweep only",
				    sizeof(struct sweep_series), series_fields };

static const struct field side_fields[] = {
	NUMBER(cause_side, whole_us, "us", "p4_in to p4_out: mean over the probes around the median"),
	NUMBER(cause_side, wake_up_us, "us", "woken, and its CPU was idle; coarse: in the rest"),
	NUMBER(cause_side, cpu_wait_us, "us", "woken or taken off, and its CPU was busy"),
	NUMBER(cause_side, running_us, "us", "a thread of the switch ran"),
	NUMBER(cause_side, rest_us, "us", "none was on a CPU or on its way to one, or the trace does not say"),
	BOOL(cause_side, coarse, "not traced: from the scheduler's counters, means over all threads and packets"),
	END,
};

const struct shape shape_cause_side = { "cause_side", "where the time from p4_in to p4_out went",
					sizeof(struct cause_side), side_fields };

static const struct field cause_fields[] = {
	COUNT32(cause_result, cold_cell, NULL, "index of its cell"),
	COUNT32(cause_result, warm_cell, NULL, "index of its cell"),
	OBJECT(cause_result, cold, shape_cause_side, "without a carrier"),
	OBJECT(cause_result, warm, shape_cause_side, "with one"),
	NUMBER(cause_result, ratio, NULL, "cold over warm, of the whole"),
	BOOL(cause_result, coarse, "one of the sides is"),
	COUNT32(cause_result, part, NULL, "that grows most: 0 wake-up, 1 CPU wait, 2 running, 3 rest"),
	TEXT(cause_result, statement, "the same as a sentence"),
	END,
};

const struct shape shape_cause = { "cause", "what makes a cold cell slower than a warm one",
				   sizeof(struct cause_result), cause_fields };

static const struct field sweep_fields[] = {
	TEXT(sweep_result, quantity, "what; p50: the gross median"),
	TEXT(sweep_result, unit, "of it"),
	TEXT(sweep_result, axis, "along which"),
	TEXT(sweep_result, axis_unit, "of x"),
	MANY(sweep_result, series, series_count, FIELD_LIST, &shape_series, NULL, "its series"),
	END,
};

const struct shape shape_sweep = { "sweep", "a quantity along an axis that is a number", sizeof(struct sweep_result),
				   sweep_fields };

static const struct field ratio_fields[] = {
	TEXT(ratio_result, name, "which over which"),
	COUNT32(ratio_result, family, NULL, "index of its family"),
	COUNT32(ratio_result, cell, NULL, "index of the cell above the line"),
	COUNT32(ratio_result, base, NULL, "index of the cell below it"),
	NUMBER(ratio_result, ratio, NULL, "of their figures"),
	OBJECT(ratio_result, interval, shape_span, "of the ratio, between restarts; its ends have no unit"),
	EXACT(ratio_result, p, NULL, "that both are the same"),
	EXACT(ratio_result, p_holm, NULL, "the same, adjusted over the family"),
	BOOL(ratio_result, apart, "the cells' own 95 % intervals do not meet"),
	END,
};

const struct shape shape_ratio = { "ratio", "two cells that differ in one axis, or in their regime, only",
				   sizeof(struct ratio_result), ratio_fields };

static const struct field run_fields[] = {
	COUNT32(run_result, run, NULL, "in its restart, from 0"),
	INTEGER(run_result, started_utc_ns, "ns", "wall clock, since 1970"),
	BOOL(run_result, valid, "false: kept and shown, in no figure"),
	TEXT(run_result, reason, "why not valid"),
	OBJECT(run_result, ledger, shape_ledger, "its account"),
	BOOL(run_result, balances, "both equations of the ledger hold"),
	COUNT(run_result, ranked, "probes", "what the quantiles rank over: sent less set apart"),
	OBJECT(run_result, gross, shape_quantiles, "rx_path - rx_bypass"),
	OBJECT(run_result, one_way, shape_quantiles, "rx_path - tx"),
	OBJECT(run_result, intended, shape_quantiles, "rx_path - sched: free of coordinated omission"),
	NUMBER(run_result, iqr_ns, "ns", "interquartile range of the gross figure"),
	NUMBER(run_result, within_20ns, "%", "of ranked probes, within 20 ns of the run's median"),
	NUMBER(run_result, truth_ns, "ns", "median of path - bypass as the target emitted them; null: not known"),
	NUMBER(run_result, excess_ns, "ns", "median over probes of gross - truth, each against its own"),
	NUMBER(run_result, tsc_hz, "Hz", "TSC rate against CLOCK_MONOTONIC_RAW"),
	NUMBER(run_result, tsc_hz_u_ppm, "ppm", "standard uncertainty of that rate"),
	NUMBER(run_result, tsc_tick_ns, "ns", "the counter's real step; 0: finer than can be seen"),
	NUMBER(run_result, offered_pps, "pps", "offered load, measured"),
	NUMBER(run_result, intended_pps, "pps", "offered load, as planned"),
	INTEGER(run_result, lateness_p50_ns, "ns", "send time less intended time"),
	INTEGER(run_result, lateness_p99_ns, "ns", "the same"),
	INTEGER(run_result, lateness_max_ns, "ns", "the same"),
	INTEGER(run_result, gap_limit_ns, "ns", "poll gap over which a sample was set apart"),
	INTEGER(run_result, elapsed_ns, "ns", "length of the run"),
	INTEGER(run_result, core_send, NULL, "CPU of the sender"),
	INTEGER(run_result, core_receive, NULL, "CPU of the receiver"),
	NUMBER(run_result, pingpong_p50_ns, "ns", "cache line there and back between the cores; 0: one core"),
	COUNT32(run_result, blocks_near, NULL, "spells in which the cores were near"),
	COUNT32(run_result, blocks_far, NULL, "and far"),
	COUNT32(run_result, stalls, NULL, "holes of the host seen"),
	COUNT32(run_result, clock_steps, NULL, "steps of CLOCK_REALTIME seen"),
	INTEGER(run_result, stalled_ns, "ns", "sum of the holes"),
	TEXT(run_result, protection, "of the measuring cores"),
	NUMBER(run_result, carrier_offered_bps, "bit/s", "transit: carrier sent during the run; null: none"),
	NUMBER(run_result, carrier_received_bps, "bit/s", "transit: carrier that arrived during the run"),
	NUMBER(run_result, align_width_ns, "ns", "transit: width of the offset's interval, in the widest segment"),
	COUNT32(run_result, segments, NULL, "transit: segments of the alignment; more than 1: a clock stepped"),
	END,
};

const struct shape shape_run = { "run", "one pass of the probe stream inside a restart", sizeof(struct run_result),
				 run_fields };

static const struct field restart_fields[] = {
	COUNT32(restart_result, order, NULL, "in which it ran, from 0"),
	COUNT32(restart_result, position, NULL,
		"of its turn in the planned order; a failed turn that ran again is there twice"),
	COUNT32(restart_result, block, NULL, "randomised complete block, from 0"),
	COUNT32(restart_result, cell, NULL, "index of its cell"),
	COUNT32(restart_result, restart, NULL, "of that cell, from 0"),
	INTEGER(restart_result, started_utc_ns, "ns", "wall clock, since 1970"),
	TEXT(restart_result, host, "where it ran; empty: not known"),
	TEXT(restart_result, state, "valid; invalid: no run may be used; failed: the target did"),
	TEXT(restart_result, reason, "why not valid"),
	COUNT32(restart_result, runs_valid, NULL, "runs in its figures"),
	COUNT32(restart_result, runs_invalid, NULL, "runs kept but in no figure"),
	OBJECT(restart_result, ledger, shape_ledger, "sum over its valid runs"),
	OBJECT(restart_result, gross, shape_quantiles, "medians of the run figures"),
	NUMBER(restart_result, tare_ns, "ns", "tare of its block; null for the tare itself"),
	NUMBER(restart_result, net_ns, "ns", "gross p50 less tare"),
	NUMBER(restart_result, truth_ns, "ns", "median of its runs' truths"),
	NUMBER(restart_result, excess_ns, "ns", "median of its runs' excesses"),
	NUMBER(restart_result, within_20ns, "%", "median of its runs"),
	TEXT(restart_result, target_facts, "JSON text: what the target says of itself"),
	MANY(restart_result, runs, run_count, FIELD_LIST, &shape_run, NULL, "its runs, invalid ones too"),
	END,
};

const struct shape shape_restart = { "restart",
				     "everything of the target built anew: the independent unit of the statistics",
				     sizeof(struct restart_result), restart_fields };

static const struct field block_fields[] = {
	COUNT32(block_result, block, NULL, "from 0"),
	COUNT32(block_result, cell, NULL, "index of the tare"),
	NUMBER(block_result, before_ns, "ns", "the null's restart before the others"),
	NUMBER(block_result, after_ns, "ns", "the null's restart after the others"),
	NUMBER(block_result, tare_ns, "ns", "what is taken off in this block"),
	NUMBER(block_result, drift_ns, "ns", "after - before"),
	END,
};

const struct shape shape_block = { "block", "the tare of a randomised block", sizeof(struct block_result),
				   block_fields };

static const struct field cell_fields[] = {
	COUNT32(cell_result, index, NULL, "in the plan, from 0"),
	TEXT(cell_result, label, "unique in the campaign"),
	TEXT(cell_result, title, "for a table's first column"),
	BOOL(cell_result, is_tare, "the null program that brackets the others"),
	COUNT32(cell_result, tare, NULL, "index of the cell that is taken off this one; 4294967295: none"),
	MANY(cell_result, values, value_count, FIELD_TEXTS, NULL, NULL, "by axis; empty: does not apply"),
	COUNT32(cell_result, restarts_planned, NULL, "by the plan"),
	COUNT32(cell_result, restarts_valid, NULL, "in the figures"),
	COUNT32(cell_result, restarts_invalid, NULL, "in no figure: no run of theirs may be used"),
	COUNT32(cell_result, restarts_failed, NULL, "in no figure: the target failed"),
	COUNT32(cell_result, runs_valid, NULL, "in the figures"),
	COUNT32(cell_result, runs_invalid, NULL, "in no figure"),
	TEXT(cell_result, stop,
	     "plans with stop: width: its interval was narrow enough; most: it never was; else empty"),
	COUNT32(cell_result, stop_restarts, NULL, "that counted when it stopped"),
	NUMBER(cell_result, stop_width, "%", "of its 95 % interval then, from end to end, over the median"),
	MANY(cell_result, hosts, host_count, FIELD_LIST, &shape_host, NULL, "of a campaign on several hosts, by host"),
	NUMBER(cell_result, between_hosts_sd_ns, "ns", "between hosts, beyond the spread of restarts on one"),
	NUMBER(cell_result, host_icc, NULL, "share of the variance of restart figures that is between hosts, 0 to 1"),
	OBJECT(cell_result, host_icc_interval, shape_span, "of host_icc; its ends have no unit"),
	OBJECT(cell_result, ledger, shape_ledger, "sum over the runs in the figures"),
	OBJECT(cell_result, ledger_excluded, shape_ledger, "sum over the runs in no figure"),
	OBJECT(cell_result, gross, shape_quantiles, "rx_path - rx_bypass; medians of the restart figures"),
	OBJECT(cell_result, one_way, shape_quantiles, "rx_path - tx; medians of the restart figures"),
	OBJECT(cell_result, intended, shape_quantiles, "rx_path - sched; medians of the restart figures"),
	OBJECT(cell_result, gross_interval, shape_span, "of gross p50 at 95 %: order statistics, interpolated"),
	OBJECT(cell_result, gross_order, shape_span, "of gross p50: order statistics of the restarts"),
	OBJECT(cell_result, gross_bootstrap, shape_span, "of gross p50: hierarchical bootstrap"),
	NUMBER(cell_result, iqr_ns, "ns", "interquartile range of single probes inside a run"),
	NUMBER(cell_result, within_run_sd_ns, "ns", "of run medians inside a restart"),
	NUMBER(cell_result, between_sd_ns, "ns", "of restart figures"),
	NUMBER(cell_result, icc, NULL, "intra-class correlation of run medians in restarts, 0 to 1"),
	OBJECT(cell_result, icc_interval, shape_span, "of icc; its ends have no unit"),
	NUMBER(cell_result, tare_ns, "ns", "median of the tares taken off"),
	NUMBER(cell_result, net_ns, "ns", "median of the restarts' net figures"),
	NUMBER(cell_result, u_ns, "ns", "combined standard uncertainty of net_ns"),
	NUMBER(cell_result, dof, NULL, "effective degrees of freedom; null: infinite"),
	NUMBER(cell_result, factor, NULL, "Student's, with the coverage of k = 2 for a normal distribution"),
	NUMBER(cell_result, expanded_ns, "ns", "factor * u_ns: the U of net +- U (k=2)"),
	NUMBER(cell_result, expanded_k3_ns, "ns", "the same for k = 3"),
	OBJECT(cell_result, net_interval, shape_span, "of net_ns at 95 %: over restarts, widened by the Type B terms"),
	OBJECT(cell_result, net_order, shape_span, "of net_ns: order statistics of the restarts"),
	OBJECT(cell_result, net_bootstrap, shape_span, "of net_ns: hierarchical bootstrap"),
	MANY(cell_result, budget, budget_count, FIELD_LIST, &shape_budget, NULL, "the terms of u_ns"),
	NUMBER(cell_result, within_20ns, "%", "of ranked probes, within 20 ns of their run's median"),
	MANY(cell_result, modes, mode_count, FIELD_LIST, &shape_mode, NULL, "modes found in the packet medians"),
	NUMBER(cell_result, truth_net_ns, "ns", "what the target emitted, null taken off; null: not known"),
	NUMBER(cell_result, error_ns, "ns", "net_ns - truth_net_ns"),
	NUMBER(cell_result, paired_error_ns, "ns", "the same probe by probe: excess_ns, the null's taken off"),
	MANY(cell_result, second, second_count, FIELD_LIST, &shape_second, NULL, "one, or none"),
	MANY(cell_result, bound, bound_count, FIELD_LIST, &shape_bound, NULL, "one, or none"),
	NUMBER(cell_result, offered_pps, "pps", "median over valid runs"),
	NUMBER(cell_result, intended_pps, "pps", "median over valid runs"),
	INTEGER(cell_result, lateness_p50_ns, "ns", "median over valid runs"),
	INTEGER(cell_result, lateness_p99_ns, "ns", "median over valid runs"),
	INTEGER(cell_result, lateness_max_ns, "ns", "largest of the valid runs"),
	COUNT32(cell_result, blocks_near, NULL, "sum over valid runs"),
	COUNT32(cell_result, blocks_far, NULL, "sum over valid runs"),
	COUNT32(cell_result, stalls, NULL, "sum over valid runs"),
	COUNT32(cell_result, clock_steps, NULL, "sum over valid runs"),
	INTEGER(cell_result, stalled_ns, "ns", "sum over valid runs"),
	TEXT(cell_result, regime, "transit: cold, warm or dense"),
	NUMBER(cell_result, carrier_asked_bps, "bit/s", "transit: carrier as planned"),
	NUMBER(cell_result, carrier_offered_bps, "bit/s", "transit: carrier as sent; median over valid runs"),
	NUMBER(cell_result, carrier_received_bps, "bit/s", "transit: carrier as it arrived; median over valid runs"),
	NUMBER(cell_result, align_width_ns, "ns", "transit: uncertainty of the alignment, largest of the valid runs"),
	COUNT32(cell_result, segments, NULL, "transit: most segments of the alignment in a run"),
	MANY(cell_result, chain, chain_count, FIELD_LIST, &shape_chain, NULL, "transit: tx to rx, link by link"),
	MANY(cell_result, quantities, quantity_count, FIELD_LIST, &shape_quantity, NULL,
	     "numbers that its runs found, the one to show first first"),
	MANY(cell_result, ecdf_p, ecdf_count, FIELD_NUMBERS, NULL, "%", "cumulative probabilities"),
	MANY(cell_result, ecdf_ns, ecdf_count, FIELD_NUMBERS, NULL, "ns", "gross there: median over restarts"),
	MANY(cell_result, ecdf_low_ns, ecdf_count, FIELD_NUMBERS, NULL, "ns", "lowest restart"),
	MANY(cell_result, ecdf_high_ns, ecdf_count, FIELD_NUMBERS, NULL, "ns", "highest restart"),
	MANY(cell_result, packet_id, packet_count, FIELD_NUMBERS, NULL, NULL, "packets of the stream"),
	MANY(cell_result, packet_ns, packet_count, FIELD_NUMBERS, NULL, "ns",
	     "their medians over runs, net of the same packet's tare, less net_ns (tare: less its gross p50)"),
	COUNT32(cell_result, packet_stride, NULL, "one of so many packets is in packet_id, drawn at random"),
	END,
};

const struct shape shape_cell = { "cell", "one configuration: a point of the plan's matrix, or the tare",
				  sizeof(struct cell_result), cell_fields };

static const struct field problem_fields[] = {
	TEXT(problem, severity, "error: a result is invalid or missing; warning; note"),
	TEXT(problem, about, "cell; empty: the campaign"),
	TEXT(problem, text, "what, and what it means"),
	END,
};

const struct shape shape_problem = { "problem", "what the reader must know before believing a figure",
				     sizeof(struct problem), problem_fields };

static const struct field fact_fields[] = {
	TEXT(name_value, name, "what"),
	TEXT(name_value, value, "its value"),
	END,
};

const struct shape shape_fact = { "fact", "a name and its value", sizeof(struct name_value), fact_fields };

static const struct field event_fields[] = {
	INTEGER(event_result, utc_ns, "ns", "wall clock, since 1970"),
	TEXT(event_result, kind, "what kind"),
	TEXT(event_result, message, "what happened"),
	END,
};

const struct shape shape_event = { "event", "something that happened during the campaign", sizeof(struct event_result),
				   event_fields };

static const struct field regime_step_fields[] = {
	TEXT(regime_step_result, from, "a level of the axis"),
	TEXT(regime_step_result, to, "the next"),
	EXACT(regime_step_result, ratio, NULL, "of their medians, to over from"),
	OBJECT(regime_step_result, interval, shape_span, "95 %, of the ratio; its ends have no unit"),
	EXACT(regime_step_result, p_holm, NULL, "that both are the same, adjusted over the steps"),
	BOOL(regime_step_result, apart, "their own 95 % intervals do not meet"),
	END,
};

static const struct shape shape_regime_step = { "regime_step", "a level of an axis against the next",
						sizeof(struct regime_step_result), regime_step_fields };

static const struct field regime_fields[] = {
	TEXT(regime_result, axis, "along which"),
	TEXT(regime_result, series, "what its cells have in common"),
	TEXT(regime_result, why, "why it cannot be said; empty: it can"),
	BOOL(regime_result, found, "there is a change"),
	TEXT(regime_result, before, "the last level before the most probable place"),
	TEXT(regime_result, beyond, "the first behind it"),
	TEXT(regime_result, first, "it is between this level"),
	TEXT(regime_result, last, "and this with 95 %"),
	NUMBER(regime_result, probability, "%", "that it is at the most probable place"),
	EXACT(regime_result, ratio, NULL, "of the medians behind it over those before it"),
	OBJECT(regime_result, interval, shape_span, "95 %, of the ratio; its ends have no unit"),
	EXACT(regime_result, p, NULL, "that there is none"),
	NUMBER(regime_result, spread, NULL, "by which uncertainties were made larger, as levels on a side differ"),
	TEXT(regime_result, statement, "the same as a sentence"),
	MANY(regime_result, steps, step_count, FIELD_LIST, &shape_regime_step, NULL, "from level to level"),
	END,
};

static const struct shape shape_regime = { "regime", "where along an axis a latency changes",
					   sizeof(struct regime_result), regime_fields };

static const struct field trial_fields[] = {
	NUMBER(trial_result, rate_mbps, "Mbit/s", "of the carrier, as asked for"),
	NUMBER(trial_result, length_s, "s", "as asked for"),
	NUMBER(trial_result, offered_mbps, "Mbit/s", "what went out"),
	NUMBER(trial_result, probe_loss, "%", "of the probes"),
	NUMBER(trial_result, carrier_loss, "%", "of the carrier"),
	BOOL(trial_result, high, "it lost more than the goal allows"),
	NUMBER(trial_result, p50_us, "us", "in switch, over probes sent; null: too few"),
	NUMBER(trial_result, p99_us, "us", "the same"),
	NUMBER(trial_result, hole_ms, "ms", "longest time by which the carrier was late"),
	BOOL(trial_result, sender_short, "what sends could not offer the rate evenly"),
	COUNT32(trial_result, tries, NULL, "how often it was run"),
	END,
};

static const struct shape shape_trial = { "trial", "a trial of a search for a rate", sizeof(struct trial_result),
					  trial_fields };

static const struct field search_fields[] = {
	COUNT32(search_result, cell, NULL, "index of its cell"),
	COUNT32(search_result, order, NULL, "of its restart, in which it ran"),
	COUNT32(search_result, run, NULL, "in its restart, from 0"),
	BOOL(search_result, sweep, "of given rates; else between two bounds"),
	NUMBER(search_result, goal_probe_loss, "%", "most probes that a trial may lose"),
	NUMBER(search_result, goal_carrier_loss, "%", "most of the carrier"),
	NUMBER(search_result, goal_final_s, "s", "length of a trial that decides"),
	NUMBER(search_result, lower_mbps, "Mbit/s", "highest rate below upper that meets the goal; null: none"),
	NUMBER(search_result, upper_mbps, "Mbit/s", "least rate that does not; null: none"),
	NUMBER(search_result, throughput_mbps, "Mbit/s", "what came through at lower"),
	NUMBER(search_result, width, "%", "(upper - lower) / upper"),
	TEXT(search_result, irregular, "what was irregular, in words; empty: nothing"),
	NUMBER(search_result, total_s, "s", "length of all trials"),
	MANY(search_result, trials, trial_count, FIELD_LIST, &shape_trial, NULL, "in their order"),
	END,
};

static const struct shape shape_search = { "search", "a search for the rate that a cell carries",
					   sizeof(struct search_result), search_fields };

static const struct field result_fields[] = {
	COUNT32(result, schema, NULL, "version of this schema"),
	TEXT(result, tool_version, "of the tare that computed this"),
	TEXT(result, name, "of the campaign"),
	TEXT(result, measure, "what was measured"),
	COUNT(result, seed, NULL, "of the order"),
	TEXT(result, target_kind, "card, pipeline, ..."),
	TEXT(result, plan_text, "the plan, whole"),
	COUNT32(result, turns, "restarts", "planned"),
	COUNT32(result, turns_done, "restarts", "of them good"),
	COUNT32(result, turns_failed, "restarts", "of them failed, and not run again"),
	COUNT32(result, turns_passed, "restarts", "left out by cells that have stopped; not in turns"),
	NUMBER(result, stop_asked, "%", "width that the plan's stop: section asks for; null: it has none"),
	INTEGER(result, started_utc_ns, "ns", "first restart, since 1970; 0: none ran"),
	MANY(result, axes, axis_count, FIELD_TEXTS, NULL, NULL, "of the matrix"),
	MANY(result, problems, problem_count, FIELD_LIST, &shape_problem, NULL, "gravest first"),
	MANY(result, cells, cell_count, FIELD_LIST, &shape_cell, NULL, "in the order of the plan"),
	MANY(result, blocks, block_count, FIELD_LIST, &shape_block, NULL, "in the order in which they ran"),
	MANY(result, restarts, restart_count, FIELD_LIST, &shape_restart, NULL, "in the order in which they ran"),
	MANY(result, ratios, ratio_count, FIELD_LIST, &shape_ratio, NULL, "family by family"),
	MANY(result, families, family_count, FIELD_LIST, &shape_family, NULL, "what the ratios say together"),
	MANY(result, sweeps, sweep_count, FIELD_LIST, &shape_sweep, NULL, "quantities along axes that are numbers"),
	MANY(result, causes, cause_count, FIELD_LIST, &shape_cause, NULL,
	     "what makes cold cells slower than warm ones, where it was traced"),
	MANY(result, quantities, quantity_count, FIELD_LIST, &shape_fact, NULL,
	     "all there are in some cell: name, and unit as value"),
	COUNT32(result, headlines, NULL, "so many of them, from the first on, are what a summary is about"),
	MANY(result, regimes, regime_count, FIELD_LIST, &shape_regime, NULL,
	     "transit: where along intervals and carriers"),
	MANY(result, searches, search_count, FIELD_LIST, &shape_search, NULL,
	     "calibrate: in the order in which they ran"),
	MANY(result, points, point_count, FIELD_LIST, &shape_fact, NULL, "figures and their stamp points and clock"),
	MANY(result, method, method_count, FIELD_LIST, &shape_fact, NULL, "how each estimate is made"),
	MANY(result, facts, fact_count, FIELD_LIST, &shape_fact, NULL, "provenance"),
	MANY(result, events, event_count, FIELD_LIST, &shape_event, NULL, "in the order of time"),
	END,
};

const struct shape shape_result = { "result", "a campaign's result", sizeof(struct result), result_fields };

const struct shape *const shapes[] = {
	&shape_result,    &shape_cell,    &shape_restart, &shape_run,         &shape_block,  &shape_ledger,
	&shape_quantiles, &shape_span,    &shape_budget,  &shape_mode,        &shape_second, &shape_chain,
	&shape_quantity,  &shape_range,   &shape_ratio,   &shape_family,      &shape_sweep,  &shape_series,
	&shape_point,     &shape_problem, &shape_fact,    &shape_event,       &shape_cause,  &shape_cause_side,
	&shape_search,    &shape_trial,   &shape_regime,  &shape_regime_step, &shape_bound,  NULL
};
