/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_PROGRAM_PROGRAM_H
#define TARE_SWITCH_PROGRAM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * A P4 program for v1model as the switch runs it: built once from the JSON of
 * p4c's bmv2 backend (program_load), never changed afterwards, shared by all
 * threads. What it needs at run time (table entries, registers, counters) is in
 * tables/state.h; what a packet needs is in exec/exec.h.
 *
 * A packet's values lie in one flat array of 64-bit slots, its memory:
 *
 *   [ header blocks, stack counters | action parameters | temporaries | constants ]
 *
 * A header block is its valid bit (one slot), then its fields, each in as many
 * slots as its width needs, least significant first. Unsigned fields are
 * zero-extended, signed ones sign-extended. A field of variable length takes one
 * slot for its length in bits, then its bytes as they stand in the packet.
 * Elements of a stack follow each other at a constant stride. So instructions
 * name slots, and fields, constants, parameters and temporaries are all the same
 * to them.
 */

enum {
	SLOTS_A_VALUE_MOST = 64, /* values up to 4096 bits; wider fields are refused */
};

#define NOWHERE UINT32_MAX /* no slot, no header, no target */

/* --- the packet's shape --- */

struct p4_field {
	const char *name;     /* "ipv4.ttl" */
	uint32_t header;      /* index in headers */
	uint32_t bits;        /* variable length: the most there can be */
	uint32_t offset_bits; /* in its header; behind a variable field: counted as if that were empty */
	uint32_t slot;        /* variable length: of the length, the bytes follow */
	uint32_t slots;
	bool is_signed, is_variable;
};

/* A slot of a header and where its bits stand in a word: (word >> shift) & mask. */
struct p4_piece {
	uint64_t mask;
	uint32_t slot;
	uint8_t shift;
};

/* The next `count` pieces of a header lie in the eight bytes from `byte` on, behind which `drop` bits are others'. */
struct p4_group {
	uint16_t byte;
	uint8_t drop, count;
};

struct p4_header {
	const char *name;
	uint32_t type; /* JSON id of its header type; headers of one type have blocks of one shape */
	uint32_t first_field, field_count;
	uint32_t slot, slots; /* its block; the first slot is the valid bit */
	uint32_t bits;        /* of the fields of fixed length */
	uint32_t variable;    /* field index, or NOWHERE */
	bool is_metadata;
	uint32_t stack, stack_index; /* or NOWHERE */
	uint32_t group;              /* the union it belongs to, or NOWHERE */
	bool planned;                /* how it is cut into words: most headers; else field by field */
	uint32_t group_count;
	const struct p4_group *groups;
	const struct p4_piece *pieces;
};

struct p4_stack {
	const char *name;
	uint32_t first_header, count; /* headers are numbered one after the other; of unions: see unions */
	uint32_t next_slot;           /* the slot that counts how many are taken, which is `next` */
	uint32_t *unions;             /* stack of unions: indices in unions, count of them; else NULL */
};

struct p4_union {
	const char *name;
	uint32_t *headers;
	uint32_t header_count;
	uint32_t stack, stack_index; /* or NOWHERE */
};

/* --- code --- */

enum op {
	/* d, a, b: slots of one value each, 64 bits and less, unless said otherwise */
	OP_MOVE, /* d = a */
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
	OP_AND,
	OP_OR,
	OP_XOR,
	OP_NOT, /* ~a */
	OP_SHL, /* b >= 64: 0 */
	OP_SHR, /* logical */
	OP_SAR, /* arithmetic */
	OP_EQ,
	OP_NE,
	OP_LTU,
	OP_LEU,
	OP_LTS,
	OP_LES,
	OP_BOOL,     /* d = a != 0 */
	OP_LOGNOT,   /* d = a == 0 */
	OP_ZEXT,     /* d = low n bits of a */
	OP_SEXT,     /* d = low n bits of a, sign-extended */
	OP_SAT_U,    /* a is signed: clamp to n bits unsigned */
	OP_SAT_S,    /* a is signed: clamp to n bits signed */
	OP_JUMP,     /* to d */
	OP_JUMP_IF,  /* to d when a != 0 */
	OP_JUMP_IFN, /* to d when a == 0 */

