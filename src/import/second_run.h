/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IMPORT_SECOND_RUN_H
#define TARE_IMPORT_SECOND_RUN_H

#include "import/ids.h"
#include "probe/second_clock.h"

/* What a second clock recorded of a session, by run. */
struct second_set {
	struct second_of_run {
		uint32_t run; /* from 1 */
		struct second_record clock;
		struct second_pair *rows;
	} * runs; /* ascending */
	uint32_t run_count;
};

/*
 * From a CSV of differences (run, pkt_id, silicon_diff_ns), or from a capture of the reflected copies, whose runs are
 * told apart by a second and more without a frame. A capture in which no probe of the ids has both copies is an error.
 */
int second_from_csv(const char *path, const struct import_ids *ids, struct second_set *ret, struct err *err);
int second_from_capture(const char *path, const struct import_ids *ids, struct second_set *ret, struct err *err);
void second_set_release(struct second_set *set);

/* NULL: that run is not in it. */
const struct second_of_run *second_set_find(const struct second_set *set, uint32_t run);

#endif
