/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_RESULT_H
#define TARE_REPORT_RESULT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "probe/ledger.h"
#include "stats/figure.h"
#include "store/store.h"

/*
 * The one result model. result_build computes everything a report shows, once,
 * from the store; the renderers (terminal, HTML, JSON, CSV, figures) only write
 * it down. Saved as JSON it comes back whole (report/json.h), so a report can be
 * drawn again without its store. report/shape.h describes every member with its
 * unit and meaning; that table is what the JSON, its schema and its document
 * are made of.
 *
 * Numbers: times are ns, shares are per cent. NaN: there is no such number (not
 * known, not enough restarts, no tare). +infinity: it fell on a lost probe.
 * A result is read-only once built, and everything in it lives in its arena.
 */
enum { RESULT_SCHEMA = 1 }; /* of the JSON; raised when a member changes its meaning or disappears */

/* p50, p90, p99, p99.9, p99.99 */
enum { QUANTILE_P50, QUANTILE_P90, QUANTILE_P99, QUANTILE_P999, QUANTILE_P9999, QUANTILES };

/* Figures refuse as stats/figure.h has it; one that needs nothing (all zeros) is just not there. */
struct quantiles {
	struct figure q[QUANTILES];
};

/* An interval; low NaN: there is none. An end may be +infinity: lost. */
struct span {
	double low, high;
	double level; /* its real confidence in %: order statistics cannot hit 95 exactly. None: the best to be had */
};

/* One term of an uncertainty budget. */
struct budget_line {
	const char *name;
	const char *type; /* "A" or "B", as the GUM has it */
	double u_ns;      /* standard uncertainty of the net figure from this term */
	double dof;       /* degrees of freedom; NaN: infinite */
	double share;     /* of the combined variance */
	const char *how;  /* where it comes from, in a line */
};

/* A group of packets with a latency of their own, found in the packet medians over all runs. */
struct mode_result {
	double net_ns; /* where its packets' medians lie, tare taken off (gross for the tare itself) */
	double share;  /* of the packets */
	uint64_t packets;
};

/* A link of the chain that a probe goes through: tx, sw_in, p4_in, p4_out, sw_out, rx. */
enum { CHAIN_LINKS = 5 };
struct chain_result {
	const char *name; /* "sw_in to p4_in" */
	double median_ns; /* of the link by itself, over the probes that have both stamps */
	/* From the median of (its end - tx) less that of its beginning: these add up to the median of rx - tx. */
	double step_ns;
	double u_ns; /* half the alignment's width where it is between two clocks, else 0 */
};

/* A number that runs found, beside their samples or instead of them, in one cell. Numbers are in its unit. */
struct quantity_result {
	const char *name;     /* "batch_wall" */
	const char *unit;     /* "ms"; empty: a pure number */
	double value;         /* median over restarts of the medians over their valid runs; +infinity: it never came */
	struct span interval; /* 95 % over restarts, the one to print: interpolated order statistics */
	struct span order, bootstrap;            /* exact order statistics, and the hierarchical bootstrap */
	double u, dof;                           /* standard uncertainty between restarts; NaN: fewer than 6 */
	double between_sd, within_sd;            /* of restart figures; of runs inside a restart */
	uint32_t runs, runs_without;             /* valid runs that found it; that did not */
	double *restart_orders, *restart_values; /* by restart, in the order in which they ran */
	uint32_t restart_count;
};

/* A trial of a search for a rate. Losses in %. */
struct trial_result {
	double rate_mbps, length_s; /* as asked for */
	double offered_mbps;        /* what went out */
	double probe_loss, carrier_loss;
	bool high;             /* over the goal */
	double p50_us, p99_us; /* in switch, over probes sent; +infinity: lost; NaN: too few */
	double hole_ms;        /* longest time by which the carrier was late */
	bool sender_short;     /* what sends could not offer the rate evenly */
	uint32_t tries;
};

/* A search: one run of a calibrate plan. */
struct search_result {
	uint32_t cell, order, run; /* order: of its restart, in which it ran */
	bool sweep;
	double goal_probe_loss, goal_carrier_loss, goal_final_s;
	double lower_mbps, upper_mbps; /* NaN: there is none */
	double throughput_mbps;        /* what came through at the lower bound */
	double width;                  /* (upper - lower) / upper, % */
	const char *irregular;         /* what was irregular, in words; empty */
	double total_s;                /* of all trials */
	struct trial_result *trials;
	uint32_t trial_count;
};

