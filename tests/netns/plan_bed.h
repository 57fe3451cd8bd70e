/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_NETNS_PLAN_BED_H
#define TESTS_NETNS_PLAN_BED_H

#include <stdint.h>

#include "campaign/campaign.h"

/*
 * Campaigns from a plan's text to their store, each in a directory of its own under one base, on an own host. What cannot
 * work fails the test.
 */

/* The base directory: fixtures of the group. */
int plan_bed_make(void **state);
int plan_bed_remove(void **state);

const char *plan_bed_base(void);

/* Run the plan; the store's directory, valid until the next. */
const char *plan_bed_run(const char *text, struct campaign_counts *ret_counts);

/* The same, and its store opened again. */
struct plan_bed {
	struct campaign_counts counts;
	struct store *store;
	struct arena arena; /* of what was read */
	struct stored_restart *restarts;
	uint32_t restart_count;
};

void plan_bed_measure(const char *text, struct plan_bed *ret);
void plan_bed_release(struct plan_bed *bed);

/* What a failed restart says of itself fails the test. */
void plan_bed_none_failed(const struct plan_bed *bed);

/* A switch that is this script around tare-switch, but for its --version; its path, valid until the next. */
const char *plan_bed_script(const char *name, const char *body);

/* Every namespace, cable and process of this test has gone. */
void plan_bed_nothing_left(void);

#endif
