/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_READBACK_H
#define TARE_P4RT_READBACK_H

#include "p4rt/entries.h"

/*
 * What a switch holds, entry by entry as it is read, held against what it should:
 * the entries that a list of updates leaves behind. Each read entry costs one look
 * into a hash table.
 */
struct p4rt_readback;

struct p4rt_difference {
	size_t expected, found;
	size_t missing, extra, different; /* different: the key is there with another action or parameters */
};

/* Later updates of one key override earlier ones; defaults and what is no table entry do not count. 0, -ENOMEM. */
int p4rt_readback_create(const struct p4rt_entries *entries, struct p4rt_readback **ret_readback);
void p4rt_readback_destroy(struct p4rt_readback *readback); /* NULL is fine */

/* Does the list write to this table? Others need not be read. */
bool p4rt_readback_concerns(const struct p4rt_readback *readback, const struct p4info_table *table);
void p4rt_readback_take(struct p4rt_readback *readback, const struct p4rt_entry *entry);
void p4rt_readback_result(const struct p4rt_readback *readback, struct p4rt_difference *ret_difference);

#endif
