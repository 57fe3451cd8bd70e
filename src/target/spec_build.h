/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_SPEC_BUILD_H
#define TARE_TARGET_SPEC_BUILD_H

#include "base/err.h"
#include "target/spec.h"
#include "target/spec_entries.h"

struct rte_swx_pipeline;
struct rte_swx_ctl_pipeline;
struct rte_swx_port_in_ops;
struct rte_swx_port_out_ops;

/*
 * From the model of a program to a DPDK pipeline that runs it, through the
 * registration API of 22.11 (which has no loader for `.spec` text). Needs EAL.
 *
 * Two things are changed. Before the frame is put together for a `tx m.FIELD`, a
 * `jmpgt` sends it to the port for strays if the field names a port that is not
 * there: DPDK itself would index past its ports. It costs one instruction, in null
 * and program alike. And `drop` becomes a `tx` to a port of the caller's: DPDK's
 * drop frees buffers of its own kind only.
 */
#define SPEC_PORTS_OUT  16 /* a program may send to 0 to 15 */
#define SPEC_PORT_STRAY 16 /* what it sends elsewhere comes out here */
#define SPEC_PORT_DROP  17 /* and here what it drops */
#define SPEC_PORTS_ALL  18

struct spec_ports {
	struct rte_swx_port_in_ops *in_ops;
	void *in_args; /* of port 0, the only one that frames come from */
	struct rte_swx_port_out_ops *out_ops;
	void *out_args[SPEC_PORTS_ALL];
};

struct spec_built {
	struct rte_swx_pipeline *pipeline;
	struct rte_swx_ctl_pipeline *ctl;
};

/*
 * `name` must be new in this process. What DPDK 22.11 cannot express is refused
 * by construct and line; where DPDK itself refuses, its code is passed on with
 * the line it refused.
 */
int spec_build(const struct spec *spec, const char *name, const struct spec_ports *ports, struct spec_built *ret_built,
	       struct err *err);

/* Enter the entries and commit them, all or none. */
int spec_built_enter(const struct spec_built *built, const struct spec_entries *entries, struct err *err);

void spec_built_release(struct spec_built *built); /* all zero is fine */

/*
 * Most bytes that a frame can grow in front by what the program emits, and most
 * bytes that it reads from the front of a frame however short that is (DPDK
 * extracts without looking at the length). Buffers must have this room.
 */
uint32_t spec_emit_bytes(const struct spec *spec);
uint32_t spec_extract_bytes(const struct spec *spec);

#endif
