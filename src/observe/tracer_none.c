/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "observe/tracer.h"

/* This build has no libbpf. */

int tracer_try(struct err *err)
{
	return err_set(err, ERR_HOST, ENOTSUP,
		       "the scheduler cannot be traced: this build has no libbpf; install libbpf-dev and build again; "
		       "without it, the scheduler's counters give a coarser answer");
}

int tracer_start(const struct tracer_config *config, struct tracer **ret, struct err *err)
{
	(void)config;
	*ret = NULL;
	return tracer_try(err);
}

int tracer_stop(struct tracer *t, struct trace *ret, struct err *err)
{
	(void)t;
	(void)err;
	*ret = (struct trace){ 0 };
	return 0;
}

void trace_release(struct trace *trace)
{
	*trace = (struct trace){ 0 };
}
