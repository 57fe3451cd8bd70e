/* SPDX-License-Identifier: Apache-2.0 */
#include "target/pipeline.h"

#include "io/dpdk_eal.h"
#include "target/pipeline_private.h"

/* The kind in a build without DPDK: plans are checked as ever, nothing runs. */
static int none_probe(struct err *err)
{
	return dpdk_eal_start(err);
}

static int none_open(const struct target_setup *setup, struct target **ret_target, struct err *err)
{
	(void)setup;
	(void)ret_target;
	return none_probe(err);
}

static void none_ports(struct target *target, struct target_ports *ret_ports)
{
	(void)target;
	(void)ret_ports;
}

static void none_close(struct target *target)
{
	(void)target;
}

const struct target_ops target_pipeline = {
	.kind = "pipeline",
	.summary = PIPELINE_SUMMARY,
	.settings = pipeline_settings,
	.probe = none_probe,
	.check = pipeline_check,
	.open = none_open,
	.ports = none_ports,
	.close = none_close,
};
