/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "target/spec.h"

/* What a program can put into a frame that was not in it: for a worst case, so the most, whatever way a frame takes. */

enum { NAME_BYTES = 64 };

/* How often `opcode h.NAME` is in the code. */
static uint32_t times(const struct spec_code *code, const char *opcode, const char *header)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < code->count; i++) {
		char name[NAME_BYTES] = "";

		if (strcmp(code->items[i].opcode, opcode) == 0 && sscanf(code->items[i].text, "%*s h.%63s", name) == 1)
			n += strcmp(name, header) == 0;
	}
	return n;
}

static bool validated(const struct spec *spec, const char *header)
{
	if (times(&spec->apply, "validate", header))
		return true;
	for (uint32_t i = 0; i < spec->action_count; i++)
		if (times(&spec->actions[i].code, "validate", header))
			return true;
	return false;
}

/* The runs of emits that end in one tx are ways apart; the fullest has all of a header's emits that one way can have. */
static uint32_t most_emits(const struct spec_code *code, const char *header)
{
	uint32_t n = 0, most = 0;

	for (uint32_t i = 0; i < code->count; i++) {
		char name[NAME_BYTES] = "";

		if (strcmp(code->items[i].opcode, "tx") == 0)
			n = 0;
		else if (strcmp(code->items[i].opcode, "emit") == 0 &&
			 sscanf(code->items[i].text, "%*s h.%63s", name) == 1 && strcmp(name, header) == 0)
			n++;
		most = n > most ? n : most;
	}
	return most;
}

uint32_t spec_inserted_bytes(const struct spec *spec)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < spec->header_count; i++) {
		const struct spec_header *h = &spec->headers[i];
		uint32_t emits = most_emits(&spec->apply, h->name);
		bool extracted = times(&spec->apply, "extract", h->name) > 0;

		/* a header that was neither read nor made valid is not emitted */
		if (!extracted && !validated(spec, h->name))
			emits = 0;
		if (extracted && emits > 0)
			emits--;
		bytes += emits * (h->type->bits / 8);
	}
	return bytes;
}
