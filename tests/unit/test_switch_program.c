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

#include "program/program.h"

/*
 * What program_load refuses, and how it says so. Each case is one change to a
 * small program that loads: a piece of its text, and what stands there instead.
 */
static const char good[] =
	"{\"program\":\"t.p4\",\"__meta__\":{\"version\":[2,23],\"compiler\":\"hand\"},"
	"\"header_types\":["
	"{\"name\":\"scalars_0\",\"id\":0,\"fields\":[[\"x\",16,false]]},"
	"{\"name\":\"standard_metadata\",\"id\":1,\"fields\":[[\"ingress_port\",9,false],[\"egress_spec\",9,false],"
	"[\"egress_port\",9,false],[\"instance_type\",32,false],[\"packet_length\",32,false],[\"_padding\",5,false]]},"
	"{\"name\":\"byte_t\",\"id\":2,\"fields\":[[\"v\",8,false]]}],"
	"\"headers\":["
	"{\"name\":\"scalars\",\"id\":0,\"header_type\":\"scalars_0\",\"metadata\":true,\"pi_omit\":true},"
	"{\"name\":\"standard_metadata\",\"id\":1,\"header_type\":\"standard_metadata\",\"metadata\":true},"
	"{\"name\":\"b\",\"id\":2,\"header_type\":\"byte_t\",\"metadata\":false}],"
	"\"header_stacks\":[],\"header_union_types\":[],\"header_unions\":[],\"header_union_stacks\":[],"
	"\"field_lists\":[],\"errors\":[[\"NoError\",1],[\"PacketTooShort\",2],[\"NoMatch\",3],"
	"[\"StackOutOfBounds\",4],[\"HeaderTooShort\",5],[\"ParserTimeout\",6],[\"ParserInvalidArgument\",7]],"
	"\"enums\":[],\"extern_instances\":[],"
	"\"parsers\":[{\"name\":\"parser\",\"id\":0,\"init_state\":\"start\",\"parse_states\":["
	"{\"name\":\"start\",\"id\":0,\"parser_ops\":[{\"op\":\"extract\",\"parameters\":"
	"[{\"type\":\"regular\",\"value\":\"b\"}]}],\"transition_key\":[],"
	"\"transitions\":[{\"type\":\"default\",\"value\":null,\"mask\":null,\"next_state\":\"two\"}]},"
	"{\"name\":\"two\",\"id\":1,\"parser_ops\":[],\"transition_key\":[],"
	"\"transitions\":[{\"type\":\"default\",\"value\":null,\"mask\":null,\"next_state\":null}]}]}],"
	"\"parse_vsets\":[],\"deparsers\":[{\"name\":\"deparser\",\"id\":0,\"order\":[\"b\"],\"primitives\":[]}],"
	"\"meter_arrays\":[],\"counter_arrays\":[],\"register_arrays\":[],\"calculations\":[],\"learn_lists\":[],"
	"\"actions\":[{\"name\":\"set\",\"id\":0,\"runtime_data\":[{\"name\":\"port\",\"bitwidth\":9}],"
	"\"primitives\":[{\"op\":\"assign\",\"parameters\":[{\"type\":\"field\",\"value\":[\"standard_metadata\","
	"\"egress_spec\"]},{\"type\":\"runtime_data\",\"value\":0}],\"source_info\":{\"filename\":\"t.p4\","
	"\"line\":42,\"column\":8,\"source_fragment\":\"...\"}}]}],"
	"\"pipelines\":[{\"name\":\"ingress\",\"id\":0,\"init_table\":\"t\",\"tables\":[{\"name\":\"t\",\"id\":0,"
	"\"source_info\":{\"filename\":\"t.p4\",\"line\":50,\"column\":1,\"source_fragment\":\"t\"},"
	"\"key\":[{\"match_type\":\"exact\",\"name\":\"b.v\",\"target\":[\"b\",\"v\"],\"mask\":null}],"
	"\"match_type\":\"exact\",\"type\":\"simple\",\"max_size\":16,\"with_counters\":false,"
	"\"support_timeout\":false,\"direct_meters\":null,\"action_ids\":[0],\"actions\":[\"set\"],"
	"\"base_default_next\":null,\"next_tables\":{\"set\":null},\"default_entry\":{\"action_id\":0,"
	"\"action_const\":false,\"action_data\":[\"0x1\"],\"action_entry_const\":false}}],"
	"\"action_profiles\":[],\"conditionals\":[]},"
	"{\"name\":\"egress\",\"id\":1,\"init_table\":null,\"tables\":[],\"action_profiles\":[],\"conditionals\":[]}],"
	"\"checksums\":[],\"force_arith\":[],\"extern_instances2\":[],\"field_aliases\":[]}";

