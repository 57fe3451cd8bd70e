/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_SPEC_BUILD_PRIVATE_H
#define TARE_TARGET_SPEC_BUILD_PRIVATE_H

#include "base/arena.h"
#include "target/spec_build.h"
#include "target/spec_text.h"

/* Shared by spec_build.c (what a program consists of) and spec_instructions.c (what it does). */
struct builder {
	const struct spec *spec;
	const char *name;
	const struct spec_ports *ports;
	struct rte_swx_pipeline *pipeline;
	struct arena arena;
	struct err *err;
};

#define builder_fail(b, line, ...) spec_fail((b)->err, (b)->spec->path, (line), __VA_ARGS__)

int builder_no_memory(struct builder *b);

/* What DPDK said of a construct. */
int builder_refused(struct builder *b, uint32_t line, const char *what, const char *name, int rc);

/* Give a pipeline its ports, and what instructions name: structs, headers, metadata, arrays. */
int builder_set_ports(struct builder *b, struct rte_swx_pipeline *p);
int builder_set_data(struct builder *b, struct rte_swx_pipeline *p);

/* spec_instructions.c. Before DPDK is asked: opcodes, lengths, no loops. */
int builder_check_code(struct builder *b, const struct spec_code *code, bool in_action);
int builder_set_action(struct builder *b, const struct spec_action *a);
int builder_set_apply(struct builder *b);

#endif
