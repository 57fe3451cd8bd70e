/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_CALIBRATE_SETTINGS_H
#define TARE_PROBE_CALIBRATE_SETTINGS_H

#include "base/settings.h"
#include "probe/differential_stream.h"
#include "probe/trial.h"
#include "stats/ratesearch.h"

/* The probes: section of a calibrate plan. All are present but `rates` and `limit`; none must be given. */
extern const struct setting calibrate_settings[];

enum { CALIBRATE_RATES_MOST = 64 };

/* What the table alone cannot say; as differential_settings_check. */
void calibrate_settings_check(const struct settings *s,
			      void (*problem)(void *context, const char *setting, const char *message), void *context);

/* What a run sends: a search as long as against a device of middling capacity; the frames of its longest trial. */
int calibrate_outline(const struct settings *probes, const char *directory, struct stream_outline *ret,
		      struct err *err);

/* The search and its trials; line, CPU and interrupt stay the caller's. `rates_bps` has room for CALIBRATE_RATES_MOST. */
void calibrate_config_from(const struct settings *probes, struct ratesearch_config *ret_search, int64_t *rates_bps,
			   struct trial_config *ret_trial);

/* "10Mbps 25Mbps 50Mbps", commas too: how many, each written once; or -EINVAL and what is wrong. */
int calibrate_rates(const char *text, int64_t *ret_bps, struct err *err);

#endif