/* A level of an axis against the next. */
struct regime_step_result {
	const char *from, *to; /* "60ms", "30ms" */
	double ratio;          /* of the medians, to over from */
	struct span interval;
	double p_holm; /* that both are the same, adjusted over the steps */
	bool apart;    /* their own 95 % intervals do not meet */
};

/* Where along an axis the latency inside the switch changes from one regime to another (stats/regime.h). */
struct regime_result {
	const char *axis, *series; /* "interval"; what its cells have in common, or empty */
	const char *why;           /* why it cannot be said; empty */
	bool found;
	const char *before, *beyond; /* levels that the change is between */
	const char *first, *last;    /* it is between these with 95 % */
	double probability;          /* that it is right there, % */
	double ratio;                /* of the medians behind it over before it */
	struct span interval;
	double p;              /* that there is none */
	double spread;         /* by which uncertainties were made larger; 1: levels on each side agree */
	const char *statement; /* the same as a sentence */
	struct regime_step_result *steps;
	uint32_t step_count;
};

/* Two cells that differ in one axis only (transit: or in their regime): one quantity of the first over the second's. */
struct ratio_result {
	const char *name; /* "l3_lpm size=256B: cold / carrier=1Mbps" */
	uint32_t family;  /* index of its ratio_family */
	uint32_t cell, base;
	double ratio;         /* NaN: a figure is missing, or the base is 0 */
	struct span interval; /* without unit */
	double p, p_holm;     /* that both are the same; adjusted over the family */
	bool apart;           /* the cells' own 95 % intervals do not meet */
};

/* Ratios of one quantity that answer one question, and are judged together. */
struct ratio_family {
	const char *quantity, *unit; /* "p50": the gross median */
	const char *axis;            /* in which the cells differ; "regime" */
	const char *over, *base;     /* its values: "sync", "async" */
	const char *group;      /* "operation=insert": what all have in common, where that parts families; else "" */
	uint32_t count, judged; /* ratios; of them both cells have an interval */
	uint32_t apart, larger; /* intervals apart; of them the first is the larger */
	uint32_t significant;   /* p_holm under 0.05 */
	double least, most;     /* of the ratios; NaN: none */
	const char *statement;  /* the same as a sentence */
};

/* A quantity along an axis that is a number. */
struct sweep_point {
	double x;       /* in the base unit of its kind: ns, bytes, bit/s, 1 */
	const char *at; /* as the plan has it: "25Mbps" */
	uint32_t cell;
	double value;
	struct span interval; /* 95 % over restarts */
};

struct sweep_series {
	const char *name;           /* what its cells have in common: "carrier=1Mbps"; empty: all there is */
	struct sweep_point *points; /* by x */
	uint32_t point_count;
	/* y = a x^b over the points with x > 0, where the measure asks for it; else NaN */
	double exponent;
	struct span exponent_interval;
	double misfit;   /* of the worst point, as a share of the fitted value */
	const char *why; /* why there is no exponent, or no interval; empty */
};

struct sweep_result {
	const char *quantity, *unit;
	const char *axis;
	const char *axis_unit; /* of x: "ns", "B", "bit/s", "" */
	struct sweep_series *series;
	uint32_t series_count;
};

/* What a second clock says of a cell's probes, those that the first has in its figures (differential only). */
struct second_result {
	const char *clock, *source; /* what stamped, and where */
	double resolution_ns;       /* of one stamp as the source promises it; NaN: it promises none */
	uint32_t runs;              /* that have it */
	uint64_t pairs, compared;   /* probes with both copies by it; of them in the first clock's figures as well */
	uint64_t path_missing, bypass_missing, neither; /* probes without one copy, or both */
	uint64_t duplicates, unreadable, foreign;       /* frames */

	double gross_ns, tare_ns, net_ns; /* by it: medians over restarts; NaN: no tare */
	double first_net_ns;              /* by the first clock, over the same probes */
	struct span net_interval;         /* of net_ns, over restarts */

	/* Second less first, probe by probe, less what the tare has of it: medians over restarts of the runs' figures. */
	double bias_ns, median_ns, sd_ns;
	struct span bias_interval;
	double low_ns, high_ns;      /* 95 % of the probes lie between */
	double slope;                /* on the mean of both readings */
	double anderson, anderson_p; /* standardised statistic, and its p */
	uint32_t runs_apart;         /* whose quantiles differ by more than chance (Kolmogorov and Smirnov, 95 %) */
	uint32_t runs_rejected;      /* by Anderson and Darling, 5 % */

