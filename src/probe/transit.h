/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_TRANSIT_H
#define TARE_PROBE_TRANSIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/settings.h"
#include "probe/carrier.h"
#include "probe/run.h"
#include "stats/align.h"
#include "target/target.h"

/*
 * One run of the transit method: probes go from host a through a switch to host b,
 * on an absolute schedule. Each carries the instrument header, into which the
 * program writes its ingress and egress stamp (p4_in, p4_out, the switch's own
 * clock, us); the kernel stamps it where it leaves host a (tx), at the switch's
 * interfaces (sw_in, sw_out) and at host b (rx). Sending and stamping are the
 * kernel's work, so nothing but the sender wakes up for a probe.
 */
#define TRANSIT_NONE INT64_MIN /* this time does not exist */

enum transit_flags {
	TRANSIT_SET_APART = 1 << 0, /* a clock stepped while it was under way: in no figure */
	TRANSIT_TX_ASKED = 1 << 1,  /* the kernel has no stamp of its leaving: tx_ns is before the call that sent it */
	TRANSIT_NO_HOST = 1 << 2,   /* imported: only the switch's own stamps were recorded, sched and tx are none */
};

/* One row for every probe sent. ns: CLOCK_REALTIME since the run's start (run_record.started_utc_ns). */
struct transit {
	uint32_t seq;    /* order of sending in this run, from 0 */
	uint32_t packet; /* the same; what pair.packet is */
	uint8_t fate;    /* enum fate */
	uint8_t flags;
	int64_t sched_ns, tx_ns; /* intended; left host a */
	int64_t sw_in_ns, sw_out_ns, rx_ns;
	int64_t p4_in_us, p4_out_us; /* since the switch started, unwrapped within the run */
};

/* The conditions of a run beside run_record. Stored as they are. */
struct transit_conditions {
	char regime[8]; /* transit_regime */
	uint32_t frame_bytes;
	int64_t interval_ns;
	int64_t carrier_asked_bps;
	uint32_t carrier_frame_bytes;
	uint64_t carrier_sent, carrier_received;          /* during the run */
	double carrier_offered_bps, carrier_received_bps; /* measured over the run */
	uint64_t sw_in_missing, sw_out_missing;           /* matched probes without that stamp */
	double drift_ppm;                                 /* allowed in the alignment */
	uint32_t segments;                                /* of the alignment; more than 1: a clock stepped */
	double align_width_ns;              /* of the widest segment that holds more than one probe; NaN: not bound */
	double align_low_ns, align_high_ns; /* host - switch in the longest segment */
};

struct transit_config {
	struct target_line line;
	uint32_t run; /* in its restart, from 0 */
	uint16_t tag; /* in its probes' ids; 0: one of its own */
	bool bare;    /* probes that carry no stamps of the switch match all the same (INT-MD) */
	uint32_t count;
	int64_t interval_ns, deadline_ns;
	uint32_t frame_bytes;
	uint32_t in_flight; /* most probes on their way; 0: no bound */
	double drift_ppm;
	struct carrier *carrier; /* running; NULL: none */
	int64_t carrier_bps;     /* as asked for */
	uint32_t carrier_frame_bytes;
	bool unprotected;               /* leave scheduling and memory as they are (tests) */
	int32_t cpu;                    /* of the sender; -1: any */
	const atomic_bool *interrupted; /* NULL: cannot be interrupted */
	/* Called when a probe has come through, before the first one that counts; NULL: not. Its error is the run's. */
	int (*begin)(void *context, struct err *err);
	void *begin_context;
	uint32_t forget_every; /* a test's fault: the matcher forgets each nth frame; 0: none */
};

/* Nothing comes through for the deadline and so much more: the run is given up. */
enum { TRANSIT_SILENT_NS = 2000000000, TRANSIT_SILENT_PROBES = 20 };

/* A tag that probes of an earlier run do not have. */
uint16_t transit_tag(uint32_t run);

/* From a plan's probes: section; line, run, carrier and interrupt stay the caller's. */
void transit_config_from(struct transit_config *config, const struct settings *probes);

/*
 * Run. `rows` has room for config->count; ret->ledger.sent of them are written, in order of
 * sending. A run that cannot be trusted is no error: 0, and ret->invalid says why. No probe comes through before the
 * first one is sent, or after a while none any more: ERR_RESULT, -ETIMEDOUT, saying where they were last seen. -EINTR: interrupted, nothing is kept.
 */
int transit_run(const struct transit_config *config, struct transit *ret_rows, struct run_record *ret,
		struct transit_conditions *ret_conditions, struct err *err);

/* --- pure parts --- */

/* A frame as a tap saw it. */
struct transit_event {
	int64_t stamp_ns;             /* CLOCK_REALTIME; 0: none */
	uint32_t id;                  /* probe; only with ID_OK */
	uint8_t status;               /* enum id_status */
	uint8_t instrument;           /* its header was found: */
	uint64_t p4_in_us, p4_out_us; /* 48 bits as they came */
};

struct transit_events {
	struct transit_event *items;
	uint32_t count, capacity;
	uint64_t overflow; /* events for which there was no room */
};

struct transit_seen {
	const struct transit_events *tx, *sw_in, *sw_out, *rx;
	bool bare; /* the program writes no stamps into probes: they match without */
};

/*
 * Fates and stamps of rows whose seq, sched_ns and tx_ns (when it was asked to go) are
 * filled in, from what the taps saw in order. Fills the ledger but for `arrived`
 * and `set_apart`. Flags but TRANSIT_TX_ASKED are for transit_align. Stamps become
 * relative to start_ns.
 */
void transit_match(struct transit *rows, uint32_t count, int64_t start_ns, int64_t deadline_ns,
		   const struct transit_seen *seen, struct ledger *ret);

/*
 * Align the matched rows; sets TRANSIT_SET_APART where a clock stepped around a
 * probe, and counts it. 0 or -ENOMEM. *ret_alignment (points are rows; may be NULL) is the caller's.
 */
int transit_align(struct transit *rows, uint32_t count, double drift_ppm, struct ledger *ledger,
		  struct transit_conditions *conditions, struct alignment *ret_alignment);

#endif
