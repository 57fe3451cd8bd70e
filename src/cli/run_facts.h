/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_RUN_FACTS_H
#define TARE_CLI_RUN_FACTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/vec.h"
#include "store/store.h"

/* Provenance that a run stores: this host, this build and its libraries. */
struct run_facts {
	VEC(struct stored_fact) list;
	struct arena arena;
	bool failed; /* out of memory */
};

int run_facts_collect(struct run_facts *facts, struct err *err);
void run_facts_release(struct run_facts *facts); /* after a failed collect too */

#endif