	/* Quantile by quantile, of the first run that has it: how far the second lies above the first, and its band. */
	double *shift_p, *shift_first_ns, *shift_ns, *shift_low_ns, *shift_high_ns; /* NaN: the band is open there */
	uint32_t shift_count;
	double distance, band; /* largest difference of shares, and what chance allows; % */
	const char **findings; /* what either clock does to its readings */
	uint32_t finding_count;
};

/* A cell's packets against the vendor's worst case (differential only). A packet is its median over runs, net. */
struct bound_result {
	double cycles, clock_hz; /* as the vendor states them */
	uint32_t bus_bytes;
	uint32_t inserted_bytes; /* header bytes that the program inserts */
	double bound_ns;
	double uncertainty_ns; /* of a packet's net, k = 2; NaN: not known, and no packet under or over the bound */
	uint64_t packets;      /* with a net: under + unsure + over */
	uint64_t under, unsure, over;
	uint64_t without; /* packets lost in half of the runs or more, here or in the tare */
	double least_cycles, median_cycles, most_cycles; /* margins; NaN: no packet */
	double *worst_packet, *worst_cycles;             /* the first few that are not under it, worst first */
	uint32_t worst_count;
};

/* Where the time from p4_in to p4_out went in a cell whose switch was followed through the scheduler. */
enum { CAUSE_WAKE_UP, CAUSE_CPU_WAIT, CAUSE_RUNNING, CAUSE_REST, CAUSE_PARTS };

struct cause_side {
	union {
		double part_us[CAUSE_PARTS];
		struct {
			double wake_up_us, cpu_wait_us, running_us, rest_us;
		};
	};
	double whole_us;
	bool coarse; /* not followed: from the scheduler's counters, means over all threads and packets */
};

/* Two cells that differ in the carrier only. */
struct cause_result {
	uint32_t cold_cell, warm_cell;
	struct cause_side cold, warm;
	double ratio;  /* cold over warm, of the whole */
	bool coarse;   /* one of the sides is */
	uint32_t part; /* that grows most */
	const char *statement;
};

struct run_result {
	uint32_t run;
	int64_t started_utc_ns;
	bool valid;
	const char *reason; /* why not; empty when valid */
	struct ledger ledger;
	bool balances;
	uint64_t ranked;           /* probes the quantiles rank over: sent less set apart */
	struct quantiles gross;    /* rx_path - rx_bypass */
	struct quantiles one_way;  /* rx_path - tx */
	struct quantiles intended; /* rx_path - sched: free of coordinated omission */
	double iqr_ns;             /* of the gross figure */
	double within_20ns;        /* share of ranked probes within 20 ns of the run's median */
	double truth_ns;           /* median of what the target emitted: path - bypass */
	double excess_ns;          /* median over probes of gross - truth, each probe against its own */

	double tsc_hz, tsc_hz_u_ppm, tsc_tick_ns;
	double offered_pps, intended_pps;
	int64_t lateness_p50_ns, lateness_p99_ns, lateness_max_ns;
	int64_t gap_limit_ns, elapsed_ns;
	int64_t core_send, core_receive;
	double pingpong_p50_ns;
	uint32_t blocks_near, blocks_far;
	uint32_t stalls, clock_steps;
	int64_t stalled_ns;
	const char *protection;

	/* Transit only; else NaN and 0. */
	double carrier_offered_bps, carrier_received_bps;
	double align_width_ns; /* of the widest segment: the alignment's uncertainty */
	uint32_t segments;     /* of the alignment; more than 1: a clock stepped */
};

struct restart_result {
	uint32_t order;    /* in which it ran, from 0 */
	uint32_t position; /* of its turn in the planned order; a turn that failed and ran again is there twice */
	uint32_t block, cell, restart;
	int64_t started_utc_ns;
	const char *host;   /* where it ran; empty: not known */
	const char *state;  /* "valid"; "invalid": no run may be used; "failed": the target did */
	const char *reason; /* empty when valid */
	uint32_t runs_valid, runs_invalid;
	struct ledger ledger;   /* of its valid runs */
	struct quantiles gross; /* medians of the run figures */
	double tare_ns;         /* of its block; NaN for the tare itself */
	double net_ns;          /* gross p50 less tare_ns */
	double truth_ns, excess_ns;
	double within_20ns;
	const char *target_facts; /* JSON text, as the target described itself */
	struct run_result *runs;
	uint32_t run_count;
};

