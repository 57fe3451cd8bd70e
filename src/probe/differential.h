/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_DIFFERENTIAL_H
#define TARE_PROBE_DIFFERENTIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/settings.h"
#include "clock/tsc.h"
#include "packet/stream.h"
#include "probe/pair.h"
#include "probe/run.h"
#include "probe/second_match.h"
#include "target/target.h"

/*
 * One run of the differential method: the stream's probes go into a target, both
 * copies of each are stamped on arrival, and every probe gets its fate. Blocks
 * for as long as the run takes; loops run on threads of their own, on cores of
 * their own, protected as far as the host allows (see probe/protect.h).
 */

/* What tests inject into the measuring side, so that verify is seen to fail. All zero: nothing. */
struct differential_faults {
	int64_t path_bias_ns; /* added to each path stamp: a biased receiver */
	int32_t rate_ppm; /* the TSC's rate in the record is so much too high: by the caller, once the run is over */
	uint32_t forget_every; /* the matcher forgets each nth frame: the ledger cannot balance */
};

struct differential_config {
	struct target *target;       /* open; begin_run is called here */
	const struct stream *stream; /* probes and their schedule */
	const struct tsc *tsc;       /* from tsc_calibrate, once per campaign or restart */

	uint32_t run;         /* in its restart, from 0 */
	uint16_t tag;         /* of the run, told apart from frames of an earlier run; 0: made from the run number */
	uint32_t warm_train;  /* unmeasured packets before each probe */
	int64_t train_gap_ns; /* between them, and before the probe */
	int64_t deadline_ns;  /* a copy that arrives later after its send is late */
	int64_t gap_limit_ns; /* poll gap over which a pair is set apart */
	uint32_t in_flight;   /* most probes on their way */
	uint32_t cores;       /* 0: as many as are free and of use (probe/cores.h); else 1 to 4 */
	const int32_t *cpus;  /* which CPUs, `cores` of them, in the order of probe/cores.h; NULL: chosen */
	bool unprotected;     /* leave scheduling and memory as they are (tests) */

	struct io_port
		*reflect; /* where marked copies go, for a second clock; NULL: nowhere. At most three cores then */

	const atomic_bool *interrupted; /* looked at in the loop; NULL: cannot be interrupted */
	/* Keep the stamps of the ports' own clock as well: filled in, initialised for stream->count probes. NULL: no. */
	struct second_match *second;
	struct differential_faults faults;
};

/* Defaults: no train, 20 us, 100 ms, 400 ns, 256, cores by what is free. */
void differential_config_init(struct differential_config *config);

/* What a plan's probes: section says (differential_settings). Target, stream, tsc, run and interrupt stay the caller's. */
void differential_config_from(struct differential_config *config, const struct settings *probes);

/* Frames that a run sends into its target, trains counted: for struct target_setup.frame_count. */
uint32_t differential_frames(const struct stream *stream, uint32_t warm_train);

/*
 * Run. `pairs` has room for stream->count; rows are written in order of sending,
 * ret->ledger.sent of them. A run that cannot be trusted is no error: it returns 0
 * and ret->invalid says why. -EINTR (ERR_INTERRUPTED): rows sent so far are
 * there and the record is complete. Else an ERR_HOST or ERR_USAGE, and no rows.
 */
int differential_run(const struct differential_config *config, struct pair *ret_pairs, uint32_t capacity,
		     struct run_record *ret, struct err *err);

#endif
