/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "program/build.h"

uint32_t emit(struct build *b, enum op op, uint32_t n, uint32_t d, uint32_t a, uint32_t bb)
{
	struct insn insn = { (uint16_t)op, (uint16_t)n, d, a, bb };

	if (vec_push(&b->code, insn) < 0)
		err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	return (uint32_t)b->code.count - 1;
}

int emit_failed(const struct build *b)
{
	return b->err && b->err->code == ENOMEM;
}

uint32_t temp_take(struct build *b, uint32_t slots)
{
	uint32_t at = b->temp;

	if (slots > b->temp_slots - at) {
		err_set(b->err, ERR_USAGE, E2BIG, "an expression needs more than %u words", b->temp_slots);
		return NOWHERE;
	}
	b->temp += slots;
	if (b->temp > b->temp_most)
		b->temp_most = b->temp;
	return b->temps_slot + at;
}

uint32_t constant_add(struct build *b, const uint64_t *value, uint32_t slots)
{
	size_t count = b->constants.count;

	/* the same value may serve many */
	for (size_t i = 0; i + slots <= count; i++)
		if (memcmp(&b->constants.items[i], value, slots * sizeof(*value)) == 0)
			return b->p->constants_slot + (uint32_t)i;
	if (count + slots > MEMORY_MOST) {
		err_set(b->err, ERR_USAGE, E2BIG, "the program has more than %d words of constants", MEMORY_MOST);
		return NOWHERE;
	}
	for (uint32_t i = 0; i < slots; i++)
		if (vec_push(&b->constants, value[i]) < 0) {
			err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
			return NOWHERE;
		}
	return b->p->constants_slot + (uint32_t)count;
}

uint32_t constant_u64(struct build *b, uint64_t value)
{
	return constant_add(b, &value, 1);
}

uint32_t build_find(const json_t *map, const char *name)
{
	const json_t *index = json_object_get(map, name);

	return index ? (uint32_t)json_integer_value(index) : NOWHERE;
}

int build_name(struct build *b, json_t *map, const char *name, uint32_t index, const char *kind)
{
	if (json_object_get(map, name))
		return err_set(b->err, ERR_USAGE, EINVAL, "two %ss are named '%s'", kind, name);
	if (json_object_set_new(map, name, json_integer(index)) < 0)
		return err_set(b->err, ERR_HOST, ENOMEM, "out of memory");
	return 0;
}

int packed_value(struct build *b, const char *hex, uint32_t bits, uint32_t slots, const json_t *owner, const char *what,
		 uint64_t *ret)
{
	uint32_t needs;
	bool negative;

	if (js_hex(hex, ret, slots, &needs, &negative) < 0)
		return js_refuse(owner, b->err, "%s: '%.80s' is not a number of %u bits", what, hex, bits);
	if (negative || needs > bits)
		return js_refuse(owner, b->err, "%s: '%.80s' does not fit %u bits", what, hex, bits);
	return 0;
}
