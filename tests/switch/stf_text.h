/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SWITCH_STF_TEXT_H
#define TESTS_SWITCH_STF_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reading one line of an STF file (the packet test format of the P4 compiler's
 * tests), from left to right. What cannot be read ends the program with status 2
 * and a message that names file, line and what was expected.
 */
enum {
	STF_WORDS = 64,    /* of a number: 4096 bits */
	STF_NAME = 256,    /* bytes of a name */
	STF_BYTES = 16384, /* of a packet in text */
};

struct line {
	const char *file;
	unsigned number;
	const char *at;
};

/* A number as written: "0x0a**" has a mask, "10/8" a prefix, "1&&&3" a mask, "1..5" a second value. */
struct number {
	uint64_t value[STF_WORDS], mask[STF_WORDS];
	uint32_t bits; /* that its digits stand for: 4 a hexadecimal digit; 0: written in decimal */
	bool has_mask, has_range;
	int32_t prefix; /* -1: none */
};

_Noreturn void line_bad(const struct line *line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void line_skip(struct line *line);            /* spaces */
bool line_ends(struct line *line);            /* nothing but spaces and a comment are left */
bool line_take(struct line *line, char c);    /* the next character, if it is this one */
void line_expect(struct line *line, char c);  /* it must be */
bool line_is_number(struct line *line);       /* a number without a colon behind it follows */
void line_name(struct line *line, char *ret); /* of STF_NAME bytes: letters, digits, _ $ . [ ], or "quoted" */
uint32_t line_uint(struct line *line);        /* that fits 32 bits */
double line_real(struct line *line);          /* 0.000005 */
void line_number(struct line *line, struct number *ret);
size_t line_digits(struct line *line, char *ret,
		   const char *others); /* hexadecimal digits and `others`, spaces left out */

#endif