	/* values of n slots: two's complement */
	OPW_MOVE,
	OPW_ADD,
	OPW_SUB,
	OPW_MUL,
	OPW_AND,
	OPW_OR,
	OPW_XOR,
	OPW_NOT,
	OPW_SHL, /* b: one slot */
	OPW_SHR,
	OPW_SAR,
	OPW_EQ, /* d: one slot */
	OPW_LTU,
	OPW_LTS,
	OPW_ZEXT,    /* in place: low b bits of the n slots at d, b is a number */
	OPW_SEXT,    /* in place, likewise */
	OPW_WIDEN_U, /* d of n slots = a of b slots (a number), zero-extended */
	OPW_WIDEN_S, /* sign-extended */
	OPW_SAT_U,   /* d = a (n slots, signed) clamped to b bits (a number) */
	OPW_SAT_S,
	OPW_BOOL, /* d: one slot */

	/* headers; h: an index in headers */
	OP_ADD_HEADER,    /* d = h: valid; fields to zero if it was not; its union's others invalid */
	OP_REMOVE_HEADER, /* d = h */
	OP_COPY_HEADER,   /* d = h, a = h */
	OP_COPY_VARIABLE, /* d, a: fields of variable length */
	OP_EQ_VARIABLE,   /* d: slot; a, b: fields of variable length */
	OP_COPY_STACK,    /* d, a: stacks */
	OP_COPY_UNION,    /* d, a: unions */
	OP_PUSH,          /* d: stack, n: by how many */
	OP_POP,
	OP_VALID_UNION, /* d = any member of union a is valid */
	OP_STACK_NEXT,  /* d = number of headers taken in stack a */
	OP_LOAD_AT,     /* d = n slots at a + m[b] * stride (the next instruction's a), count its b; outside: zero */
	OP_STORE_AT,    /* the n slots at d + m[b] * stride (next.a), count next.b, = a; outside: nothing */
	OP_HEADER_AT,   /* d: stack, a: slot of an index, n: see enum header_at; b: h or stack */

	/* parser */
	OP_EXTRACT,          /* d = h */
	OP_EXTRACT_VARIABLE, /* d = h, a: slot of the length in bits */
	OP_EXTRACT_NEXT,     /* d: stack; n: 1 + slot + 1 of the length follows in a, or 0 */
	OP_EXTRACT_UNION,    /* d: stack of unions, b: member; a: slot of the length or NOWHERE */
	OP_LOOKAHEAD,        /* d: slots, a: bit offset, b: bits */
	OP_ADVANCE,          /* by the bits in slot a */
	OP_VERIFY,           /* unless m[a]: parser error m[b], and stop */
	OP_SELECT,           /* d: index in selects */
	OP_LAST_FIELD,       /* d (n slots) = field a (offset in the block, b: stack) of the header extracted last */
	OP_ACCEPT,

	/* controls */
	OP_APPLY,  /* d: table; goes where its result says */
	OP_ACTION, /* d: action without parameters; comes back */
	OP_RETURN, /* end of an action, or of a control */
	OP_EXIT,
	OP_DROP,          /* mark_to_drop */
	OP_REGISTER_READ, /* d: slot, a: register array, b: slot of the index; n: slots, destination bits by OPW_ZEXT */
	OP_REGISTER_WRITE, /* d: register array, a: slot of the value, b: slot of the index */
	OP_COUNT,          /* d: counter array, a: slot of the index */
	OP_METER,          /* d: slot of the colour, a: meter array, b: slot of the index */
	OP_HASH,           /* d: slot, a: calculation, b: slot of base; b + 1: of max (0: no modulo) */
	OP_RANDOM,         /* d: slot, a: slot of low, b: slot of high */
	OP_CLONE,          /* a: slot of the session, b: slot of the field list; n: enum clone_kind */
	OP_RESUBMIT,       /* a: slot of the field list */
	OP_RECIRCULATE,
	OP_DIGEST,   /* a: learn list index */
	OP_TRUNCATE, /* a: slot of the length */
	OP_LOG,      /* d: index in messages */
	OP_ASSERT,   /* unless m[a]: d: index in messages; n: 0 assert, 1 assume */
	OP_COUNT_OF_OPS
};

enum header_at { HEADER_AT_ADD, HEADER_AT_REMOVE, HEADER_AT_COPY_FROM, HEADER_AT_COPY_TO };
enum clone_kind { CLONE_NONE, CLONE_INGRESS, CLONE_EGRESS };

