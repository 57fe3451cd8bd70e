/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_PROGRAM_BUILD_H
#define TARE_SWITCH_PROGRAM_BUILD_H

#include <jansson.h>

#include "base/vec.h"
#include "program/json.h"
#include "program/program.h"

/* A program in the making, private to this folder. Errors are set once, by whoever meets them first. */

enum {
	TEMP_SLOTS = 2048,     /* of one expression; reused by the next */
	NESTING_MOST = 200,    /* of expressions */
	OBJECTS_MOST = 100000, /* of one kind */
	MEMORY_MOST = 1 << 20, /* slots */
};

struct build {
	struct program *p;
	struct err *err;
	const json_t *root;

	/* name -> index, for each kind of thing */
	json_t *header_types; /* name -> JSON object */
	json_t *headers, *fields, *stacks, *unions;
	json_t *action_ids, *tables, *profiles, *registers, *counters, *meters, *calculations, *value_sets;
	json_t *learn_ids;

	VEC(struct insn) code;
	VEC(uint64_t) constants;
	VEC(struct p4_select) selects;
	VEC(struct p4_message) messages;
	uint32_t temps_slot;
	uint32_t temp_slots, temp_most;
	uint32_t temp;                  /* next free temporary slot, from 0 */
	const struct p4_action *action; /* being compiled: what `local` means */
};

/* Index by name: NOWHERE when unknown. */
uint32_t build_find(const json_t *map, const char *name);
int build_name(struct build *b, json_t *map, const char *name, uint32_t index, const char *kind);

/* --- code.c --- */

uint32_t emit(struct build *b, enum op op, uint32_t n, uint32_t d, uint32_t a, uint32_t bb); /* its address */
int emit_failed(const struct build *b);                                                      /* out of memory */
uint32_t temp_take(struct build *b, uint32_t slots); /* NOWHERE: expression too large, error set */
uint32_t constant_add(struct build *b, const uint64_t *value, uint32_t slots); /* its slot */
uint32_t constant_u64(struct build *b, uint64_t value);

/* --- expression.c --- */

struct value {
	uint32_t slot, slots;
	uint32_t bits; /* it is below 2^bits, or, signed, fits bits in two's complement */
	bool is_signed;
	bool modular; /* right in its low `bits` only: the rest of its slots is rubbish */
	bool is_constant;
	bool is_temp; /* may be overwritten, and the instruction that made it may be retargeted */
};

/*
 * Compile {"type", "value"}. demand_bits > 0: the caller needs that many low bits
 * only, so arithmetic may wrap there. `owner` gives errors their place.
 */
int expression(struct build *b, const json_t *json, const json_t *owner, uint32_t demand_bits, struct value *ret);

/* The same, as exactly one slot holding 0 to 2^64 - 1 (wider values: refused) or a truth value. */
int expression_slot(struct build *b, const json_t *json, const json_t *owner, uint32_t *ret_slot);

/* Move a value into a field's slots, cut to its width. */
int assign(struct build *b, uint32_t slot, uint32_t bits, bool is_signed, const struct value *v);

/* ["ipv4", "ttl"]: the field, or the valid bit (ret_field NOWHERE). */
int field_reference(struct build *b, const json_t *json, const json_t *owner, uint32_t *ret_field, uint32_t *ret_slot);
int header_reference(struct build *b, const json_t *json, const json_t *owner, uint32_t *ret_header);

/* For expressions on a stack element by a computed index: the parts of {"op": "dereference_header_stack"}. */
int stack_element(struct build *b, const json_t *json, const json_t *owner, uint32_t *ret_stack,
		  uint32_t *ret_index_slot);
bool is_stack_element(const json_t *json);

/* The calculation of a selector, appended to the named ones. */
int selector_calculation(struct build *b, const json_t *selector, const json_t *owner, uint32_t *ret_index);

/* --- one file a part --- */

int load_shape(struct build *b);   /* header types, headers, stacks, unions, errors, standard metadata */
int load_objects(struct build *b); /* registers, counters, meters, calculations, lists, value sets; action parameters */
int load_actions(struct build *b); /* code of actions */
int load_controls(struct build *b);
int load_plans(struct build *b); /* after all else */ /* tables, conditionals, checksums, deparser */
int load_parser(struct build *b);
int load_profiles(struct build *b, const json_t *pipeline);              /* of one control */
int load_table(struct build *b, const json_t *json, struct p4_table *t); /* all but where it goes next */

/* An action primitive or a parser's: emits its code. */
int primitive(struct build *b, const json_t *json);

/* A hexadecimal string as a packed value of `slots`; error with `what` when it does not fit `bits`. */
int packed_value(struct build *b, const char *hex, uint32_t bits, uint32_t slots, const json_t *owner, const char *what,
		 uint64_t *ret);

static inline uint32_t slots_for(uint32_t bits)
{
	return bits ? (bits + 63) / 64 : 1;
}

#endif