/* A tare in a randomised block: the null's restarts that bracket it. */
struct block_result {
	uint32_t block;
	uint32_t cell;              /* the tare */
	double before_ns, after_ns; /* NaN: that restart is missing or invalid */
	double tare_ns;             /* what is taken off: their mean, or the one there is */
	double drift_ns;            /* after - before */
};

/* What the restarts of a cell on one of several hosts come to. */
struct host_result {
	const char *host;
	uint32_t restarts; /* valid */
	double median_ns;  /* of their net figures; where there is no tare, of gross p50 */
};

struct cell_result {
	uint32_t index;
	const char *label; /* unique; names the cell in `tare compare` */
	const char *title; /* for a table's first column: "forward size=64B" */
	bool is_tare;
	uint32_t tare;       /* index of the cell that is taken off this one; CELL_NONE: none */
	const char **values; /* by result->axes; empty: does not apply */
	uint32_t value_count;

	uint32_t restarts_planned, restarts_valid, restarts_invalid, restarts_failed;
	uint32_t runs_valid, runs_invalid;
	/* Plans with a stop: section. */
	const char *stop;       /* "width": narrow enough; "most": it never was; empty: goes on, or no such section */
	uint32_t stop_restarts; /* that counted then */
	double stop_width;      /* of its 95 % interval then, over the median, in % */
	/* Campaigns that ran on several hosts; else none and NaN. Groups of restarts by host, one level more. */
	struct host_result *hosts;
	uint32_t host_count;
	double between_hosts_sd_ns; /* of hosts, beyond what restarts of one host vary */
	double host_icc;            /* share of the variance between restarts that is between hosts, 0 to 1 */
	struct span host_icc_interval;
	struct ledger ledger;          /* of the runs in the figures */
	struct ledger ledger_excluded; /* of the invalid ones, and of failed restarts */

	struct quantiles gross, one_way, intended; /* medians of the restart figures */
	struct span gross_interval;                /* of gross p50 at 95 %, the one to print where there is no net */
	struct span gross_order, gross_bootstrap;  /* exact order statistics; hierarchical bootstrap */
	struct span icc_interval;
	double iqr_ns;           /* of single probes, inside a run */
	double within_run_sd_ns; /* of run medians inside a restart */
	double between_sd_ns;    /* of restart figures */
	double icc;              /* intra-class correlation of run medians, 0 to 1 */

	double tare_ns;           /* median of the tares its restarts had taken off */
	double net_ns;            /* median of its restarts' net figures */
	double u_ns;              /* combined standard uncertainty */
	double dof;               /* effective (Welch-Satterthwaite); NaN: infinite */
	double factor;            /* Student's, with the coverage that k = 2 has for a normal distribution */
	double expanded_ns;       /* factor * u_ns: the U of "net +- U (k=2)" */
	double expanded_k3_ns;    /* the same for k = 3 */
	struct span net_interval; /* the 95 % interval to print: over restarts, widened by the Type B terms */
	struct span net_order, net_bootstrap; /* over restarts alone */
	struct budget_line *budget;
	uint32_t budget_count;

	double within_20ns;
	struct mode_result *modes; /* by net_ns */
	uint32_t mode_count;

	double truth_net_ns; /* what the target emitted, null taken off; NaN where it does not know */
	double error_ns;     /* net_ns - truth_net_ns */
	/* The same probe by probe: median of excess_ns, the null's taken off. Where a program has several modes the two
	 * medians above may fall into different ones; this cannot. */
	double paired_error_ns;

	struct second_result *second; /* one, or none */
	uint32_t second_count;
	struct bound_result *bound; /* one, or none */
	uint32_t bound_count;

	double offered_pps, intended_pps;                          /* medians over valid runs */
	int64_t lateness_p50_ns, lateness_p99_ns, lateness_max_ns; /* medians, and the largest */
	uint32_t blocks_near, blocks_far, stalls, clock_steps;     /* sums over valid runs */
	int64_t stalled_ns;

