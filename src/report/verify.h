/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_VERIFY_H
#define TARE_REPORT_VERIFY_H

#include <stdbool.h>
#include <stdio.h>

#include "report/result.h"
#include "report/terminal.h"
#include "store/store.h"

/*
 * Known truth: a campaign on a target that records what it really did, checked
 * against what was measured. A check passes when the recovered net is within its
 * own expanded uncertainty (k = 3) of the injected one *and* that uncertainty is
 * under the limit: an installation that is merely unsure does not pass.
 *
 * Truth and measurement count the same TSC, so a rate that is wrong would cancel. At least one cell is stamped by a
 * second clock as well (card: `stamps`), and its net by that must not be further than the limit from the first's.
 *
 * A cell whose packets fall into several modes is checked mode by mode, each with
 * its own blocks: the packets are sorted into modes by the target's record, not
 * by what was measured.
 */
struct verify_check {
	const char *name;   /* "149ns", "107ns/137ns, mode 2 of 2" */
	double injected_ns; /* as the target recorded it, tare taken off */
	double recovered_ns;
	double error_ns;
	double u_ns;        /* expanded, k = 3 */
	double within_20ns; /* share in %, of the run median */
	double second_ns;   /* net by a second clock, of cells that have one; else NaN */
	double apart_ns;    /* second_ns less net by the first clock, of the same probes */
	struct ledger ledger;
	bool pass;
	const char *reason; /* why not; empty when it passes */
};

struct verify {
	bool pass;
	const char *reason; /* of the whole: restarts missing, runs invalid; empty when there is none */
	double limit_ns;
	struct verify_check *checks;
	uint32_t check_count;
};

/* From the store of a campaign that has ended and its result. Texts live in `arena`. */
int verify_build(struct store *store, const struct result *result, double limit_ns, struct arena *arena,
		 struct verify *ret, struct err *err);

/* {"schema":1,"pass":bool,"limit_ns","reason","checks":[{"name","injected_ns","recovered_ns","error_ns","u_ns",
 * "within_20ns","second_ns","apart_ns","ledger":{...},"pass","reason"}]} */
int verify_write_json(const struct verify *verify, FILE *out, struct err *err);
int verify_write_text(const struct verify *verify, FILE *out, const struct terminal_style *style);

#endif
