/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SWITCH_STF_BED_H
#define TESTS_SWITCH_STF_BED_H

#include "base/vec.h"
#include "exec/v1model.h"
#include "tables/change.h"

/*
 * A switch in memory: frames are handed in, what it sends is kept by port, and
 * compared with what is expected there. Its clock stands still but for bed_wait
 * and 10 µs a packet.
 */
struct sent {
	uint8_t *bytes;
	uint32_t length_bytes;
};

struct bed_port {
	bool named;    /* a line of the test speaks of it */
	bool anything; /* what comes out here does not matter */
	VEC(struct sent) sent;
	VEC(char *) expected; /* hexadecimal digits, '*' any; a last '$': nothing more follows */
};

struct bed {
	struct program *program;
	struct quiesce *quiesce;
	struct state *state;
	struct v1model *device;
	uint64_t now_us;
	struct bed_port ports[V1MODEL_PORTS];
	VEC(char *) digests, digests_expected;
	VEC(char *) logs, logs_expected;
};

void bed_open(struct bed *bed, const char *program_path); /* ends the program when it cannot be loaded */
void bed_close(struct bed *bed);
void bed_packet(struct bed *bed, uint32_t port, const uint8_t *bytes, uint32_t length_bytes);

void bed_print(const struct bed *bed); /* what came out, a line "PORT HEX" each, port by port */

/* Says on stderr what differs; how many things did. */
unsigned bed_check(const struct bed *bed);

#endif
