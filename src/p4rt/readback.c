/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/readback.h"

#include <errno.h>
#include <stdlib.h>

/* One key. `seen` keeps an entry that a server sends twice from hiding one that it does not send. */
struct place {
	const struct p4rt_update *update; /* NULL: free. The last update of its key */
	bool seen;
};

struct p4rt_readback {
	const struct p4rt_entries *entries;
	struct place *places;
	size_t mask;
	struct p4rt_difference difference; /* but for missing */
};

static struct place *place_of(const struct p4rt_readback *r, const struct p4rt_entry *entry)
{
	size_t i = (size_t)p4rt_entry_key_hash(entry) & r->mask;

	while (r->places[i].update && !p4rt_entry_same_key(&r->places[i].update->entry, entry))
		i = (i + 1) & r->mask;
	return &r->places[i];
}

static bool counts(const struct p4rt_update *u)
{
	return u->kind == P4RT_UPDATE_ENTRY && !u->entry.is_default;
}

int p4rt_readback_create(const struct p4rt_entries *entries, struct p4rt_readback **ret_readback)
{
	struct p4rt_readback *r = calloc(1, sizeof(*r));
	size_t size = 16;

	while (size < 2 * entries->count)
		size *= 2;
	if (r)
		r->places = calloc(size, sizeof(*r->places));
	if (!r || !r->places) {
		free(r);
		return -ENOMEM;
	}
	r->entries = entries;
	r->mask = size - 1;
	for (size_t i = 0; i < entries->count; i++)
		if (counts(&entries->items[i]))
			place_of(r, &entries->items[i].entry)->update = &entries->items[i];
	for (size_t i = 0; i < size; i++)
		if (r->places[i].update && r->places[i].update->op != P4RT_DELETE)
			r->difference.expected++;
	*ret_readback = r;
	return 0;
}

void p4rt_readback_destroy(struct p4rt_readback *readback)
{
	if (!readback)
		return;
	free(readback->places);
	free(readback);
}

bool p4rt_readback_concerns(const struct p4rt_readback *readback, const struct p4info_table *table)
{
	for (size_t i = 0; i < readback->entries->count; i++)
		if (counts(&readback->entries->items[i]) && readback->entries->items[i].entry.table == table)
			return true;
	return false;
}

void p4rt_readback_take(struct p4rt_readback *readback, const struct p4rt_entry *entry)
{
	struct place *place;

	if (entry->is_default)
		return;
	place = place_of(readback, entry);
	readback->difference.found++;
	if (!place->update || place->update->op == P4RT_DELETE || place->seen)
		readback->difference.extra++;
	else if (!p4rt_entry_equal(&place->update->entry, entry))
		readback->difference.different++;
	place->seen = true;
}

void p4rt_readback_result(const struct p4rt_readback *readback, struct p4rt_difference *ret_difference)
{
	*ret_difference = readback->difference;
	for (size_t i = 0; i <= readback->mask; i++) {
		const struct place *place = &readback->places[i];

		if (place->update && place->update->op != P4RT_DELETE && !place->seen)
			ret_difference->missing++;
	}
}