struct insn {
	uint16_t op;
	uint16_t n;
	uint32_t d, a, b;
};

/* --- what code refers to --- */

enum match_kind { MATCH_EXACT, MATCH_LPM, MATCH_TERNARY, MATCH_RANGE, MATCH_OPTIONAL, MATCH_KINDS };

struct p4_key {
	const char *name;
	enum match_kind kind;
	uint32_t slot; /* of the field in memory */
	uint32_t bits;
	uint32_t slots;
	uint32_t word; /* where it starts in the table's packed key */
	bool has_mask;
	uint32_t mask; /* slot of a constant, when has_mask */
};

enum table_match { TABLE_EXACT, TABLE_LPM, TABLE_TERNARY, TABLE_RANGE };

struct p4_table {
	const char *name;
	const char *place; /* "file.p4:12", or "" */
	enum table_match match;
	struct p4_key *keys;
	uint32_t key_count;
	uint32_t key_words; /* of a packed key */
	uint32_t size;      /* most entries */
	uint32_t *actions;
	uint32_t action_count;
	uint32_t *next; /* by the order of `actions`: where the control goes on; all alike for hit and miss */
	uint32_t next_hit, next_miss; /* when by_hit */
	bool by_hit;
	uint32_t base_next; /* no action ran: nothing set as default */
	uint32_t profile;   /* index in profiles, or NOWHERE: entries hold actions */
	bool with_selector;
	bool with_counters, with_timeout;
	uint32_t meter; /* direct meter array, or NOWHERE */
	bool is_const;  /* entries come with the program and stay */

	uint32_t default_action; /* or NOWHERE */
	uint64_t *default_params;
	bool default_const; /* neither action nor data may change */

	struct p4_const_entry {
		uint64_t *value, *mask; /* packed; range: low and high */
		uint32_t prefix_bits;   /* lpm */
		uint32_t priority;      /* larger wins */
		uint32_t action;
		uint64_t *params;
	} * entries;
	uint32_t entry_count;
};

struct p4_param {
	const char *name;
	uint32_t bits;
	uint32_t slot, slots; /* in the packet's memory */
};

struct p4_action {
	const char *name;
	struct p4_param *params;
	uint32_t param_count;
	uint32_t param_slots; /* all of them, from program->params_slot on */
	uint32_t code;        /* where it begins */
};

struct p4_profile {
	const char *name;
	uint32_t size;
	bool with_selector;
	uint32_t calculation; /* of the selector */
};

struct p4_register {
	const char *name;
	uint32_t size, bits, slots;
	bool is_signed;
};

struct p4_counter {
	const char *name;
	uint32_t size;
	uint32_t table; /* direct: its table, or NOWHERE */
};

struct p4_meter {
	const char *name;
	uint32_t size;
	uint32_t table;  /* direct: its table, or NOWHERE */
	uint32_t result; /* direct: slot of the colour */
	uint32_t result_bits;
	bool counts_bytes; /* else packets */
};

enum hash_algorithm {
	HASH_CRC32,
	HASH_CRC16,
	HASH_CSUM16,
	HASH_XOR16,
	HASH_IDENTITY,
	HASH_CRC32_CUSTOM,
	HASH_CRC16_CUSTOM
};

struct p4_calculation {
	const char *name;
	enum hash_algorithm algorithm;
	struct p4_calculation_input {
		enum { INPUT_FIELD, INPUT_CONSTANT, INPUT_HEADER, INPUT_PAYLOAD } kind;
		uint32_t index; /* field, header; constant: its slot */
		uint32_t bits;
	} * inputs;
	uint32_t input_count;

	/* A 16-bit checksum of fields only: the sum of its terms, while the headers whose valid bits are at `needs` are. */
	bool planned, with_payload;
	struct p4_term {
		uint64_t mask;
		uint32_t slot, shift;
	} * terms;
	uint32_t term_count, narrow_count; /* the first are unsigned and of 32 bits at most: no mask, no folding */
	uint32_t *needs;
	uint32_t need_count;
};

struct p4_checksum {
	uint32_t field; /* where it stands */
	uint32_t calculation;
	uint32_t
		condition; /* code that leaves its answer in slot condition_slot, ends with OP_RETURN; NOWHERE: always */
	uint32_t condition_slot;
};

