/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "target/spec.h"
#include "target/spec_entries.h"
#include "target/spec_text.h"

/* --- what the tests stand on --- */

/* A program with one of everything, as p4c writes it. Lines are counted by the tests. */
#define STRUCTS                                                                                                        \
	"struct ether_t {\n\tbit<48> dst\n\tbit<48> src\n\tbit<16> type\n}\n" /* 1 to 5 */                             \
	"struct option_t {\n\tbit<8> kind\n\tvarbit<304> data\n}\n"           /* 6 to 9 */                             \
	"struct args_t {\n\tbit<32> port\n\tbit<48> station\n}\n"             /* 10 to 13 */                           \
	"struct meta_t {\n\tbit<32> in\n\tbit<32> out\n\tbit<64> wide\n\tbit<32> group\n\tbit<32> member\n}\n" /* 14 to 20 */
#define NAMES                                                                                                             \
	"metadata instanceof meta_t\nheader ether instanceof ether_t\nheader option instanceof option_t\n" /* 21 to 23 */ \
	"regarray counts size 0x100 initval 7\nmetarray meters size 64\n"                                  /* 24, 25 */
#define ACTIONS                                                                                                        \
	"action send args instanceof args_t {\n\tmov m.out t.port\n\treturn\n}\n" /* 26 to 29 */                       \
	"action enter args none {\n\tlearn send m.wide\n\treturn\n}\n"            /* 30 to 33 */                       \
	"action none args none {\n\treturn\n}\n"                                  /* 34 to 36 */
#define TABLES                                                                                                                    \
	"table stations {\n\tkey {\n\t\th.ether.dst exact\n\t\th.ether.type wildcard\n\t}\n" /* 37 to 41 */                       \
	"\tactions {\n\t\tsend @tableonly\n\t\tnone\n\t\tenter @defaultonly\n\t}\n"          /* 42 to 46 */                       \
	"\tdefault_action none args none \n\tsize 0x400\n}\n"                                /* 47 to 49 */                       \
	"table routes {\n\tkey {\n\t\tm.wide lpm\n\t}\n\tactions {\n\t\tsend\n\t}\n"         /* 50 to 56 */                       \
	"\tdefault_action send args port 0x1 station 0x2 const\n\tsize 16\n}\n"              /* 57 to 59 */                       \
	"learner flows {\n\tkey {\n\t\tm.in\n\t}\n\tactions {\n\t\tsend @tableonly\n\t\tenter @defaultonly\n\t}\n" /* 60 to 67 */ \
	"\tdefault_action enter args none\n\tsize 8\n\ttimeout {\n\t\t10\n\t\t120\n\n\t}\n}\n"       /* 68 to 75 */               \
	"selector pick {\n\tgroup_id m.group\n\tselector {\n\t\tm.wide\n\t}\n\tmember_id m.member\n" /* 76 to 81 */               \
	"\tn_groups_max 4\n\tn_members_per_group_max 0x10\n}\n"                                      /* 82 to 84 */
#define APPLY                                                                                                          \
	"apply {\n\trx m.in\n\textract h.ether\n\tjmpeq SKIP h.ether.type 0x800\n\ttable   stations\n" /* 85 to 89 */  \
	"\tSKIP :\temit h.ether\n\ttx m.out\n}\n"                                                      /* 90 to 92 */
#define WHOLE STRUCTS NAMES ACTIONS TABLES APPLY

static struct arena arena;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena, 16u << 20);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static struct spec *parse(const char *text)
{
	struct spec *spec = NULL;
	struct err err;

	if (spec_parse(text, strlen(text), "x.spec", &arena, &spec, &err))
		fail_msg("%s", err.message);
	return spec;
}

static void refused(const char *text, const char *message)
{
	struct spec *spec = NULL;
	struct err err;

	if (spec_parse(text, strlen(text), "x.spec", &arena, &spec, &err) != -EINVAL)
		fail_msg("taken, expected: %s", message);
	assert_null(spec);
	assert_int_equal(err.kind, ERR_USAGE);
	if (strncmp(err.message, message, strlen(message)) != 0)
		fail_msg("\"%s\", expected \"%s\"", err.message, message);
}

/* The whole program with `from` (which must be there) replaced by `to`. */
static void refused_with(const char *from, const char *to, const char *message)
{
	const char *at = strstr(WHOLE, from);
	char text[4096];

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - WHOLE), WHOLE, to, at + strlen(from));
	refused(text, message);
}

/* --- programs --- */

