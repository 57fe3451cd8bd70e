/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_BUILD_H
#define TARE_REPORT_BUILD_H

#include "report/result.h"
#include "report/view.h"
#include "stats/clockcheck.h"
#include "stats/packetwise.h"
#include "stats/quantile.h"

/*
 * How a result is computed, for the files that do it and nobody else:
 * build.c walks the store, build_run.c makes a run's figures from its samples,
 * build_cell.c goes from runs to cells, build_problems.c says what is wrong.
 */

enum {
	ECDF_POINTS = 105,
	PACKET_VALUES_MOST = 32 << 20, /* packet medians need all values of a cell at once: at most 256 MB */
};

/* In ascending order, as probabilities. */
double ecdf_probability(unsigned point);

/* What breaks a reading of a clock shows in the readings (stats/clockcheck.h). All in ticks. */
struct clock_findings {
	bool checked;
	double ns_per_tick;
	struct quantum_check quantum;
	struct dead_zone_check dead_zone;
	struct period_check period;
};

/* Figures of a run by both clocks, over the probes that both have. NaN: none. */
struct second_figures {
	bool there;
	double first_ns, second_ns; /* gross medians */
	double bias_ns, median_ns, sd_ns, low_ns, high_ns, slope, anderson, anderson_p;
	bool apart;
};

/* What a run leaves behind for its cell, and a report does not show run by run. */
struct run_trace {
	double clock_error;                /* of the clock step at the median */
	double gap_path_ns, gap_bypass_ns; /* mean poll gaps of the samples used */
	double ecdf_ns[ECDF_POINTS];
	struct second_figures second;
	/* Transit: medians since tx at the end of each link, and of the link by itself. */
	double chain_ns[CHAIN_LINKS], link_ns[CHAIN_LINKS];
	/* What the run put as numbers. */
	const struct run_value *values;
	uint32_t value_count;
};

/* Buffers for one run's samples, grown as needed. */
struct run_work {
	struct pair *pairs;
	int64_t *gross, *one_way, *intended, *truth, *excess, *scratch;
	uint32_t capacity;
};

int run_work_reserve(struct run_work *w, uint32_t count, struct err *err);
void run_work_release(struct run_work *w);

/* Take over what was recorded with the run. Text goes to the arena. */
int run_conditions(const struct run_record *record, struct arena *arena, struct run_result *ret);

/*
 * Figures of a run from its samples in w->pairs. Sets valid, reason and every figure;
 * a run that is invalid keeps its figures absent. `packets` (may be NULL) takes
 * each ranked probe's difference; how many did not fit is added to *packets_dropped. `findings` (may be NULL) is
 * filled unless it has been.
 */
int run_measure(struct run_work *w, uint32_t count, const struct run_record *record, struct arena *arena,
		struct packet_table *packets, uint64_t *packets_dropped, struct clock_findings *findings,
		struct run_result *ret, struct run_trace *trace);

/*
 * Why no figure may use a run, from its record and the account of its own samples; NULL: it may; "": out of memory.
 * Shared by both kinds of run, like the two below: quantiles of a set, in ns.
 */
const char *run_why_invalid(const struct run_record *record, const struct ledger *counted, bool by_tsc,
			    struct arena *arena);
void run_quantiles_of(const struct sample_set *set, double ns_per_tick, struct quantiles *ret);
double run_point_ns(const struct sample_set *set, double p, double ns_per_tick);

/* A run without samples: valid unless its record says otherwise. */
int run_measure_values(const struct run_record *record, struct arena *arena, struct run_result *ret,
		       struct run_trace *trace);

/* A run of a transit plan, as run_measure. `rows` are changed: set apart is found anew. */
int run_measure_transit(struct transit *rows, uint32_t count, const struct run_record *record,
			const struct transit_conditions *conditions, struct arena *arena, struct run_result *ret,
			struct run_trace *trace);

struct cell_work;

/*
 * A valid run by the second clock, if it has one; `pairs` are its samples. `offset_ns` is what the null has between
 * the clocks (cell_second_offset); a null finds its own. *ret untouched: there is none.
 */
int run_second(struct store *store, const struct stored_run *run, const struct pair *pairs, uint32_t count,
	       struct cell_work *w, double offset_ns, struct arena *arena, struct second_figures *ret, struct err *err);

