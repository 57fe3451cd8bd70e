/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_TRANSIT_SETTINGS_H
#define TARE_PROBE_TRANSIT_SETTINGS_H

#include "base/settings.h"
#include "probe/differential_stream.h"

/* The probes: section of a transit plan. All are present but none must be given. */
extern const struct setting transit_settings[];

/* Least frame that holds a probe: Ethernet, IPv4, instrument header with its sequence, our id. */
enum { TRANSIT_FRAME_LEAST = 64, TRANSIT_FRAME_MOST = 1514 };

/* What the table alone cannot say; as differential_settings_check. */
void transit_settings_check(const struct settings *s,
			    void (*problem)(void *context, const char *setting, const char *message), void *context);

/* What a run sends. */
int transit_outline(const struct settings *probes, const char *directory, struct stream_outline *ret, struct err *err);

/*
 * The regime of a cell: "warm" with a carrier; "cold" without one and probes at
 * least TRANSIT_COLD_NS apart; "dense" without one and probes closer, which keep
 * the switch awake themselves.
 */
#define TRANSIT_COLD_NS INT64_C(10000000)
const char *transit_regime(int64_t carrier_bps, int64_t interval_ns);

#endif
