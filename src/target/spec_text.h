/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_SPEC_TEXT_H
#define TARE_TARGET_SPEC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * The lines and tokens that `.spec` and `.entries` files are made of. Blanks
 * separate tokens; `;`, `#` and `//` at the start of a token begin a comment to
 * the end of the line. Only lines with tokens are kept.
 */
struct spec_line {
	const char **tokens;
	uint32_t count;  /* at least 1 */
	uint32_t number; /* in the file, from 1 */
};

struct spec_text {
	const char *path;
	struct spec_line *lines;
	uint32_t count;
	const char
		*origin; /* the first comment before any token that names p4c, its mark and blanks left off; or NULL */
};

/*
 * Split. Bytes that are no printable ASCII, tab, or line end are refused with
 * their line; comments may hold any but NUL. -EINVAL, -ENOMEM.
 */
int spec_text_split(const char *text, size_t length, const char *path, struct arena *arena, struct spec_text *ret,
		    struct err *err);

/* Tokens from `first` on, one blank apart; NULL: out of memory. */
const char *spec_line_join(const struct spec_line *line, uint32_t first, uint32_t end, struct arena *arena);

/* A whole token as number: decimal, or hexadecimal behind 0x. false: not one, or over 64 bits. */
bool spec_number(const char *token, uint64_t *ret_value);

/* "PATH:LINE: message"; returns -EINVAL. */
int spec_fail(struct err *err, const char *path, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