static void whole_program_is_read(void **state)
{
	struct spec *s = parse("; made by p4c-dpdk 9\n# and more\n" WHOLE);
	const struct spec_struct *option = spec_find_struct(s, "option_t");
	const struct spec_action *send = spec_find_action(s, "send");

	(void)state;
	assert_string_equal(s->origin, "made by p4c-dpdk 9");
	assert_int_equal(s->struct_count, 4);
	assert_int_equal(s->structs[0].line, 3);
	assert_int_equal(s->structs[0].field_count, 3);
	assert_int_equal(s->structs[0].bits, 112);
	assert_false(s->structs[0].variable);
	assert_true(option->variable);
	assert_int_equal(option->fields[1].bits, 304);
	assert_ptr_equal(s->metadata, spec_find_struct(s, "meta_t"));
	assert_ptr_equal(spec_find_header(s, "option")->type, option);
	assert_int_equal(s->array_count, 2);
	assert_int_equal(s->arrays[0].size, 256);
	assert_int_equal(s->arrays[0].initial, 7);
	assert_true(s->arrays[1].meters);
	assert_int_equal(s->action_count, 3);
	assert_ptr_equal(send->args, spec_find_struct(s, "args_t"));
	assert_int_equal(send->code.count, 2);
	assert_string_equal(send->code.items[0].text, "mov m.out t.port");
	assert_null(spec_find_action(s, "enter")->args);
	assert_null(spec_find_action(s, "sen"));
	assert_int_equal(spec_operand_bits(s, "h.ether.dst"), 48);
	assert_int_equal(spec_operand_bits(s, "m.wide"), 64);
	assert_int_equal(spec_operand_bits(s, "h.ethe.dst"), 0);
	assert_int_equal(spec_operand_bits(s, "h.ether"), 0);
	assert_int_equal(spec_operand_bits(s, "t.port"), 0);
}

static void tables_are_read(void **state)
{
	struct spec *s = parse(WHOLE);
	const struct spec_table *t = spec_find_table(s, "stations"), *routes = spec_find_table(s, "routes"),
				*flows = spec_find_table(s, "flows");

	(void)state;
	assert_int_equal(s->table_count, 3);
	assert_int_equal(t->line, 37);
	assert_int_equal(t->size, 1024);
	assert_int_equal(t->key_count, 2);
	assert_string_equal(t->keys[1].field, "h.ether.type");
	assert_int_equal(t->keys[1].match, SPEC_WILDCARD);
	assert_int_equal(t->keys[1].bits, 16);
	assert_int_equal(t->action_count, 3);
	assert_true(t->actions[0].for_entries && !t->actions[0].for_default);
	assert_true(t->actions[1].for_entries && t->actions[1].for_default);
	assert_true(!t->actions[2].for_entries && t->actions[2].for_default);
	assert_string_equal(t->default_action->name, "none");
	assert_null(t->default_args);
	assert_false(t->default_const);
	assert_int_equal(routes->keys[0].match, SPEC_LPM);
	assert_string_equal(routes->default_args, "port 0x1 station 0x2");
	assert_true(routes->default_const);
	assert_true(flows->learner);
	assert_int_equal(flows->timeout_count, 2);
	assert_int_equal(flows->timeouts_s[1], 120);
	assert_int_equal(s->selector_count, 1);
	assert_string_equal(s->selectors[0].fields[0], "m.wide");
	assert_int_equal(s->selectors[0].members_max, 16);
}

static void instructions_keep_their_text(void **state)
{
	struct spec *s = parse(WHOLE);
	const struct spec_code *code = &s->apply;

	(void)state;
	assert_int_equal(s->apply_line, 85);
	assert_int_equal(code->count, 6);
	assert_string_equal(code->items[3].text, "table stations");
	assert_string_equal(code->items[2].target, "SKIP");
	assert_null(code->items[2].label);
	assert_string_equal(code->items[4].label, "SKIP");
	assert_string_equal(code->items[4].text, "emit h.ether");
	assert_string_equal(code->items[4].opcode, "emit");
	assert_int_equal(code->items[4].line, 90);
}

/* The program with this before its last two lines, and an action more. */
static uint32_t inserted(const char *middle, const char *action)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s%s%s", STRUCTS,
		 "struct tag_t {\n\tbit<16> a\n\tbit<16> b\n}\nheader tag instanceof tag_t\n", NAMES, ACTIONS, action,
		 TABLES, "apply {\n\trx m.in\n\textract h.ether\n", middle,
		 "\temit h.ether\n\temit h.tag\n\ttx m.out\n}\n");
	return spec_inserted_bytes(parse(text));
}

