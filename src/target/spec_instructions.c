/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions of a program, given to DPDK as text: what they are checked for, what is changed in them,
 * and which line it was when DPDK refuses them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_swx_pipeline.h>

#include "target/spec_build_private.h"

/* Opcodes of 22.11's interpreter; what p4c writes for later versions is refused by name. */
static const char *const opcodes[] = {
	"rx",     "tx",          "drop",       "mirror", "recirculate", "recircid",    "extract", "lookahead",
	"emit",   "validate",    "invalidate", "mov",    "add",         "sub",         "ckadd",   "cksub",
	"and",    "or",          "xor",        "shl",    "shr",         "regprefetch", "regrd",   "regwr",
	"regadd", "metprefetch", "meter",      "table",  "learn",       "rearm",       "forget",  "entryid",
	"hash",   "jmp",         "jmpv",       "jmpnv",  "jmph",        "jmpnh",       "jmpa",    "jmpna",
	"jmpeq",  "jmpneq",      "jmplt",      "jmpgt",  "return",      NULL,
};

static int check_instruction(struct builder *b, const struct spec_instruction *item, bool in_action)
{
	const char *op = item->opcode;
	size_t length = strlen(item->text) + (item->label ? strlen(item->label) + 3 : 0);

	if (strcmp(op, "movh") == 0 || strcmp(op, "rss") == 0)
		return builder_fail(b, item->line,
				    "%s: newer than DPDK 22.11, which runs the program; \"%s\" cannot be expressed", op,
				    item->text);
	if (strcmp(op, "extern") == 0)
		return builder_fail(b, item->line,
				    "extern: no extern objects or functions here; \"%s\" cannot be expressed",
				    item->text);
	if (in_action && (strcmp(op, "tx") == 0 || strcmp(op, "rx") == 0 || strcmp(op, "emit") == 0 ||
			  strcmp(op, "extract") == 0 || strcmp(op, "lookahead") == 0))
		return builder_fail(b, item->line, "%s in an action: expected in apply only", op);
	for (const char *const *known = opcodes; *known; known++) {
		if (strcmp(*known, op) != 0)
			continue;
		if (length >= RTE_SWX_INSTRUCTION_SIZE)
			return builder_fail(b, item->line, "instruction of %zu characters, expected %d at most", length,
					    RTE_SWX_INSTRUCTION_SIZE - 1);
		return 0;
	}
	return builder_fail(b, item->line, "%s: no instruction of DPDK 22.11", op);
}

int builder_check_code(struct builder *b, const struct spec_code *code, bool in_action)
{
	for (uint32_t i = 0; i < code->count; i++) {
		int rc = check_instruction(b, &code->items[i], in_action);

		if (rc)
			return rc;
		/* p4c unrolls loops; without them every program ends, and its reach into the frame has a bound. */
		for (uint32_t k = 0; code->items[i].target && k <= i; k++)
			if (code->items[k].label && strcmp(code->items[k].label, code->items[i].target) == 0)
				return builder_fail(b, code->items[i].line,
						    "\"%s\" jumps backwards, to line %u: expected no loops",
						    code->items[i].text, code->items[k].line);
	}
	return 0;
}

#define TEXT(number)  TEXT_(number)
#define TEXT_(number) #number
static const char drop_text[] = "tx " TEXT(SPEC_PORT_DROP), stray_text[] = "tx " TEXT(SPEC_PORT_STRAY);

/* "jmpgt L 5 m.x" as "jmplt L m.x 5": p4c puts constants first too, DPDK wants them second. NULL: nothing to turn. */
static const char *turn_comparison(struct builder *b, const struct spec_instruction *item)
{
	static const char *const turned[][2] = {
		{ "jmpeq", "jmpeq" }, { "jmpneq", "jmpneq" }, { "jmpgt", "jmplt" }, { "jmplt", "jmpgt" }
	};
	char first[RTE_SWX_INSTRUCTION_SIZE], second[RTE_SWX_INSTRUCTION_SIZE];
	uint64_t number;

	/* Sizes were checked before: an operand is shorter than its instruction. */
	if (!item->target || sscanf(item->text, "%*s %*s %255s %255s", first, second) != 2 ||
	    !spec_number(first, &number) || spec_number(second, &number))
		return NULL;
	for (size_t i = 0; i < sizeof(turned) / sizeof(turned[0]); i++)
		if (strcmp(turned[i][0], item->opcode) == 0)
			return arena_printf(&b->arena, "%s %s %s %s", turned[i][1], item->target, second, first);
	return NULL;
}

static const char *instruction_text(struct builder *b, const struct spec_instruction *item, const char *label)
{
	const char *text = turn_comparison(b, item);

	/* DPDK's own drop frees the frame as its kind of buffer, which ours is not. */
	if (strcmp(item->opcode, "drop") == 0)
		text = drop_text;
	if (!text)
		text = item->text;
	return label ? arena_printf(&b->arena, "%s : %s", label, text) : arena_strdup(&b->arena, text);
}

/*
 * DPDK says of a block only that something in it is wrong. Which line? Ask for
 * each alone, in a pipeline of its own, with its jumps led to the next line.
 */
