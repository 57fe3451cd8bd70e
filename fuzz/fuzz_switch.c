/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "exec/v1model.h"
#include "tables/change.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { CELLS_MOST = 1 << 16, FRAMES_MOST = 64, MEMORY_MOST_SLOTS = 1 << 16 };

static uint64_t clock_us(void *context)
{
	return ++*(uint64_t *)context;
}

static void transmit(void *context, uint32_t port, const uint8_t *bytes, uint32_t length_bytes)
{
	(void)context;
	(void)bytes;
	TARE_ASSERT(port < V1MODEL_PORTS && length_bytes <= PACKET_MOST);
}

/* Programs that ask for much are right, and not what is looked for here. */
static bool is_small(const struct program *p)
{
	uint64_t cells = 0;

	for (uint32_t i = 0; i < p->register_count; i++)
		cells += (uint64_t)p->registers[i].size * p->registers[i].slots;
	for (uint32_t i = 0; i < p->counter_count; i++)
		cells += p->counters[i].size;
	for (uint32_t i = 0; i < p->meter_count; i++)
		cells += p->meters[i].size;
	for (uint32_t i = 0; i < p->table_count; i++)
		cells += p->tables[i].size / 16;
	return cells <= CELLS_MOST && p->memory_slots <= MEMORY_MOST_SLOTS;
}

/* Frames: port, length, bytes. */
static void run(struct v1model *device, const uint8_t *bytes, size_t length)
{
	const struct v1model_counters *c = v1model_counters(device);

	for (unsigned n = 0; n < FRAMES_MOST && length >= 2; n++) {
		uint32_t port = bytes[0], frame = bytes[1];

		bytes += 2;
		length -= 2;
		if (frame > length)
			frame = (uint32_t)length;
		v1model_ingress(device, port, bytes, frame, n);
		while (v1model_egress(device, 16))
			;
		bytes += frame;
		length -= frame;
	}
	TARE_ASSERT(v1model_queued(device) == 0);
	TARE_ASSERT(c->transmitted <= c->received + c->cloned + c->replicated);
}

/* A program, and behind a line "%%" frames for it. Refused with a message, or it runs whatever comes. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const uint8_t *mark = memmem(bytes, length, "\n%%\n", 4);
	size_t program_bytes = mark ? (size_t)(mark - bytes) : length;
	struct program *program = NULL;
	struct quiesce *quiesce = NULL;
	struct state *state = NULL;
	struct v1model *device = NULL;
	struct err err = { 0 };
	uint64_t now = 0;

	if (program_load((const char *)bytes, program_bytes, &program, &err) < 0) {
		TARE_ASSERT(*err.message);
		return 0;
	}
	if (is_small(program)) {
		struct v1model_config config = { .program = program,
						 .priorities = 2,
						 .pool_packets = 32,
						 .now_us = clock_us,
						 .transmit = transmit,
						 .context = &now };

		quiesce = quiesce_create();
		TARE_ASSERT(quiesce);
		if (state_create(program, quiesce, false, &state, &err) == 0) {
			config.state = state;
			TARE_ASSERT(v1model_create(&config, &device, &err) == 0);
			if (mark)
				run(device, mark + 4, length - program_bytes - 4);
		} else {
			TARE_ASSERT(*err.message);
		}
	}
	v1model_destroy(device);
	state_destroy(state);
	quiesce_destroy(quiesce);
	program_destroy(program);
	return 0;
}