static void inserted_bytes_are_those_of_headers_it_makes(void **state)
{
	static const char makes[] = "action tag_it args none {\n\tvalidate h.tag\n\treturn\n}\n";

	(void)state;
	assert_int_equal(spec_inserted_bytes(parse(WHOLE)), 0);
	/* never valid, so never emitted; made valid by the program, by an action; the frame's own */
	assert_int_equal(inserted("", ""), 0);
	assert_int_equal(inserted("\tvalidate h.tag\n", ""), 4);
	assert_int_equal(inserted("", makes), 4);
	assert_int_equal(inserted("\textract h.tag\n", makes), 0);
	/* once more than it was read; and two ways out are not two headers */
	assert_int_equal(inserted("\temit h.ether\n", ""), 14);
	assert_int_equal(inserted("\tvalidate h.tag\n\temit h.tag\n\ttx m.out\n", ""), 4);
}

static void declarations_it_only_names(void **state)
{
	struct spec *s = parse("rss h_0\n" WHOLE "extobj x instanceof y\n");

	(void)state;
	assert_int_equal(s->other_count, 2);
	assert_string_equal(s->others[0].keyword, "rss");
	assert_string_equal(s->others[1].name, "x");
	assert_int_equal(s->others[1].line, 94);
}

static void line_ends_and_a_missing_last_one(void **state)
{
	struct spec *s =
		parse("struct m {\r\n\tbit<8> a\r\n}\r\nmetadata instanceof m\r\napply {\r\n rx m.a // why\r\n}");

	(void)state;
	assert_int_equal(s->apply.count, 1);
	assert_string_equal(s->apply.items[0].text, "rx m.a");
	assert_null(s->origin);
}

static void bad_text(void **state)
{
	char zero[] = "struct m {\n\0}\n";
	struct spec *spec = NULL;
	struct err err;

	(void)state;
	refused("", "x.spec: no apply block, expected \"apply {\"");
	refused("struct a {\n}\napply {\nrx m.a\n}\n", "x.spec: no metadata, expected \"metadata instanceof STRUCT\"");
	refused("\x01\n", "x.spec:1: byte 0x01: not text");
	refused("\n\xc3\xa4\n", "x.spec:2: byte 0xc3: not text");
	assert_int_equal(spec_parse(zero, sizeof(zero) - 1, "x.spec", &arena, &spec, &err), -EINVAL);
	assert_string_equal(err.message, "x.spec:2: byte 0x00: not text, expected printable ASCII");
	refused("hello world\n", "x.spec:1: \"hello\": expected struct, header,");
}

static void bad_declarations(void **state)
{
	(void)state;
	refused_with("struct option_t {", "struct option_t", "x.spec:6: struct: 2 tokens, expected \"struct NAME {\"");
	refused_with("struct option_t {", "struct ether_t {", "x.spec:6: struct ether_t stands at line 1 already");
	refused_with("bit<48> src", "bit<48> dst", "x.spec:3: field dst of ether_t stands at line 2 already");
	refused_with("bit<48> src", "int<48> src", "x.spec:3: type \"int<48>\": expected bit<N> NAME");
	refused_with("bit<48> src", "bit<48 src", "x.spec:3: type \"bit<48\": expected bit<N> NAME");
	refused_with("bit<48> src", "bit<47> src", "x.spec:3: type \"bit<47>\": expected a width of whole bytes");
	refused_with("bit<48> src", "bit<0> src", "x.spec:3: type \"bit<0>\": expected a width of whole bytes");
	refused_with("bit<48> src", "bit<99999999> src", "x.spec:3: type \"bit<99999999>\": expected bit<N>");
	refused_with("bit<8> kind", "varbit<8> kind",
		     "x.spec:8: field data comes after a varbit, which must be the last");
	refused_with("metadata instanceof meta_t", "metadata instanceof meta",
		     "x.spec:21: struct meta is not declared");
	refused_with("header option", "header ether", "x.spec:23: header ether stands at line 22 already");
	refused_with("header ether", "metadata instanceof meta_t\nheader ether",
		     "x.spec:22: metadata stands at line 21 already");
	refused_with("size 0x100 initval 7", "size 0x100",
		     "x.spec:24: regarray: 4 tokens, expected \"regarray NAME size N");
	refused_with("size 0x100", "size 0x100000000", "x.spec:24: size \"0x100000000\": expected a number below 2^32");
	refused_with("initval 7", "initval seven", "x.spec:24: initval \"seven\": expected a number");
	refused_with("args instanceof args_t", "args instanceof args", "x.spec:26: struct args is not declared before");
	refused_with("action enter args none", "action send args none",
		     "x.spec:30: action send stands at line 26 already");
	refused_with("action none args none {\n\treturn\n", "action none args none {\n", "x.spec:34: action is empty");
}