static uint32_t find_refused(struct builder *b, const struct spec_code *code, const struct spec_action *action,
			     const char **ret_text)
{
	const char *rx = b->spec->apply.items[0].text;

	for (uint32_t i = 0; i < code->count; i++) {
		const struct spec_instruction *item = &code->items[i];
		struct rte_swx_pipeline *p = NULL;
		const char *lines[3], *text = instruction_text(b, item, NULL);
		struct err ignored;
		struct err *kept = b->err;
		uint32_t n = 0;
		int rc;

		/* Tables, actions and learners are no part of it; and one rx is there already. */
		if (strcmp(item->opcode, "table") == 0 || strcmp(item->opcode, "jmpa") == 0 ||
		    strcmp(item->opcode, "jmpna") == 0 || strcmp(item->opcode, "learn") == 0 ||
		    (!action && strcmp(item->opcode, "rx") == 0 && i == 0))
			continue;
		if (!action)
			lines[n++] = rx;
		lines[n++] = text;
		lines[n++] = item->target ? arena_printf(&b->arena, "%s : %s", item->target, action ? "return" : "drop")
			     : action     ? "return"
					  : "drop";
		if (!text || !lines[n - 1])
			return 0;
		b->err = &ignored;
		if (rte_swx_pipeline_config(&p, "tare-refused", -1) == 0 && builder_set_ports(b, p) == 0 &&
		    builder_set_data(b, p) == 0) {
			rc = action ? rte_swx_pipeline_action_config(p, action->name,
								     action->args ? action->args->name : NULL, lines, n)
				    : rte_swx_pipeline_instructions_config(p, lines, n);
		} else {
			rc = 0;
		}
		b->err = kept;
		rte_swx_pipeline_free(p);
		if (rc) {
			*ret_text = item->text;
			return item->line;
		}
	}
	return 0;
}

static int code_refused(struct builder *b, const struct spec_code *code, const struct spec_action *action,
			uint32_t block_line, int rc)
{
	const char *text = NULL;
	uint32_t line = rc == -EINVAL ? find_refused(b, code, action, &text) : 0;

	if (line)
		return builder_fail(b, line, "DPDK refuses \"%s\": %s (%d)", text, strerror(-rc), rc);
	return builder_refused(b, block_line, action ? "the instructions of action" : "the instructions of",
			       action ? action->name : "apply", rc);
}

int builder_set_action(struct builder *b, const struct spec_action *a)
{
	const char **lines = arena_array(&b->arena, a->code.count, sizeof(*lines));
	int rc;

	if (!lines)
		return builder_no_memory(b);
	for (uint32_t i = 0; i < a->code.count; i++) {
		lines[i] = instruction_text(b, &a->code.items[i], a->code.items[i].label);
		if (!lines[i])
			return builder_no_memory(b);
	}
	rc = rte_swx_pipeline_action_config(b->pipeline, a->name, a->args ? a->args->name : NULL, lines, a->code.count);
	return rc ? code_refused(b, &a->code, a, a->line, rc) : 0;
}

/*
 * A guard against ports that are not there stands where the frame for `tx` at
 * `tx` begins to be put together: DPDK joins a run of emits and the tx behind it
 * into one instruction, which must not be torn.
 */
static uint32_t guard_place(const struct spec_code *code, uint32_t tx)
{
	uint32_t at = tx;

	while (at > 0 && !code->items[at].label && strcmp(code->items[at - 1].opcode, "emit") == 0)
		at--;
	return at;
}

static int check_tx(struct builder *b, const struct spec_instruction *item, bool *ret_guard)
{
	const char *operand = strchr(item->text, ' ');
	uint64_t port;

	*ret_guard = false;
	if (!operand)
		return builder_fail(b, item->line, "tx: expected \"tx m.FIELD\" or \"tx PORT\"");
	if (!spec_number(operand + 1, &port)) {
		*ret_guard = true;
		return 0;
	}
	if (port >= SPEC_PORTS_OUT)
		return builder_fail(b, item->line, "\"%s\": expected a port below %d", item->text, SPEC_PORTS_OUT);
	return 0;
}

int builder_set_apply(struct builder *b)
{
	static const char stray[] = "TARE_STRAY";
	const struct spec_code *code = &b->spec->apply;
	const char **lines = arena_array(&b->arena, 2u * code->count + 1u, sizeof(*lines));
	const char **guards = arena_array(&b->arena, code->count, sizeof(*guards)); /* the tx guarded there */
	uint32_t n = 0;
	bool guarded = false;
	int rc;

	if (!lines || !guards)
		return builder_no_memory(b);
	for (uint32_t i = 0; i < code->count; i++) {
		bool guard;

		if (strcmp(code->items[i].opcode, "tx") != 0)
			continue;
		rc = check_tx(b, &code->items[i], &guard);
		if (rc)
			return rc;
		if (guard)
			guards[guard_place(code, i)] = code->items[i].text;
		guarded |= guard;
	}
	for (uint32_t i = 0; i < code->count; i++) {
		const char *label = code->items[i].label;

		if (guards[i]) {
			lines[n] = arena_printf(&b->arena, "%s%sjmpgt %s %s %d", label ? label : "", label ? " : " : "",
						stray, strchr(guards[i], ' ') + 1, SPEC_PORTS_OUT - 1);
			if (!lines[n++])
				return builder_no_memory(b);
			label = NULL;
		}
		lines[n] = instruction_text(b, &code->items[i], label);
		if (!lines[n++])
			return builder_no_memory(b);
	}
	if (guarded) {
		lines[n] = arena_printf(&b->arena, "%s : %s", stray, stray_text);
		if (!lines[n++])
			return builder_no_memory(b);
	}
	rc = rte_swx_pipeline_instructions_config(b->pipeline, lines, n);
	return rc ? code_refused(b, code, NULL, b->spec->apply_line, rc) : 0;
}
