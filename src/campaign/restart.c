/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/restart.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

enum { WAIT_STEP_NS = 20000000 };

int restart_wait(const atomic_bool *interrupted, int64_t ns, struct err *err)
{
	for (; ns > 0; ns -= WAIT_STEP_NS) {
		struct timespec step = { .tv_nsec = ns < WAIT_STEP_NS ? ns : WAIT_STEP_NS };

		if (atomic_load_explicit(interrupted, memory_order_relaxed))
			return err_set(err, ERR_INTERRUPTED, EINTR, "interrupted");
		nanosleep(&step, NULL);
	}
	return 0;
}

int restart_outcome(struct target *target, int r, struct err *err)
{
	struct err dead = { 0 };
	int alive = 0;

	if (r == -EINTR)
		return r;
	if (target->ops->check_alive)
		alive = target->ops->check_alive(target, &dead);
	if (alive == 0 && r == -ETIMEDOUT && target->ops->check_answers)
		alive = target->ops->check_answers(target, &dead);
	if (alive == 0)
		return r;
	if (err)
		*err = dead;
	return alive;
}

const char *restart_facts(const struct target *target)
{
	return target && target->ops->describe ? target->ops->describe(target) : NULL;
}

void restart_end(struct measuring *m)
{
	free(m);
}
