/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_SLURM_H
#define TARE_CAMPAIGN_SLURM_H

#include <stdatomic.h>
#include <stdint.h>

#include "plan/plan.h"
#include "store/merge.h"

/*
 * A campaign on the nodes of a Slurm cluster: an array of jobs, one a block, each on a node of its own. A block and not
 * a restart, as a net takes off the tares of its block and cells are compared within blocks: those must be of one host.
 * Each job is `tare run --blocks B..B` into DIR/part-B; DIR must be where every node sees it. When the array has ended
 * and every block is whole the parts are merged into DIR.
 */
struct slurm_run {
	const struct plan *plan;
	const char *tare;             /* the program to run on the nodes: an absolute path */
	const char *dir;              /* of the campaign; made */
	const char *options;          /* further words for sbatch; NULL: none */
	const char *const *arguments; /* further words for tare run; ends with NULL */
	const atomic_bool *interrupted;
	void (*say)(const char *text); /* what happens, for people; NULL: nothing */
};

/*
 * Blocks whose part is whole already are not submitted again, so the same call goes on after a failure. 0: merged, *ret
 * filled. ERR_HOST: no sbatch here, or it refuses. ERR_RESULT, -ENODATA: a block is not whole; its log is named.
 * ERR_INTERRUPTED: the array was cancelled; what is done stays. ERR_USAGE: a plan with stop:, whose restarts must come one
 * after another; or DIR holds a merged store already.
 */
int slurm_campaign(const struct slurm_run *run, struct store_merged *ret, struct err *err);

/* "0,2-4" from the blocks that are wanted. Returns buf; the bits of `wanted` by block. */
const char *slurm_array_text(const bool *wanted, uint32_t count, char *buf, size_t size_bytes);

#endif
