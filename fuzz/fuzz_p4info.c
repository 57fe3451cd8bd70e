/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "p4rt/entries.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Whatever is understood can be said again: the wire form gives the same model, and every entry is decoded or refused. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct p4rt_entry_storage storage;
	struct p4info *info, *again;
	struct p4rt_entry entry;
	struct err err = { 0 };

	if (p4info_parse((const char *)bytes, length, "fuzz", &info, &err) < 0) {
		TARE_ASSERT(err.kind != ERR_NONE && err.message[0]);
		return 0;
	}
	TARE_ASSERT(info->wire_bytes > 0);
	/* a wire form without ids or lengths looks like text; it holds nothing then */
	if (p4info_parse((const char *)info->wire, info->wire_bytes, "wire", &again, &err) == 0) {
		TARE_ASSERT(p4info_same(info, again));
		p4info_destroy(again);
	} else {
		TARE_ASSERT(info->tables_count == 0 && info->actions_count == 0 && info->objects_count == 0);
	}
	for (size_t i = 0; i < info->tables_count; i++)
		TARE_ASSERT(p4info_table(info, info->tables[i].is.name, NULL) != NULL);
	p4rt_entry_decode(info, bytes, length, &storage, &entry, NULL);
	p4info_destroy(info);
	return 0;
}
