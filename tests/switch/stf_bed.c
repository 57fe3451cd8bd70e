/* SPDX-License-Identifier: Apache-2.0 */
#include "stf_bed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_US = 10, EGRESS_BURST = 64 };

static uint64_t bed_now_us(void *context)
{
	return ((struct bed *)context)->now_us;
}

static void *must(void *memory)
{
	if (!memory) {
		fprintf(stderr, "out of memory\n");
		exit(3);
	}
	return memory;
}

static void bed_transmit(void *context, uint32_t port, const uint8_t *bytes, uint32_t length_bytes)
{
	struct bed *bed = context;
	struct sent sent = { must(malloc(length_bytes + 1)), length_bytes };

	memcpy(sent.bytes, bytes, length_bytes);
	if (port < V1MODEL_PORTS && vec_push(&bed->ports[port].sent, sent) < 0)
		must(NULL);
}

static void bed_digest(void *context, uint32_t list, const uint64_t *memory)
{
	struct bed *bed = context;
	const struct p4_learn_list *l = &bed->program->learn_lists[list];
	char text[1024];
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", l->name);

	for (uint32_t i = 0; i < l->item_count && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " 0x%" PRIx64, memory[l->items[i].slot]);
	if (vec_push(&bed->digests, must(strdup(text))) < 0)
		must(NULL);
}

static void bed_log(void *context, const struct p4_message *message, const uint64_t *memory)
{
	struct bed *bed = context;
	char text[1024];

	message_format(message, memory, text, sizeof(text));
	if (vec_push(&bed->logs, must(strdup(text))) < 0)
		must(NULL);
}

void bed_open(struct bed *bed, const char *program_path)
{
	struct err err = { 0 };
	struct v1model_config config = { .seed = 1,
					 .priorities = 8,
					 .pool_packets = 1024,
					 .now_us = bed_now_us,
					 .transmit = bed_transmit,
					 .digest = bed_digest,
					 .log = bed_log,
					 .context = bed };
	int rc;

	memset(bed, 0, sizeof(*bed));
	bed->now_us = 1000;
	bed->quiesce = must(quiesce_create());
	rc = program_load_file(program_path, &bed->program, &err);
	if (rc == 0)
		rc = state_create(bed->program, bed->quiesce, false, &bed->state, &err);
	config.program = bed->program;
	config.state = bed->state;
	if (rc == 0)
		rc = v1model_create(&config, &bed->device, &err);
	if (rc < 0) {
		fprintf(stderr, "%s\n", err.message);
		exit(2);
	}
}

static void free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

void bed_close(struct bed *bed)
{
	for (uint32_t i = 0; i < V1MODEL_PORTS; i++) {
		struct bed_port *port = &bed->ports[i];

		for (size_t k = 0; k < port->sent.count; k++)
			free(port->sent.items[k].bytes);
		free(port->sent.items);
		free_texts(port->expected.items, port->expected.count);
	}
	free_texts(bed->digests.items, bed->digests.count);
	free_texts(bed->digests_expected.items, bed->digests_expected.count);
	free_texts(bed->logs.items, bed->logs.count);
	free_texts(bed->logs_expected.items, bed->logs_expected.count);
	v1model_destroy(bed->device);
	state_destroy(bed->state);
	quiesce_destroy(bed->quiesce);
	program_destroy(bed->program);
}

void bed_packet(struct bed *bed, uint32_t port, const uint8_t *bytes, uint32_t length_bytes)
{
	bed->now_us += STEP_US;
	v1model_ingress(bed->device, port, bytes, length_bytes, bed->now_us);
	bed->now_us++;
	while (v1model_egress(bed->device, EGRESS_BURST))
		;
}

static char hex_of(const struct sent *sent, size_t digit)
{
	unsigned byte = sent->bytes[digit / 2];

	return "0123456789ABCDEF"[digit % 2 ? byte & 15 : byte >> 4];
}

static bool same(const char *expected, const struct sent *sent)
{
	size_t n = strcspn(expected, "$"), have = (size_t)sent->length_bytes * 2;

	if (n > have || (expected[n] == '$' && have > n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (expected[i] != '*' && expected[i] != hex_of(sent, i))
			return false;
	return true;
}

static void show(uint32_t port, size_t index, const char *expected, const struct sent *sent)
{
	fprintf(stderr, "port %u, packet %zu\n  expected %s\n  received ", port, index + 1,
		expected ? expected : "nothing");
	for (size_t i = 0; sent && i < (size_t)sent->length_bytes * 2; i++)
		fputc(hex_of(sent, i), stderr);
	fprintf(stderr, "%s\n", sent ? "" : "nothing");
}

static unsigned check_port(const struct bed_port *port, uint32_t number)
{
	size_t most = port->sent.count > port->expected.count ? port->sent.count : port->expected.count;
	unsigned wrong = 0;

	if (!port->named || port->anything)
		return 0;
	for (size_t i = 0; i < most; i++) {
		const struct sent *sent = i < port->sent.count ? &port->sent.items[i] : NULL;
		const char *expected = i < port->expected.count ? port->expected.items[i] : NULL;

		if (sent && expected && same(expected, sent))
			continue;
		show(number, i, expected, sent);
		wrong++;
	}
	return wrong;
}

static unsigned check_texts(const char *what, char *const *have, size_t have_count, char *const *want,
			    size_t want_count)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < want_count; i++) {
		const char *got = i < have_count ? have[i] : "nothing";

		if (strcmp(got, want[i]) == 0)
			continue;
		fprintf(stderr, "%s %zu\n  expected %s\n  received %s\n", what, i + 1, want[i], got);
		wrong++;
	}
	return wrong;
}

unsigned bed_check(const struct bed *bed)
{
	unsigned wrong = 0;

	for (uint32_t i = 0; i < V1MODEL_PORTS; i++)
		wrong += check_port(&bed->ports[i], i);
	wrong += check_texts("digest", bed->digests.items, bed->digests.count, bed->digests_expected.items,
			     bed->digests_expected.count);
	wrong += check_texts("log", bed->logs.items, bed->logs.count, bed->logs_expected.items,
			     bed->logs_expected.count);
	return wrong;
}

void bed_print(const struct bed *bed)
{
	for (uint32_t i = 0; i < V1MODEL_PORTS; i++)
		for (size_t k = 0; k < bed->ports[i].sent.count; k++) {
			const struct sent *sent = &bed->ports[i].sent.items[k];

			printf("%u ", i);
			for (size_t d = 0; d < (size_t)sent->length_bytes * 2; d++)
				putchar(hex_of(sent, d));
			putchar('\n');
		}
}
