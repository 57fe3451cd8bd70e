/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "p4rt/entries.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const char info_text[] =
	"tables { preamble { id: 1 name: \"I.r\" alias: \"r\" } match_fields { id: 1 name: \"h.d\" bitwidth: 32 "
	"match_type: LPM }"
	" match_fields { id: 2 name: \"h.e\" bitwidth: 9 match_type: EXACT } action_refs { id: 9 } action_refs { id: 8 "
	"} }"
	"tables { preamble { id: 2 name: \"I.a\" alias: \"a\" } match_fields { id: 1 name: \"h.t\" bitwidth: 48 "
	"match_type: TERNARY }"
	" match_fields { id: 2 name: \"h.g\" bitwidth: 128 match_type: RANGE }"
	" match_fields { id: 3 name: \"h.o\" bitwidth: 200 match_type: OPTIONAL } action_refs { id: 9 } }"
	"actions { preamble { id: 9 name: \"I.x\" alias: \"x\" } params { id: 1 name: \"p\" bitwidth: 9 } }"
	"actions { preamble { id: 8 name: \"I.y\" alias: \"y\" } }"
	"registers { preamble { id: 7 name: \"I.s\" alias: \"s\" } type_spec { bitstring { bit { bitwidth: 7 } } } "
	"size: 4 }";

/* An entry that was taken comes back from the wire and from its own text as it was. */
static void entry_holds(const struct p4info *info, const struct p4rt_update *u)
{
	struct p4rt_entry_storage storage;
	struct p4rt_entry back;
	struct p4rt_entries *again;
	uint8_t wire[1024];
	char text[2048] = "op=delete ";
	size_t skip = u->op == P4RT_DELETE ? strlen(text) : 0;
	size_t n = p4rt_entry_encode(&u->entry, wire, sizeof(wire));

	TARE_ASSERT(n <= sizeof(wire));
	TARE_ASSERT(p4rt_entry_decode(info, wire, n, &storage, &back, NULL) == 0);
	TARE_ASSERT(p4rt_entry_equal(&u->entry, &back));
	n = p4rt_entry_format(&u->entry, text + skip, sizeof(text) - skip) + skip;
	TARE_ASSERT(n < sizeof(text));
	TARE_ASSERT(p4rt_entries_parse(info, text, n, "again", &again, NULL) == 0);
	TARE_ASSERT(again->count == 1 && p4rt_entry_equal(&again->items[0].entry, &u->entry));
	p4rt_entries_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static struct p4info *info;
	struct p4rt_updates updates = { 0 };
	struct p4rt_entries *entries;
	struct err err = { 0 };

	if (!info && p4info_parse(info_text, sizeof(info_text) - 1, "info", &info, &err) < 0)
		abort();
	if (p4rt_entries_parse(info, (const char *)bytes, length, "fuzz", &entries, &err) < 0) {
		TARE_ASSERT(err.kind != ERR_NONE && err.message[0]);
		return 0;
	}
	for (size_t i = 0; i < entries->count; i++)
		if (entries->items[i].kind == P4RT_UPDATE_ENTRY)
			entry_holds(info, &entries->items[i]);
	TARE_ASSERT(p4rt_entries_encode(entries, &updates) == 0 && updates.count == entries->count);
	p4rt_updates_release(&updates);
	p4rt_entries_destroy(entries);
	return 0;
}