static char *changed(const char *what, const char *to)
{
	const char *at = strstr(good, what);
	size_t before = (size_t)(at - good);
	char *text;

	if (!at)
		fail_msg("the program has no '%s'", what);
	text = malloc(sizeof(good) + strlen(to));
	assert_non_null(text);
	memcpy(text, good, before);
	strcpy(text + before, to);
	strcat(text, at + strlen(what));
	return text;
}

static void the_program_itself_loads(void **state)
{
	struct program *p = NULL;
	struct err err = { 0 };

	(void)state;
	if (program_load(good, strlen(good), &p, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(p->table_count, 1);
	assert_int_equal(p->tables[0].size, 16);
	assert_string_equal(p->tables[0].place, "t.p4:50");
	assert_int_equal(program_find_table(p, "t"), 0);
	assert_int_equal(program_find_table(p, "u"), NOWHERE);
	program_destroy(p);
}

static const struct {
	const char *what, *to, *message;
} cases[] = {
	{ "[2,23]", "[3,0]", "the JSON is of format version 3; version 2 is supported" },
	{ "\"__meta__\"", "\"meta\"", "it has no __meta__.version" },
	{ "\"header_types\":[", "\"header_types\":{},\"x\":[", "'header_types' is not an array; expected an array" },
	{ "[\"v\",8,false]", "[\"v\",\"8\",false]", "header 'b': a field is expected as [name, bits, signed]" },
	{ "[\"v\",8,false]", "[\"v\",0,false]", "field 'b.v' has 0 bits; 1 to 4096 are expected" },
	{ "[\"v\",8,false]", "[\"v\",100000,false]", "field 'b.v' has 100000 bits; 1 to 4096 are expected" },
	{ "\"header_type\":\"byte_t\"", "\"header_type\":\"word_t\"", "'word_t'" },
	{ "\"value\":\"b\"}", "\"value\":\"c\"}", "there is no header 'c'" },
	{ "\"op\":\"extract\"", "\"op\":\"foretell\"", "parser operation 'foretell' is not supported" },
	{ "\"type\":\"regular\"", "\"type\":\"irregular\"", "an extraction into 'irregular' is not supported" },
	{ "\"next_state\":\"two\"", "\"next_state\":\"three\"", "there is no parser state 'three'" },
	{ "\"next_state\":null", "\"next_state\":\"two\"", "parser" },
	{ "\"init_state\":\"start\"", "\"init_state\":\"begin\"", "'begin'" },
	{ "\"op\":\"assign\"", "\"op\":\"teleport\"", "primitive 'teleport' is not supported (t.p4:42)" },
	{ "\"egress_spec\"]}", "\"egress_speck\"]}", "there is no field 'standard_metadata.egress_speck' (t.p4:42)" },
	{ "{\"type\":\"runtime_data\",\"value\":0}", "{\"type\":\"runtime_data\",\"value\":1}",
	  "parameter 1 is not one of the action's 1 (t.p4:42)" },
	{ "{\"type\":\"runtime_data\",\"value\":0}",
	  "{\"type\":\"expression\",\"value\":{\"type\":\"expression\",\"value\":{\"op\":\"**\",\"left\":{\"type\":"
	  "\"hexstr\",\"value\":\"0x1\"},\"right\":{\"type\":\"hexstr\",\"value\":\"0x1\"}}}}",
	  "'**'" },
	{ ",{\"type\":\"runtime_data\",\"value\":0}", "",
	  "primitive 'assign' has 1 parameters; 2 are expected (t.p4:42)" },
	{ "\"match_type\":\"exact\",\"name\"", "\"match_type\":\"fuzzy\",\"name\"", "'fuzzy'" },
	{ "\"type\":\"simple\"", "\"type\":\"baroque\"", "'baroque'" },
	{ "\"max_size\":16", "\"max_size\":-1", "'max_size' is -1" },
	{ "\"max_size\":16", "\"max_size\":\"16\"", "'max_size' is not a number" },
	{ "\"action_ids\":[0]", "\"action_ids\":[7]", "7" },
	{ "\"action_data\":[\"0x1\"]", "\"action_data\":[\"0x200\"]", "'0x200' does not fit 9 bits" },
	{ "\"action_data\":[\"0x1\"]", "\"action_data\":[]", "t" },
	{ "\"next_tables\":{\"set\":null}", "\"next_tables\":{\"set\":\"t\"}",
	  "the control comes back to where it was, through 't'" },
	{ "\"next_tables\":{\"set\":null}", "\"next_tables\":{\"set\":\"u\"}", "'u'" },
	{ "\"init_table\":\"t\"", "\"init_table\":\"u\"", "'u'" },
	{ "\"name\":\"ingress\"", "\"name\":\"inbound\"",
	  "the program has no control 'ingress': it is not for v1model" },
	{ "\"order\":[\"b\"]", "\"order\":[\"x\"]", "there is no header 'x'" },
	{ "\"deparsers\":[", "\"deparsers\":[],\"y\":[", "the program has 0 deparsers; v1model has one" },
	{ "\"extern_instances\":[]",
	  "\"extern_instances\":[{\"name\":\"oracle\",\"id\":0,\"type\":\"Oracle\",\"attribute_values\":[]}]",
	  "oracle" },
	{ "\"egress_spec\",9", "\"egress_spec\",9,false],[\"egress_spec\",9", "egress_spec" },
	{ "\"name\":\"b\",\"id\":2", "\"name\":\"scalars\",\"id\":2", "two headers are named 'scalars'" },
};

static void refusals_say_what_and_where(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = changed(cases[i].what, cases[i].to);
		struct program *p = NULL;
		struct err err = { 0 };
		int rc = program_load(text, strlen(text), &p, &err);

		if (rc == 0)
			fail_msg("loaded with '%s' for '%s'", cases[i].to, cases[i].what);
		if (!strstr(err.message, cases[i].message))
			fail_msg("'%s' for '%s':\n  said     %s\n  expected %s", cases[i].to, cases[i].what,
				 err.message, cases[i].message);
		assert_int_equal(err.kind, ERR_USAGE);
		assert_null(p);
		free(text);
	}
}

static void every_cut_is_refused(void **state)
{
	(void)state;
	for (size_t n = 0; n < strlen(good); n++) {
		struct program *p = NULL;
		struct err err = { 0 };

		assert_true(program_load(good, n, &p, &err) < 0);
		assert_memory_equal(err.message, "not JSON: line ", 15);
	}
}

static void nesting_has_a_limit(void **state)
{
	enum { DEPTH = 10000 };
	static const char open[] = "{\"type\":\"expression\",\"value\":{\"op\":\"~\",\"left\":null,\"right\":";
	char *value = calloc(DEPTH, sizeof(open) + 2), *text, *brackets;
	struct program *p = NULL;
	struct err err = { 0 };

	(void)state;
	assert_non_null(value);
	for (int i = 0; i < 300; i++)
		strcat(value, open);
	strcat(value, "{\"type\":\"hexstr\",\"value\":\"0x1\"}");
	for (int i = 0; i < 300; i++)
		strcat(value, "}}");
	text = changed("{\"type\":\"runtime_data\",\"value\":0}", value);
	assert_true(program_load(text, strlen(text), &p, &err) < 0);
	assert_non_null(strstr(err.message, "(t.p4:42)"));
	free(text);
	free(value);

	brackets = malloc(DEPTH);
	assert_non_null(brackets);
	memset(brackets, '[', DEPTH);
	assert_true(program_load(brackets, DEPTH, &p, &err) < 0);
	assert_memory_equal(err.message, "not JSON: line 1", 16);
	free(brackets);
}

static void files_are_named(void **state)
{
	struct program *p = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(program_load_file("/nonexistent/x.json", &p, &err), -ENOENT);
	assert_string_equal(err.message, "/nonexistent/x.json: No such file or directory");
	assert_true(program_load_file("/dev/null", &p, &err) < 0);
	assert_string_equal(err.message, "/dev/null: a file of at most 256 MiB is expected");
	assert_null(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_itself_loads), cmocka_unit_test(refusals_say_what_and_where),
		cmocka_unit_test(every_cut_is_refused),     cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(files_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