static void bad_tables(void **state)
{
	(void)state;
	refused_with("h.ether.dst exact", "h.ether.dts exact", "x.spec:39: h.ether.dts: no such field");
	refused_with("h.ether.dst exact", "h.ether.dst range",
		     "x.spec:39: match \"range\": expected exact, wildcard or lpm");
	refused_with("send @tableonly", "sent @tableonly", "x.spec:43: action sent is not declared before this line");
	refused_with("send @tableonly", "send @sometimes",
		     "x.spec:43: \"@sometimes\": expected @tableonly or @defaultonly");
	refused_with("enter @defaultonly", "none", "x.spec:45: action none stands in stations already");
	refused_with("default_action none args none", "default_action send args none",
		     "x.spec:47: default_action send: expected one of the actions of stations that may be it");
	refused_with("default_action none args none", "default_action none",
		     "x.spec:47: default_action: expected \"default_action NAME args");
	refused_with("\tdefault_action none args none \n", "", "x.spec:37: stations has no default action");
	refused_with("size 0x400", "sizes 4", "x.spec:48: \"sizes\" in stations: expected key, actions,");
	refused_with("table routes", "table stations", "x.spec:50: table stations stands at line 37 already");
	refused_with("\tkey {\n\t\tm.in\n\t}\n", "", "x.spec:60: learner flows lacks keys");
	refused_with("\t\t10\n", "\t\tten\n", "x.spec:71: timeout \"ten\": expected a number below 2^32");
	refused_with("\tgroup_id m.group\n", "", "x.spec:76: selector pick lacks group_id");
	refused_with("member_id m.member", "member_id m.members", "x.spec:81: m.members: no such field");
	refused(STRUCTS NAMES ACTIONS "table t {\n\tkey {\n", "x.spec:38: key is never closed");
	refused(STRUCTS NAMES ACTIONS "table t {\n\tsize 1\n", "x.spec:37: t is never closed");
}

static void bad_code(void **state)
{
	(void)state;
	refused_with("jmpeq SKIP", "jmpeq SKIPS", "x.spec:88: jmpeq SKIPS: no such label in apply");
	refused_with("jmpeq SKIP h.ether.type 0x800", "jmp", "x.spec:88: jmp: expected a label to jump to");
	refused_with("\ttx m.out", "\tSKIP : tx m.out", "x.spec:91: label SKIP stands at line 90 already");
	refused_with("\ttx m.out", "\tEND :", "x.spec:91: label END stands alone, expected an instruction after it");
	refused_with("tx m.out\n}", "tx m.out\n", "x.spec:85: apply is never closed");
	refused(WHOLE APPLY, "x.spec:93: apply stands at line 85 already");
	/* A label of another block is none. */
	refused_with("learn send m.wide", "jmp SKIP", "x.spec:31: jmp SKIP: no such label in action");
}

static void small_arena_is_an_error(void **state)
{
	struct spec *spec = NULL;
	struct err err;

	(void)state;
	for (size_t limit = 16; limit < 4096; limit += 61) {
		struct arena small;

		arena_init(&small, limit);
		assert_int_equal(spec_parse(WHOLE, strlen(WHOLE), "x.spec", &small, &spec, &err), -ENOMEM);
		assert_int_equal(err.kind, ERR_HOST);
		arena_release(&small);
	}
	assert_null(spec);
}

/* --- entries --- */

static const char *entry(const char *line)
{
	struct spec_entries *entries = NULL;
	struct err err;

	if (spec_entries_parse(line, strlen(line), "x.entries", parse(WHOLE), &arena, &entries, &err))
		fail_msg("%s", err.message);
	assert_int_equal(entries->count, 1);
	return entries->items[0].text;
}

static void entry_refused(const char *line, const char *message)
{
	struct spec_entries *entries = NULL;
	struct err err;

	if (spec_entries_parse(line, strlen(line), "x.entries", parse(WHOLE), &arena, &entries, &err) != -EINVAL)
		fail_msg("taken, expected: %s", message);
	if (strncmp(err.message, message, strlen(message)) != 0)
		fail_msg("\"%s\", expected \"%s\"", err.message, message);
}

