/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"
#include "target/card_private.h"

/* The four published programs and what they took, and the empty one. */
static const struct {
	const char *name;
	struct card_program program;
} programs[] = {
	{ "null", { 1, { 0 }, false } },
	{ "forward", { 1, { 149 }, false } },
	{ "fivetuple", { 2, { 107, 137 }, true } },
	{ "removeheader", { 1, { 177 }, false } },
	{ "checksum", { 1, { 364 }, false } },
};

enum { PROGRAMS = sizeof(programs) / sizeof(programs[0]), DELAY_MOST_NS = 1000000 };

static int unknown(const char *text, struct err *err)
{
	const char *names[PROGRAMS + 1] = { NULL };
	const char *near;

	for (unsigned i = 0; i < PROGRAMS; i++)
		names[i] = programs[i].name;
	near = nearest_name(text, names);
	return err_set(err, ERR_USAGE, EINVAL,
		       "program '%s' is not known to the card%s%s%s; expected null, forward, fivetuple, removeheader, "
		       "checksum, or delays such as '149ns' or '107ns/137ns'",
		       text, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

int card_program_parse(const char *text, struct card_program *ret, struct err *err)
{
	struct card_program program = { 0 };
	const char *from = text;

	for (unsigned i = 0; i < PROGRAMS; i++) {
		if (strcmp(text, programs[i].name) == 0) {
			*ret = programs[i].program;
			return 0;
		}
	}
	if (*text < '0' || *text > '9')
		return unknown(text, err);
	for (;;) {
		size_t length = strcspn(from, "/");
		char one[32];
		int64_t ns;
		int r;

		if (program.mode_count == CARD_MODES_MOST)
			return err_set(err, ERR_USAGE, EINVAL, "program '%s' has too many modes; expected up to %d",
				       text, CARD_MODES_MOST);
		if (length >= sizeof(one))
			return unknown(text, err);
		memcpy(one, from, length);
		one[length] = '\0';
		r = quantity_parse(one, QUANTITY_TIME, &ns, err);
		if (r < 0)
			return err_wrap(err, "program '%s'", text);
		if (ns > DELAY_MOST_NS)
			return err_set(err, ERR_USAGE, ERANGE, "program '%s' takes %lld ns; expected at most 1ms", text,
				       (long long)ns);
		program.delay_ns[program.mode_count++] = (uint32_t)ns;
		if (from[length] == '\0')
			break;
		from += length + 1;
	}
	*ret = program;
	return 0;
}

/* SplitMix64's finisher (Steele, Lea and Flood 2014): every input bit reaches every output bit. */
static inline uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

uint32_t card_mode(const struct card_program *program, const uint8_t *frame, uint32_t length_bytes, uint32_t nth)
{
	uint64_t addresses = 0;
	uint32_t ports = 0;

	if (program->mode_count == 1)
		return 0;
	if (!program->by_flow)
		return (uint32_t)(mix(nth + UINT64_C(0x9E3779B97F4A7C15)) % program->mode_count);
	/* IPv4 without options behind an untagged Ethernet header; everything else is one flow. */
	if (length_bytes >= 38 && frame[12] == 0x08 && frame[13] == 0 && frame[14] == 0x45) {
		memcpy(&addresses, frame + 26, sizeof(addresses));
		memcpy(&ports, frame + 34, sizeof(ports));
	}
	return (uint32_t)(mix(mix(addresses + frame[23 < length_bytes ? 23 : 0]) + ports) % program->mode_count);
}
