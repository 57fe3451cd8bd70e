/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SWITCH_STF_TABLE_H
#define TESTS_SWITCH_STF_TABLE_H

#include "stf_bed.h"
#include "stf_text.h"

/* The lines of an STF file that change tables and action profiles; the grammar is in stf.c. */
void stf_add(struct bed *bed, struct line *line);
void stf_setdefault(struct bed *bed, struct line *line);
void stf_member(struct bed *bed, struct line *line);
void stf_group(struct bed *bed, struct line *line);
void stf_value_set(struct bed *bed, struct line *line);

/* Index of the one of `count` names that is `name`, or ends with it; not found: the program ends. */
typedef const char *name_of(const struct program *p, uint32_t index);
uint32_t find_by_end(const struct bed *bed, const struct line *line, const char *what, const char *name, name_of *get,
		     uint32_t count);

#endif