	/* Transit only. What gross is there: p4_out - p4_in. */
	const char *regime; /* "cold", "warm", "dense"; empty: not transit */
	double carrier_asked_bps, carrier_offered_bps,
		carrier_received_bps; /* medians over valid runs; 0: no carrier */
	double align_width_ns;        /* the largest of its valid runs */
	uint32_t segments;            /* the most in a run */
	struct chain_result *chain;
	uint32_t chain_count;

	struct quantity_result
		*quantities; /* in the order in which runs put them; the first is the one to show first */
	uint32_t quantity_count;

	/* The distribution: at each probability (in %), the median over restarts of the restarts' gross quantile, and
	 * the lowest and highest restart. */
	double *ecdf_p, *ecdf_ns, *ecdf_low_ns, *ecdf_high_ns;
	uint32_t ecdf_count;
	/* By packet of the stream: median over all runs, net of the same packet's tare, less the cell's net (for the
	 * tare: its median less the tare's). When there are more packets than are kept, one of every packet_stride
	 * neighbours, drawn at random. */
	double *packet_id, *packet_ns;
	uint32_t packet_count;
	uint32_t packet_stride;
};

/* Something the reader must know before believing a figure. */
struct problem {
	const char *severity; /* "error": a result is invalid or missing; "warning"; "note" */
	const char *about;    /* cell title, or empty: the campaign */
	const char *text;
};

struct name_value {
	const char *name, *value;
};

struct event_result {
	int64_t utc_ns;
	const char *kind, *message;
};

struct result {
	struct arena arena;
	uint32_t schema;
	const char *tool_version;

	const char *name;
	const char *measure;
	uint64_t seed;
	const char *target_kind;
	const char *plan_text;
	uint32_t turns, turns_done, turns_failed; /* restarts planned; of them good; of them failed and not run again */
	uint32_t turns_passed;                    /* that cells which stopped left out; not in turns */
	double stop_asked;      /* width that the plan's stop: section asks for, in %; NaN: it has none */
	int64_t started_utc_ns; /* of the first restart; 0: none ran */
	const char **axes;
	uint32_t axis_count;

	struct problem *problems; /* gravest first */
	uint32_t problem_count;
	struct cell_result *cells; /* in the order of the plan */
	uint32_t cell_count;
	struct block_result *blocks;
	uint32_t block_count;
	struct restart_result *restarts; /* in the order in which they ran */
	uint32_t restart_count;
	struct ratio_result *ratios; /* family by family */
	uint32_t ratio_count;
	struct ratio_family *families;
	uint32_t family_count;
	struct sweep_result *sweeps;
	uint32_t sweep_count;
	struct cause_result *causes; /* by warm cell */
	uint32_t cause_count;
	struct name_value *quantities; /* all there are in some cell: name and unit */
	uint32_t quantity_count;
	uint32_t headlines;            /* so many of them, from the first on, are what a summary is about */
	struct regime_result *regimes; /* transit: where along intervals and carriers */
	uint32_t regime_count;
	struct search_result *searches; /* calibrate: in the order in which they ran */
	uint32_t search_count;
	struct name_value *points; /* each figure and the stamp points and clock it is made of */
	uint32_t point_count;
	struct name_value *method; /* how each estimate is made */
	uint32_t method_count;
	struct name_value *facts; /* provenance */
	uint32_t fact_count;
	struct event_result *events;
	uint32_t event_count;
};

/*
 * Read the whole store and compute. Runs stream through one at a time: memory is
 * that of one run and of one cell's packets. A store with nothing in it yet gives
 * a result without figures, and a problem that says so.
 */
int result_build(struct store *store, struct result **ret_result, struct err *err);

void result_destroy(struct result *result);

/* ERR_RESULT with the first problem of severity "error", or 0. The exit status of run and report. */
int result_check(const struct result *result, struct err *err);

/* The quantity of a cell by name and unit; NULL: it has none. */
const struct quantity_result *cell_quantity(const struct cell_result *cell, const char *name, const char *unit);

/* Does the measure have probes with a latency (transit, differential), or values only? */
bool result_has_probes(const struct result *result);

/* Is a quantity (or a figure, of a measure with probes) among those that a summary is about? */
bool result_in_summary(const struct result *result, const char *quantity);

const struct cell_result *result_find_cell(const struct result *result, const char *label);

/* "p50", "p99.9"; and as a probability. */
const char *quantile_name(unsigned quantile);
double quantile_p(unsigned quantile);

static inline bool span_is(const struct span *s)
{
	return !isnan(s->low);
}

#endif