static void entries_are_put_as_dpdk_reads_them(void **state)
{
	(void)state;
	assert_string_equal(
		entry("stations match 02:00:00:00:0a:01 0x800/0xff00 priority 3 action send port 1 station 0x5 ; x"),
		"match 0x20000000a01 0x800/0xff00 priority 3 action send port 0x1 station 0x5");
	assert_string_equal(entry("stations match 1 2 action none"), "match 0x1 0x2/0xffff action none");
	assert_string_equal(entry("stations default action enter"), "action enter");
	/* A length becomes a mask, and what is beyond it goes. */
	assert_string_equal(entry("routes match 0x1234567812345678/16 action send port 10.0.0.1 station 0"),
			    "match 0x1234000000000000/0xffff000000000000 action send port 0xa000001 station 0x0");
	assert_string_equal(entry("routes match 7/0 action send port 0 station 0"),
			    "match 0x0/0x0 action send port 0x0 station 0x0");
	assert_string_equal(entry("routes match 7 action send port 0 station 0"),
			    "match 0x7/0xffffffffffffffff action send port 0x0 station 0x0");
	assert_string_equal(entry("flows default action enter"), "action enter");
}

static void bad_entries(void **state)
{
	(void)state;
	entry_refused("\nnowhere match 1 action none\n",
		      "x.entries:2: table nowhere: not in x.spec, expected a table like stations");
	entry_refused("stations\n", "x.entries:1: \"end of line\": expected \"match VALUE ...\" or \"default\"");
	entry_refused("stations match 1 action none\n", "x.entries:1: h.ether.type \"action\": expected a number");
	entry_refused("stations match 1 2 3 action none\n",
		      "x.entries:1: \"3\": expected \"action NAME\" after 2 key values");
	entry_refused("stations match 1/1 2 action none\n", "x.entries:1: \"1/1\": h.ether.dst is matched exactly");
	entry_refused("stations match 0x1000000000000 2 action none\n",
		      "x.entries:1: h.ether.dst \"0x1000000000000\": does not fit its 48 bits");
	entry_refused("stations match 02:00:00:00:0a 2 action none\n",
		      "x.entries:1: h.ether.dst \"02:00:00:00:0a\": expected a number or a MAC address");
	entry_refused("stations match 1 2/0x1ffff action none\n",
		      "x.entries:1: h.ether.type \"0x1ffff\": does not fit its 16");
	entry_refused("stations match 1 2 priority high action none\n",
		      "x.entries:1: priority \"high\": expected a number");
	entry_refused("stations match 1 2 action away\n",
		      "x.entries:1: action away: not one of the actions of table stations");
	entry_refused("stations match 1 2 action enter\n",
		      "x.entries:1: action enter of stations is for the default only");
	entry_refused("stations default action send port 1 station 2\n",
		      "x.entries:1: action send of stations is for entries only");
	entry_refused("stations match 1 2 action send port 1\n",
		      "x.entries:1: action send: expected its argument \"station VALUE\"");
	entry_refused("stations match 1 2 action send station 1 port 1\n",
		      "x.entries:1: action send: expected its argument \"port");
	entry_refused("stations match 1 2 action send port 10.0.0.256 station 1\n",
		      "x.entries:1: port \"10.0.0.256\": expected a number or an IPv4 address");
	entry_refused("stations match 1 2 action none more\n", "x.entries:1: \"more\": expected the end of the line");
	entry_refused("routes match 1/65 action send port 1 station 1\n",
		      "x.entries:1: \"1/65\": expected a prefix length of 64");
	entry_refused("routes default action send port 1 station 1\n",
		      "x.entries:1: the default action of routes is const");
	entry_refused("flows match 1 action send port 1 station 1\n",
		      "x.entries:1: flows is a learner, which enters its own");
}

static void numbers_are_strict(void **state)
{
	uint64_t value = 0;

	(void)state;
	assert_true(spec_number("18446744073709551615", &value) && value == UINT64_MAX);
	assert_true(spec_number("0xFFFFFFFFFFFFFFFF", &value) && value == UINT64_MAX);
	assert_true(spec_number("0", &value) && value == 0);
	assert_false(spec_number("18446744073709551616", &value));
	assert_false(spec_number("0x10000000000000000", &value));
	assert_false(spec_number("", &value));
	assert_false(spec_number("0x", &value));
	assert_false(spec_number("010", &value));
	assert_false(spec_number("-1", &value));
	assert_false(spec_number("1 ", &value));
	assert_false(spec_number("1a", &value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole_program_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tables_are_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(instructions_keep_their_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(inserted_bytes_are_those_of_headers_it_makes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(declarations_it_only_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(line_ends_and_a_missing_last_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_declarations, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_tables, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_code, set_up, tear_down),
		cmocka_unit_test_setup_teardown(small_arena_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(entries_are_put_as_dpdk_reads_them, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_entries, set_up, tear_down),
		cmocka_unit_test(numbers_are_strict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
