/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "target/spec.h"
#include "target/spec_entries.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check_code(const struct spec_code *code)
{
	TARE_ASSERT(code->count > 0);
	for (uint32_t i = 0; i < code->count; i++) {
		const struct spec_instruction *item = &code->items[i];
		bool found = item->target == NULL;

		TARE_ASSERT(strncmp(item->text, item->opcode, strlen(item->opcode)) == 0);
		for (uint32_t k = 0; !found && k < code->count; k++)
			found = code->items[k].label && strcmp(code->items[k].label, item->target) == 0;
		TARE_ASSERT(found);
	}
}

/* What a builder relies on without asking again. */
static void check_program(const struct spec *s)
{
	TARE_ASSERT(s->metadata && s->apply_line);
	check_code(&s->apply);
	for (uint32_t i = 0; i < s->struct_count; i++)
		TARE_ASSERT(spec_find_struct(s, s->structs[i].name) == &s->structs[i]);
	for (uint32_t i = 0; i < s->action_count; i++)
		check_code(&s->actions[i].code);
	for (uint32_t i = 0; i < s->table_count; i++) {
		const struct spec_table *t = &s->tables[i];

		TARE_ASSERT(spec_find_table(s, t->name) == t && t->default_action);
		for (uint32_t k = 0; k < t->key_count; k++)
			TARE_ASSERT(spec_operand_bits(s, t->keys[k].field) == t->keys[k].bits && t->keys[k].bits);
	}
}

static void read_entries(const uint8_t *bytes, size_t length, const struct spec *spec, struct arena *arena)
{
	struct spec_entries *entries;
	struct err err;

	if (spec_entries_parse((const char *)bytes, length, "fuzz.entries", spec, arena, &entries, &err)) {
		TARE_ASSERT(*err.message);
		return;
	}
	for (uint32_t i = 0; i < entries->count; i++) {
		const struct spec_entry *e = &entries->items[i];

		TARE_ASSERT(e->table && e->line);
		TARE_ASSERT(strncmp(e->text, e->is_default ? "action " : "match ", e->is_default ? 7 : 6) == 0);
	}
}

/* A program, and behind a line "%%" its entries. Refused with a message, or sound. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const uint8_t *mark = memmem(bytes, length, "\n%%\n", 4);
	size_t program_bytes = mark ? (size_t)(mark - bytes) : length;
	struct arena arena;
	struct spec *spec;
	struct err err;

	arena_init(&arena, 16u << 20);
	if (spec_parse((const char *)bytes, program_bytes, "fuzz.spec", &arena, &spec, &err) == 0) {
		check_program(spec);
		if (mark)
			read_entries(mark + 4, length - program_bytes - 4, spec, &arena);
	} else {
		TARE_ASSERT(strncmp(err.message, "fuzz.spec:", 10) == 0);
	}
	arena_release(&arena);
	return 0;
}