/* One cell's restarts, as far as they have been read. */
struct cell_work {
	struct cell_result *cell;
	struct restart_result **restarts; /* all of the cell's, in the order in which they ran */
	struct run_trace **traces;        /* by restart, by run */
	uint32_t restart_count;
	struct packet_median *packets; /* in order of packet; NULL: not analysed */
	uint32_t packet_count;
	uint64_t packet_values_over; /* how many values there would be, where that is over PACKET_VALUES_MOST; 0: not */
	struct clock_findings findings; /* of its first valid run */
	double grid_ns;   /* what samples are multiples of: tick_ns, or a count of the TSC if that is longer */
	double tick_ns;   /* of the clock: the largest of its valid runs */
	double tsc_u_ppm; /* the largest of its valid runs */
	double clock_error, gap_path_ns, gap_bypass_ns; /* medians over them */
	struct measured measured;                       /* gross median with its uncertainty between restarts */
	double drift_ns, drift_max_ns;                  /* of its tare, from the net */
	uint32_t one_sided, unusable;                   /* blocks */
	struct second_result *second;                   /* the cell's; NULL: none */
};

/* NaN ends and the best confidence to be had where the interval is refused. */
struct span span_of(const struct interval *interval);

/* Restart figures from run figures; then everything of the cell but net and packets. */
void restart_summarise(struct restart_result *restart);
int cell_summarise(struct cell_work *w, struct arena *arena, uint64_t seed, struct err *err);

/* The tare by block, from the restarts of the tare cells. */
int blocks_build(struct result *result, const struct cell_work *works, struct err *err);

/* Net, its budget, truth. After blocks_build; `tare` NULL: nothing to take off. */
int cell_net(struct cell_work *w, const struct cell_work *tare, struct result *result, struct err *err);

/* Second less first of a null, both as medians over restarts; 0: it has no second clock. 0 or -ENOMEM. */
int cell_second_offset(const struct cell_work *tare, double *ret_ns);

/* The second clock's figures of a cell. 0 or -ENOMEM. */
int cell_second(struct cell_work *w, const struct cell_work *tare);

/* Packet medians, modes; needs the tare's packets. */
int cell_packets(struct cell_work *w, const struct cell_work *tare, struct arena *arena, uint64_t seed,
		 struct err *err);

/* Is this value of a run the vendor's bound, not a quantity? */
bool bound_is_setting(const char *name);

/* Packets against the vendor's worst case, where the plan states one; after cell_net. 0 or -ENOMEM. */
int cell_bound(struct cell_work *w, const struct cell_work *tare, struct arena *arena);

/* What transit cells have beside their gross figures; then what compares them. */
int cell_transit(struct cell_work *w, const struct transit_conditions *conditions, struct arena *arena);

/* Quantities of a cell from its runs' values; then all there are in any cell. 0 or -ENOMEM. */
int cell_values(struct cell_work *w, struct arena *arena, uint64_t seed);
int quantities_list(struct result *result);

/* Cells compared with each other, and quantities along axes, as the measure's view says. 0 or -ENOMEM. */
int ratios_build(struct result *result, const struct cell_work *works, const struct measure_view *view);
/* What makes cold cells slower than warm ones, where that was traced. 0 or -ENOMEM. */
int causes_build(struct result *result);

int sweeps_build(struct result *result, const struct measure_view *view);

/*
 * Of a plan with a stop: section the interval to print is the exact one, by which restarts stopped: an interpolated one
 * that is looked at again and again covers 91 to 95 % when it is narrow enough (docs/method.md). After the cells, before
 * what compares them.
 */
void stops_print_exact(struct result *result);

/* Hosts as a level above restarts; nothing where there is one. After net. 0 or -ENOMEM. */
int cell_hosts(struct cell_work *w, struct arena *arena);

/* Why cells stopped, of a plan with a stop: section; after facts and cells are there. 0 or -ENOMEM. */
int stops_copy(struct result *result, const struct stored_campaign *campaign);

/* Transit: where along intervals and carriers the regime changes, from the sweeps. 0 or -ENOMEM. */
int regimes_build(struct result *result, const struct cell_work *works);

/* Calibrate: searches and their trials, of good restarts. `stored`: as read from the store, by order. */
int searches_build(struct result *result, struct store *store, const struct stored_restart *stored, uint32_t count,
		   struct err *err);

int problems_build(struct result *result, const struct cell_work *works, uint64_t packets_dropped, struct err *err);

/* Tables of result->points and result->method. */
int method_describe(struct result *result);

#endif