struct p4_select {
	uint32_t *keys; /* slots, byte-padded in the order of the values */
	uint32_t *key_bits;
	uint32_t key_count;
	struct p4_case {
		enum { CASE_VALUE, CASE_SET, CASE_DEFAULT } kind;
		uint64_t *value, *mask; /* packed like a table's key; mask NULL: all bits */
		uint32_t set;           /* index in value_sets */
		uint32_t target;        /* code, or NOWHERE: reject without a match is not possible here */
	} * cases;
	uint32_t case_count;
	uint32_t words; /* packed key */
	uint32_t *word; /* of each key */
	bool is_word;   /* one key of one word, and no value sets */
};

struct p4_value_set {
	const char *name;
	uint32_t bits;   /* of a member, without padding */
	uint32_t select; /* whose keys its members are packed like; NOWHERE: unused */
};

struct p4_field_list {
	uint32_t id; /* as the program names it */
	struct p4_list_item {
		uint32_t slot, slots, bits;
		bool is_constant; /* a constant in a digest */
	} * items;
	uint32_t item_count;
};

struct p4_learn_list {
	const char *name;
	uint32_t id;
	struct p4_list_item *items;
	uint32_t item_count;
};

struct p4_message {
	const char *format; /* "{}" for each parameter */
	uint32_t *slots;
	uint32_t *slot_counts;
	uint32_t count;
	const char *place;
};

/* Fields of standard metadata that the switch itself writes or reads: slots, NOWHERE where the program lacks one. */
struct p4_standard {
	uint32_t ingress_port, egress_spec, egress_port, instance_type, packet_length, parser_error, checksum_error;
	uint32_t ingress_timestamp, egress_timestamp, mcast_grp, egress_rid, priority;
	uint32_t enq_timestamp, enq_qdepth, deq_timedelta, deq_qdepth, qid;
};

/* Values of parser_error, by the program's own numbers. */
struct p4_errors {
	uint32_t none, packet_too_short, no_match, stack_out_of_bounds, header_too_short, parser_timeout,
		parser_invalid_argument;
};

struct program {
	struct arena arena;
	const char *name; /* source file, as the compiler noted it */

	struct p4_header *headers;
	uint32_t header_count;
	struct p4_field *fields;
	uint32_t field_count;
	struct p4_stack *stacks;
	uint32_t stack_count;
	struct p4_union *unions;
	uint32_t union_count;

	uint32_t packet_slots; /* header blocks and stack counters: zero when a packet arrives */
	uint32_t constant_count;
	const uint64_t *constants;
	uint32_t params_slot;
	uint32_t constants_slot; /* constants, copied into a memory once */
	uint32_t memory_slots;   /* whole memory */

	struct insn *code;
	uint32_t code_count;
	uint32_t parser, ingress, egress; /* where they begin */
	uint32_t *deparse;                /* headers in order of emission */
	uint32_t deparse_count;

	struct p4_action *actions;
	uint32_t action_count;
	struct p4_table *tables;
	uint32_t table_count;
	struct p4_profile *profiles;
	uint32_t profile_count;
	struct p4_register *registers;
	uint32_t register_count;
	struct p4_counter *counters;
	uint32_t counter_count;
	struct p4_meter *meters;
	uint32_t meter_count;
	struct p4_calculation *calculations;
	uint32_t calculation_count;
	struct p4_checksum *verify, *update;
	uint32_t verify_count, update_count;
	struct p4_select *selects;
	uint32_t select_count;
	struct p4_value_set *value_sets;
	uint32_t value_set_count;
	struct p4_field_list *field_lists;
	uint32_t field_list_count;
	struct p4_learn_list *learn_lists;
	uint32_t learn_list_count;
	struct p4_message *messages;
	uint32_t message_count;

	struct p4_standard standard;
	struct p4_errors errors;
};

/*
 * Load from the JSON text. Everything is checked here: a loaded program cannot
 * make the interpreter leave its memory. Refusals (ERR_USAGE) name the thing and,
 * where the JSON says it, its place in the P4 source. -ENOMEM: out of memory.
 */
int program_load(const char *json, size_t length, struct program **ret_program, struct err *err);
int program_load_file(const char *path, struct program **ret_program, struct err *err);
void program_destroy(struct program *program); /* NULL is fine */

/* By name; NOWHERE when there is none. */
uint32_t program_find_table(const struct program *p, const char *name);
uint32_t program_find_action(const struct program *p, const char *name);

#endif
