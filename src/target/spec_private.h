/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_SPEC_PRIVATE_H
#define TARE_TARGET_SPEC_PRIVATE_H

#include "target/spec.h"
#include "target/spec_text.h"

/* For the parser's own files (spec.c, spec_table.c, spec_code.c) only. */

/* Things of one kind in a program, and lines in a block other than code: keeps lookups by name cheap. */
#define SPEC_ITEMS_MAX 4096u

struct spec_parser {
	struct spec_text text;
	uint32_t at; /* the next line in text.lines */
	struct spec *spec;
	struct arena *arena;
	struct err *err;
};

/* The line to read, or NULL at the end. */
static inline const struct spec_line *spec_peek(const struct spec_parser *p)
{
	return p->at < p->text.count ? &p->text.lines[p->at] : NULL;
}

#define spec_fail_at(p, line, ...) spec_fail((p)->err, (p)->text.path, (line), __VA_ARGS__)

int spec_no_memory(struct spec_parser *p);

/* Lines from the next one up to the `}` that closes the block opened at `opened`; blocks in it are not looked into. */
int spec_block_lines(struct spec_parser *p, uint32_t opened, const char *what, uint32_t *ret_count);

/* `KEYWORD NAME {` must be exactly that; the name must be new in `seen`. */
int spec_want_tokens(struct spec_parser *p, const struct spec_line *line, uint32_t count, const char *form);

int spec_want_u32(struct spec_parser *p, const struct spec_line *line, const char *token, const char *what,
		  uint32_t *ret_value);

/* spec_code.c: instructions up to the closing `}`, which is taken too. */
int spec_parse_code(struct spec_parser *p, uint32_t opened, const char *what, struct spec_code *ret);

/* spec_table.c: one table, learner or selector; the next line is the one that opens it. */
int spec_parse_table(struct spec_parser *p, bool learner, struct spec_table *ret);
int spec_parse_selector(struct spec_parser *p, struct spec_selector *ret);

#endif
