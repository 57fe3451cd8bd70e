/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "base/rng.h"
#include "p4rt/entries.h"
#include "p4rt/readback.h"
#include "p4rt/wire.h"
#include "proto/p4info.pb-c.h"
#include "proto/p4runtime.pb-c.h"

/* Every kind of key, odd widths, one table without priorities. */
static const char info_text[] =
	"# comment\n"
	"pkg_info { arch: 'v1' \"model\" organization: \"o\" }\n"
	"tables {\n"
	"  preamble { id: 0x2000001 name: \"Ingress.routes\" alias: \"routes\" "
	"annotations: \"@a(\\\"x\\\")\" }\n"
	"  match_fields { id: 1 name: \"hdr.ipv4.destination\" bitwidth: 32 match_type: LPM }\n"
	"  match_fields { id: 2 name: \"meta.vrf\" bitwidth: 9, match_type: EXACT };\n"
	"  action_refs { id: 16777217 }\n"
	"  action_refs { id: 16777218 annotations: \"@defaultonly\" scope: DEFAULT_ONLY }\n"
	"  initial_default_action { action_id: 16777218 }\n"
	"  size: 1024\n"
	"}\n"
	"tables {\n"
	"  preamble { id: 33554434 name: \"Ingress.acl\" alias: \"acl\" }\n"
	"  match_fields { id: 1 name: \"hdr.ipv4.source\" bitwidth: 32 match_type: TERNARY }\n"
	"  match_fields { id: 2 name: \"hdr.ports.source\" bitwidth: 16 match_type: RANGE }\n"
	"  match_fields { id: 3 name: \"hdr.ipv6.destination\" bitwidth: 128 match_type: OPTIONAL }\n"
	"  match_fields { id: 7 name: \"meta.wide\" bitwidth: 200 match_type: EXACT }\n"
	"  action_refs: [{ id: 16777217 }, < id: 16777219 >]\n"
	"  direct_resource_ids: [1, 2]\n"
	"}\n"
	"actions { preamble { id: 16777217 name: \"Ingress.hop\" alias: \"hop\" }\n"
	"  params { id: 1 name: \"mac\" bitwidth: 48 } params { id: 2 name: \"port\" bitwidth: 9 } }\n"
	"actions { preamble { id: 16777218 name: \"Ingress.drop\" alias: \"drop\" } }\n"
	"actions { preamble { id: 16777219 name: \"Ingress.allow\" alias: \"allow\" } }\n"
	"registers { preamble { id: 369098753 name: \"Egress.id\" alias: \"id\" }\n"
	"  type_spec { bitstring { bit { bitwidth: 8 } } } size: 4 }\n"
	"future_field { [type.googleapis.com/x.Y] { a: -1.5e3 b: [\"x\", {}] } }\n"
	"type_info { new_types { key: \"t\" value { original_type { bitstring { bit { bitwidth: 4 "
	"} } } } } }\n";

static struct p4info *info;

static int group_setup(void **state)
{
	struct err err;

	(void)state;
	if (p4info_parse(info_text, sizeof(info_text) - 1, "info", &info, &err) < 0) {
		print_error("%s\n", err.message);
		return -1;
	}
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	p4info_destroy(info);
	return 0;
}

/* --- P4Info --- */

static void test_model(void **state)
{
	const struct p4info_table *acl = p4info_table(info, "acl", NULL);
	struct err err;

	(void)state;
	assert_string_equal(info->arch, "v1model");
	assert_int_equal(info->tables_count, 2);
	assert_ptr_equal(p4info_table(info, "Ingress.acl", NULL), acl);
	assert_int_equal(info->tables[0].is.id, 0x2000001);
	assert_false(info->tables[0].needs_priority);
	assert_int_equal(info->tables[0].size, 1024);
	assert_true(acl->needs_priority);
	assert_int_equal(acl->keys_count, 4);
	assert_int_equal(p4info_key(acl, "ipv6.destination", NULL)->match, P4INFO_OPTIONAL);
	assert_int_equal(p4info_key(acl, "wide", NULL)->bits, 200);
	assert_null(p4info_key(acl, "source", &err));
	assert_string_equal(err.message, "key 'source' of acl could be any of hdr.ipv4.source, hdr.ports.source");
	assert_null(p4info_table(info, "nix", &err));
	assert_string_equal(err.message, "unknown table 'nix'; there is routes, acl");
	assert_false(info->tables[0].actions[1].in_entries);
	assert_int_equal(p4info_object(info, P4INFO_REGISTER, "id", NULL)->bits, 8);
	assert_null(p4info_object(info, P4INFO_COUNTER, "id", &err));
	assert_string_equal(err.message, "unknown counter 'id'; there is none");
}

/* What the transcoder made of the text is what protobuf-c reads; its binary gives the same model again. */
static void test_binary(void **state)
{
	P4__Config__V1__P4Info *m = p4__config__v1__p4_info__unpack(NULL, info->wire_bytes, info->wire);
	struct p4info *again;

	(void)state;
	assert_non_null(m);
	assert_int_equal(m->n_tables, 2);
	assert_string_equal(m->pkg_info->arch, "v1model");
	assert_string_equal(m->tables[1]->match_fields[3]->name, "meta.wide");
	assert_int_equal(m->tables[1]->n_direct_resource_ids, 2);
	p4__config__v1__p4_info__free_unpacked(m, NULL);
	assert_int_equal(p4info_parse((const char *)info->wire, info->wire_bytes, "binary", &again, NULL), 0);
	assert_true(p4info_same(info, again));
	((struct p4info_field *)again->tables[1].keys)[3].bits = 201;
	assert_false(p4info_same(info, again));
	p4info_destroy(again);
}

static void test_info_bad(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", "x: holds no P4Info" },
		{ "tables {\n preamble { id: 1 name: \"t\" }\n", "x:3: ends within the message that line 1 opened" },
		{ "tables: 5", "x:1: tables: '{' was expected" },
		{ "tables { size: ten }", "x:1: size: 'ten' is not a whole number" },
		{ "tables { size: 99999999999999999999 }", "x:1: size: '99999999999999999999' is not a whole number" },
		{ "tables { match_fields { match_type: EXAKT } }", "x:1: match_type: unknown 'EXAKT'" },
		{ "tables { is_const_table: maybe }", "x:1: is_const_table: 'maybe' is neither true nor false" },
		{ "pkg_info { arch: \"v1 }\n\" }", "x:1: a string does not end on its line" },
		{ "pkg_info { arch: \"\\q\" }", "x:1: unknown escape '\\q' in a string" },
		{ "a: [1, 2", "x:1: a list does not end with ']'" },
		{ "tables }", "x:1: 'tables' needs ':' and a value, or '{'" },
		{ "}", "x:1: '}' where a field's name was expected" },
		{ "tables { preamble { id: 1 } }", "x: table without a name" },
		{ "tables { preamble { name: \"t\" } }", "x: table 't' has no id" },
		{ "tables { preamble { id: 1 name: \"t\" } action_refs { id: 9 } }",
		  "x: table 't' refers to action 9, which is not there" },
		{ "tables { preamble { id: 1 name: \"t\" } } tables { preamble { id: 1 name: \"u\" } }",
		  "x: 't' and 'u' have one id, 1" },
		{ "tables { preamble { id: 1 name: \"t\" } match_fields { id: 1 name: \"k\" bitwidth: -3 } }",
		  "x: 'k' of 't' is -3 bits wide; expected 0 to 65536" },
		{ "tables { preamble { id: 1 name: \"t\" } match_fields { id: 1 name: \"k\" } match_fields { id: 1 "
		  "name: \"l\" } }",
		  "x: 't' has two fields 'k' and 'l' with one id or name" },
		{ "\x0a\x05\x01", "x: not P4Info" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct p4info *got = NULL;
		struct err err = { 0 };

		assert_true(p4info_parse(cases[i].text, strlen(cases[i].text), "x", &got, &err) < 0);
		assert_string_equal(err.message, cases[i].message);
		assert_null(got);
	}
}

static void test_info_deep(void **state)
{
	char text[4096];
	struct p4info *got;
	struct err err;

	(void)state;
	memset(text, '{', sizeof(text));
	for (size_t i = 0; i + 1 < sizeof(text); i += 2)
		text[i] = 'a';
	assert_true(p4info_parse(text, sizeof(text), "x", &got, &err) < 0);
	assert_string_equal(err.message, "x:1: nested deeper than 32");
	assert_true(p4info_read("/nonexistent/file", &got, &err) < 0);
	assert_string_equal(err.message, "/nonexistent/file: No such file or directory");
}

/* --- the encoder beside protobuf-c --- */

struct made {
	struct p4rt_match match[8];
	struct p4rt_bytes params[8];
	uint8_t bytes[24][32];
	struct p4rt_entry entry;
};

/* A canonical value of at most `bits`, from short to full. */
static struct p4rt_bytes random_value(struct rng *r, uint32_t bits, uint8_t storage[32])
{
	size_t n = (bits + 7) / 8;

	for (size_t i = 0; i < n; i++)
		storage[i] = (uint8_t)rng_u64(r);
	if (bits % 8)
		storage[0] &= (uint8_t)((1 << bits % 8) - 1);
	for (size_t i = 0, zeros = rng_below(r, n + 1); i < zeros; i++)
		storage[i] = 0;
	return p4rt_canonical(storage, n);
}

static void random_entry(struct rng *r, struct made *m)
{
	struct p4rt_entry *e = &m->entry;
	size_t used = 0;

	memset(m, 0, sizeof(*m));
	e->table = &info->tables[rng_below(r, info->tables_count)];
	e->match = m->match;
	e->params = m->params;
	e->is_default = rng_below(r, 8) == 0;
	e->priority = e->table->needs_priority && !e->is_default ? (int32_t)rng_below(r, INT32_MAX) + 1 : 0;
	for (size_t i = 0; i < e->table->keys_count; i++) {
		const struct p4info_field *key = &e->table->keys[i];

		if (key->match >= P4INFO_LPM && rng_below(r, 4) == 0)
			continue;
		m->match[i].value = random_value(r, key->bits, m->bytes[used++]);
		if (key->match == P4INFO_TERNARY || key->match == P4INFO_RANGE)
			m->match[i].mask = random_value(r, key->bits, m->bytes[used++]);
		if (key->match == P4INFO_LPM)
			m->match[i].prefix_bits = 1 + (uint32_t)rng_below(r, key->bits);
	}
	if (rng_below(r, 6) == 0)
		return;
	e->action = e->table->actions[rng_below(r, e->table->actions_count)].action;
	for (size_t i = 0; i < e->action->params_count; i++)
		m->params[i] = random_value(r, e->action->params[i].bits, m->bytes[used++]);
}

static ProtobufCBinaryData bin(struct p4rt_bytes b)
{
	return (ProtobufCBinaryData){ b.length, (uint8_t *)b.data };
}

struct packed {
	P4__V1__FieldMatch match[8], *matches[8];
	P4__V1__FieldMatch__Exact exact[8];
	P4__V1__FieldMatch__LPM lpm[8];
	P4__V1__FieldMatch__Ternary ternary[8];
	P4__V1__FieldMatch__Range range[8];
	P4__V1__FieldMatch__Optional optional[8];
	P4__V1__Action__Param param[8], *params[8];
	P4__V1__Action action;
	P4__V1__TableAction table_action;
	P4__V1__TableEntry entry;
	P4__V1__Entity entity;
	P4__V1__Update update, *updates[1];
	P4__V1__WriteRequest request;
};

static void pack_match(struct packed *p, size_t n, const struct p4info_field *key, const struct p4rt_match *m)
{
	P4__V1__FieldMatch *f = &p->match[n];

	p4__v1__field_match__init(f);
	p->matches[n] = f;
	f->field_id = key->id;
	switch (key->match) {
	case P4INFO_EXACT:
		p4__v1__field_match__exact__init(f->exact = &p->exact[n]);
		f->exact->value = bin(m->value);
		f->field_match_type_case = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_EXACT;
		break;
	case P4INFO_LPM:
		p4__v1__field_match__lpm__init(f->lpm = &p->lpm[n]);
		f->lpm->value = bin(m->value);
		f->lpm->prefix_len = (int32_t)m->prefix_bits;
		f->field_match_type_case = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_LPM;
		break;
	case P4INFO_TERNARY:
		p4__v1__field_match__ternary__init(f->ternary = &p->ternary[n]);
		f->ternary->value = bin(m->value);
		f->ternary->mask = bin(m->mask);
		f->field_match_type_case = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_TERNARY;
		break;
	case P4INFO_RANGE:
		p4__v1__field_match__range__init(f->range = &p->range[n]);
		f->range->low = bin(m->value);
		f->range->high = bin(m->mask);
		f->field_match_type_case = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_RANGE;
		break;
	default:
		p4__v1__field_match__optional__init(f->optional = &p->optional[n]);
		f->optional->value = bin(m->value);
		f->field_match_type_case = P4__V1__FIELD_MATCH__FIELD_MATCH_TYPE_OPTIONAL;
	}
}

static void pack_action(struct packed *p, const struct p4rt_entry *e)
{
	p4__v1__action__init(&p->action);
	p4__v1__table_action__init(&p->table_action);
	p->action.action_id = e->action->is.id;
	for (size_t i = 0; i < e->action->params_count; i++) {
		p4__v1__action__param__init(&p->param[i]);
		p->param[i].param_id = e->action->params[i].id;
		p->param[i].value = bin(e->params[i]);
		p->params[i] = &p->param[i];
	}
	p->action.params = p->params;
	p->action.n_params = e->action->params_count;
	p->table_action.type_case = P4__V1__TABLE_ACTION__TYPE_ACTION;
	p->table_action.action = &p->action;
	p->entry.action = &p->table_action;
}

/* The entry as protobuf-c packs it into a WriteRequest of one update. */
static size_t pack(struct packed *p, enum p4rt_op op, const struct p4rt_entry *e, uint8_t *out)
{
	p4__v1__table_entry__init(&p->entry);
	p4__v1__entity__init(&p->entity);
	p4__v1__update__init(&p->update);
	p4__v1__write_request__init(&p->request);
	p->entry.table_id = e->table->is.id;
	p->entry.priority = e->priority;
	p->entry.is_default_action = e->is_default;
	p->entry.match = p->matches;
	for (size_t i = 0; !e->is_default && i < e->table->keys_count; i++)
		if (e->match[i].value.data)
			pack_match(p, p->entry.n_match++, &e->table->keys[i], &e->match[i]);
	if (e->action)
		pack_action(p, e);
	p->entity.entity_case = P4__V1__ENTITY__ENTITY_TABLE_ENTRY;
	p->entity.table_entry = &p->entry;
	p->update.type = (P4__V1__Update__Type)op;
	p->update.entity = &p->entity;
	p->updates[0] = &p->update;
	p->request.n_updates = 1;
	p->request.updates = p->updates;
	return p4__v1__write_request__pack(&p->request, out);
}

static void test_encoder(void **state)
{
	struct p4rt_updates u = { 0 };
	struct packed p;
	struct made m;
	struct rng r;

	(void)state;
	rng_init(&r, 11);
	for (int i = 0; i < 20000; i++) {
		enum p4rt_op op = (enum p4rt_op)(1 + rng_below(&r, 3));
		uint8_t expected[2048], alone[2048];
		size_t from = u.length_bytes, n, length;

		random_entry(&r, &m);
		n = pack(&p, op, &m.entry, expected);
		assert_int_equal(p4rt_updates_add(&u, op, &m.entry), 0);
		assert_int_equal(u.length_bytes - from, n);
		assert_memory_equal(u.bytes + from, expected, n);
		assert_int_equal(u.ends[i], u.length_bytes);
		length = p4rt_entry_encode(&m.entry, alone, sizeof(alone));
		assert_int_equal(length, p4__v1__table_entry__pack(&p.entry, expected));
		assert_memory_equal(alone, expected, length);
	}
	p4rt_updates_release(&u);
}

static void test_decoder(void **state)
{
	struct p4rt_entry_storage storage;
	struct p4rt_entry back;
	struct made m;
	struct err err;
	struct rng r;
	uint8_t wire[2048];

	(void)state;
	rng_init(&r, 12);
	for (int i = 0; i < 20000; i++) {
		size_t n;

		random_entry(&r, &m);
		n = p4rt_entry_encode(&m.entry, wire, sizeof(wire));
		assert_int_equal(p4rt_entry_decode(info, wire, n, &storage, &back, &err), 0);
		assert_true(p4rt_entry_equal(&m.entry, &back));
		assert_true(p4rt_entry_key_hash(&m.entry) == p4rt_entry_key_hash(&back));
		/* cut or changed bytes never do worse than an error; whatever it says, nothing is read beyond the end */
		wire[rng_below(&r, n)] ^= (uint8_t)(1 << rng_below(&r, 8));
		p4rt_entry_decode(info, wire, rng_below(&r, n + 1), &storage, &back, NULL);
	}
	assert_int_equal(p4rt_entry_decode(info, (const uint8_t *)"\x08\x05", 2, &storage, &back, &err), -EPROTO);
	assert_string_equal(err.message, "an entry of table 5, which its P4Info has not");
}

/* Registers, multicast groups and clone sessions, against protobuf-c's reading of them. */
static void test_other_updates(void **state)
{
	const struct p4info_object *reg = p4info_object(info, P4INFO_REGISTER, "id", NULL);
	static const uint32_t ports[] = { 0, 3, 511 };
	struct p4rt_updates u = { 0 };
	P4__V1__WriteRequest *request;
	const P4__V1__MulticastGroupEntry *group;
	const P4__V1__CloneSessionEntry *session;
	uint8_t storage[8];

	(void)state;
	p4rt_updates_add_register(&u, reg, 0, p4rt_number(7, storage));
	p4rt_updates_add_register(&u, reg, 300, p4rt_number(0, storage));
	p4rt_updates_add_multicast(&u, P4RT_INSERT, 5, ports, 3);
	p4rt_updates_add_clone(&u, P4RT_INSERT, 100, ports + 1, 2);
	request = p4__v1__write_request__unpack(NULL, u.length_bytes, u.bytes);
	assert_non_null(request);
	assert_int_equal(request->n_updates, 4);
	assert_int_equal(request->updates[0]->type, P4RT_MODIFY);
	assert_int_equal(request->updates[0]->entity->register_entry->register_id, reg->is.id);
	assert_non_null(request->updates[0]->entity->register_entry->index);
	assert_memory_equal(request->updates[0]->entity->register_entry->data.data, "\x0a\x01\x07", 3);
	assert_int_equal(request->updates[1]->entity->register_entry->index->index, 300);
	assert_memory_equal(request->updates[1]->entity->register_entry->data.data, "\x0a\x01\x00", 3);
	group = request->updates[2]->entity->packet_replication_engine_entry->multicast_group_entry;
	assert_int_equal(group->multicast_group_id, 5);
	assert_int_equal(group->n_replicas, 3);
	assert_int_equal(group->replicas[0]->port_kind_case, P4__V1__REPLICA__PORT_KIND_EGRESS_PORT);
	assert_int_equal(group->replicas[2]->egress_port, 511);
	assert_int_equal(group->replicas[2]->instance, 3);
	session = request->updates[3]->entity->packet_replication_engine_entry->clone_session_entry;
	assert_int_equal(session->session_id, 100);
	assert_int_equal(session->n_replicas, 2);
	assert_int_equal(session->replicas[1]->egress_port, 511);
	p4__v1__write_request__free_unpacked(request, NULL);
	p4rt_updates_release(&u);
}

static void test_numbers(void **state)
{
	uint8_t storage[8];
	struct p4rt_bytes b;

	(void)state;
	b = p4rt_number(0, storage);
	assert_int_equal(b.length, 1);
	assert_int_equal(b.data[0], 0);
	b = p4rt_number(0x100, storage);
	assert_int_equal(b.length, 2);
	assert_memory_equal(b.data, "\x01\x00", 2);
	b = p4rt_number(UINT64_MAX, storage);
	assert_int_equal(b.length, 8);
	for (unsigned i = 0; i < 64; i++)
		for (int d = -1; d <= 1; d++) {
			uint64_t v = (UINT64_C(1) << i) + (uint64_t)d;
			uint8_t bytes[10];

			assert_int_equal(wire_varint_bytes(v), wire_put_varint(bytes, v));
		}
}

/* --- entries as text --- */

static struct p4rt_entries *parse(const char *text)
{
	struct p4rt_entries *entries;
	struct err err;

	if (p4rt_entries_parse(info, text, strlen(text), "e", &entries, &err) < 0)
		fail_msg("%s", err.message);
	return entries;
}

static void test_text(void **state)
{
	struct p4rt_entries *e =
		parse("# a comment\n"
		      "\n"
		      "table=routes destination=10.1.0.0/16 vrf=511 action=hop mac=0:1:2:a:b:C port=0x1ff # end\n"
		      "table=Ingress.routes hdr.ipv4.destination=* vrf=0 action=Ingress.hop mac=1 port=1\r\n"
		      "op=delete table=routes destination=10.1.0.0/16 vrf=511\n"
		      "table=routes default action=drop\n"
		      "table=acl ipv4.source=10.0.0.0/8 ports.source=80..443 ipv6.destination=2001:db8::1 "
		      "wide=0xffffffffffffffffffffffffffffffffffffffffffffffffff action=allow priority=7\n"
		      "table=acl wide=340282366920938463463374607431768211456 ports.source=5 priority=1 action=allow\n"
		      "register=id index=3 value=255\n"
		      "multicast=2 ports=1,2,3\n"
		      "clone=7 ports=2");
	const struct p4rt_update *u = e->items;

	(void)state;
	assert_int_equal(e->count, 9);
	assert_int_equal(u[8].kind, P4RT_UPDATE_CLONE);
	assert_int_equal(u[8].group, 7);
	assert_int_equal(u[8].ports_count, 1);
	assert_int_equal(u[0].line, 3);
	assert_int_equal(u[0].op, P4RT_INSERT);
	assert_int_equal(u[0].entry.match[0].prefix_bits, 16);
	assert_memory_equal(u[0].entry.match[0].value.data, "\x0a\x01\x00\x00", 4);
	assert_memory_equal(u[0].entry.params[0].data, "\x01\x02\x0a\x0b\x0c", 5);
	assert_int_equal(u[0].entry.params[1].length, 2);
	assert_null(u[1].entry.match[0].value.data);
	assert_int_equal(u[2].op, P4RT_DELETE);
	assert_true(p4rt_entry_same_key(&u[0].entry, &u[2].entry));
	assert_false(p4rt_entry_same_key(&u[0].entry, &u[1].entry));
	assert_int_equal(u[3].op, P4RT_MODIFY);
	assert_true(u[3].entry.is_default);
	assert_memory_equal(u[4].entry.match[0].mask.data, "\xff\x00\x00\x00", 4);
	assert_int_equal(u[4].entry.match[1].mask.length, 2);
	assert_int_equal(u[4].entry.match[2].value.length, 16);
	assert_int_equal(u[4].entry.match[3].value.length, 25);
	assert_int_equal(u[4].entry.priority, 7);
	assert_int_equal(u[5].entry.match[3].value.length, 17);
	assert_int_equal(u[5].entry.match[3].value.data[0], 1);
	assert_int_equal(u[6].kind, P4RT_UPDATE_REGISTER);
	assert_int_equal(u[6].index, 3);
	assert_int_equal(u[7].ports_count, 3);
	p4rt_entries_destroy(e);
}

/* Whatever is written can be read back as the same entry. */
static void test_format(void **state)
{
	struct made m;
	struct rng r;
	int tried = 0;

	(void)state;
	rng_init(&r, 13);
	for (int i = 0; i < 5000; i++) {
		char text[1024];
		struct p4rt_entries *back;

		random_entry(&r, &m);
		if (p4rt_entry_check(&m.entry, m.entry.is_default ? P4RT_MODIFY : P4RT_INSERT, NULL) < 0)
			continue;
		tried++;
		assert_true(p4rt_entry_format(&m.entry, text, sizeof(text)) < sizeof(text));
		back = parse(text);
		assert_int_equal(back->count, 1);
		assert_true(p4rt_entry_equal(&back->items[0].entry, &m.entry));
		p4rt_entries_destroy(back);
	}
	assert_true(tried > 100);
}

static void test_text_bad(void **state)
{
	static const struct {
		const char *line, *message;
	} cases[] = {
		{ "tabel=routes", "e:2: expected table=, register=, multicast= or clone=, not 'tabel'" },
		{ "table", "e:2: 'table' needs a value: table=..." },
		{ "table=root", "e:2: unknown table 'root'; there is routes, acl" },
		{ "op=add table=routes", "e:2: op='add'; expected insert, modify or delete" },
		{ "table=routes dst=1", "e:2: unknown key 'dst' of routes; there is hdr.ipv4.destination, meta.vrf" },
		{ "table=acl source=1", "e:2: key 'source' of acl could be any of hdr.ipv4.source, hdr.ports.source" },
		{ "table=routes vrf=1 action=hop mac=1 port=1",
		  "e:2: table 'routes': key 'hdr.ipv4.destination': missing; '*' matches everything" },
		{ "table=routes destination=* action=hop mac=1 port=1",
		  "e:2: table 'routes': key 'meta.vrf': missing; an exact key must be given" },
		{ "table=routes destination=* vrf=* action=hop",
		  "e:2: key 'meta.vrf': '*', but an exact key needs one value" },
		{ "table=routes destination=* vrf=512 action=hop", "e:2: key 'meta.vrf': '512' does not fit 9 bits" },
		{ "table=routes destination=10.0.0.1/24 vrf=1 action=hop mac=1 port=1",
		  "e:2: table 'routes': key 'hdr.ipv4.destination': 0x0a000001 has bits set beyond its prefix of 24" },
		{ "table=routes destination=10.0.0.0/33 vrf=1 action=hop",
		  "e:2: key 'hdr.ipv4.destination': prefix length '33' is not a number of 0 to 32" },
		{ "table=routes destination=10.0.0.0/0 vrf=1 action=hop",
		  "e:2: key 'hdr.ipv4.destination': '10.0.0.0' has bits set beyond its prefix of 0" },
		{ "table=routes destination=ten vrf=1",
		  "e:2: key 'hdr.ipv4.destination': 'ten' is not a value; expected a decimal or 0x number, an IPv4, "
		  "IPv6 or MAC address" },
		{ "table=routes destination=* vrf=1 vrf=2", "e:2: key 'meta.vrf' is given twice" },
		{ "table=routes destination=* vrf=1", "e:2: table 'routes': needs action=" },
		{ "table=routes destination=* vrf=1 action=jump",
		  "e:2: unknown action 'jump' of routes; there is hop, drop" },
		{ "table=routes destination=* vrf=1 action=drop",
		  "e:2: table 'routes': action 'drop' may only be the default" },
		{ "table=routes destination=* vrf=1 action=hop mac=1", "e:2: action 'hop': parameter 'port': missing" },
		{ "table=routes destination=* vrf=1 action=hop mac=1 port=1 ttl=3",
		  "e:2: unknown parameter 'ttl' of hop; there is mac, port" },
		{ "table=routes destination=* vrf=1 action=hop mac=1 port=512",
		  "e:2: parameter 'port': '512' does not fit 9 bits" },
		{ "table=routes destination=* vrf=1 action=hop mac=1 port=1 priority=4",
		  "e:2: table 'routes': priority=4, but none of its keys needs one" },
		{ "table=routes default vrf=1 action=drop", "e:2: key 'vrf': a default action has no keys" },
		{ "table=routes vrf=1 default action=drop", "e:2: key 'meta.vrf': a default action has no keys" },
		{ "op=insert table=routes default action=drop",
		  "e:2: table 'routes': a default action can only be modified" },
		{ "table=acl wide=1 action=allow", "e:2: table 'acl': needs priority= above 0, the higher wins" },
		{ "table=acl wide=1 action=allow priority=0", "e:2: priority '0' is not a number of 1 to 2147483647" },
		{ "table=acl wide=1 ipv4.source=1&&&0x10 action=allow priority=1",
		  "e:2: table 'acl': key 'hdr.ipv4.source': 0x01 has bits set outside its mask 0x10" },
		{ "table=acl wide=1 ports.source=9..8 action=allow priority=1",
		  "e:2: table 'acl': key 'hdr.ports.source': a range from 0x09 down to 0x08" },
		{ "register=id index=4 value=1", "e:2: index '4' is not a number of 0 to 3" },
		{ "register=id index=0", "e:2: needs value=" },
		{ "register=id index=0 value=256", "e:2: '256' does not fit 8 bits" },
		{ "register=id index=0 value=2 table2=3", "e:2: 'table2' means nothing to a register" },
		{ "multicast=0 ports=1", "e:2: multicast '0' is not a number of 1 to 4294967295" },
		{ "multicast=1 ports=a", "e:2: port 'a' is not a number of 0 to 4294967295" },
		{ "multicast=1", "e:2: needs ports=, as in ports=1,2,3" },
		{ "clone=5", "e:2: needs ports=, as in ports=1,2,3" },
		{ "clone=0 ports=1", "e:2: clone '0' is not a number of 1 to 4294967295" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct p4rt_entries *entries = NULL;
		struct err err = { 0 };
		char text[512];
		int n = snprintf(text, sizeof(text), "# first\n%s\n", cases[i].line);

		if (p4rt_entries_parse(info, text, (size_t)n, "e", &entries, &err) == 0)
			fail_msg("taken: %s", cases[i].line);
		assert_string_equal(err.message, cases[i].message);
		assert_int_equal(err.kind, ERR_USAGE);
		assert_null(entries);
	}
}

/* --- reading back --- */

static void test_readback(void **state)
{
	struct p4rt_entries *want =
		parse("table=routes destination=10.0.0.0/8 vrf=1 action=hop mac=1 port=1\n"
		      "table=routes destination=11.0.0.0/8 vrf=1 action=hop mac=1 port=1\n"
		      "table=routes destination=12.0.0.0/8 vrf=1 action=hop mac=1 port=1\n"
		      "op=modify table=routes destination=11.0.0.0/8 vrf=1 action=hop mac=1 port=2\n"
		      "op=delete table=routes destination=12.0.0.0/8 vrf=1\n"
		      "table=routes destination=13.0.0.0/8 vrf=1 action=hop mac=1 port=1\n"
		      "table=routes default action=drop\n");
	struct p4rt_entries *have = parse("table=routes destination=10.0.0.0/8 vrf=1 action=hop mac=1 port=1\n"
					  "table=routes destination=11.0.0.0/8 vrf=1 action=hop mac=1 port=1\n"
					  "table=routes destination=12.0.0.0/8 vrf=1 action=hop mac=1 port=1\n"
					  "table=routes destination=10.0.0.0/9 vrf=1 action=hop mac=1 port=1\n"
					  "table=routes destination=10.0.0.0/8 vrf=1 action=hop mac=1 port=1\n");
	struct p4rt_readback *r;
	struct p4rt_difference d;

	(void)state;
	assert_int_equal(p4rt_readback_create(want, &r), 0);
	assert_true(p4rt_readback_concerns(r, &info->tables[0]));
	assert_false(p4rt_readback_concerns(r, &info->tables[1]));
	for (size_t i = 0; i < have->count; i++)
		p4rt_readback_take(r, &have->items[i].entry);
	p4rt_readback_result(r, &d);
	assert_int_equal(d.expected, 3);
	assert_int_equal(d.found, 5);
	assert_int_equal(d.missing, 1);   /* 13/8 */
	assert_int_equal(d.extra, 3);     /* 12/8 was deleted, 10/9 was never asked for, 10/8 comes twice */
	assert_int_equal(d.different, 1); /* 11/8 */
	p4rt_readback_destroy(r);
	p4rt_entries_destroy(want);
	p4rt_entries_destroy(have);
}

/* Our own programs' P4Info, as p4c wrote it. */
static void test_own_programs(void **state)
{
	static const char *const names[] = { "l2_forward", "l3_lpm", "l3_lpm_acl", "l3_lpm_int", "l3_lpm_int_chain" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct p4info *own;
		struct err err;
		char path[512];

		snprintf(path, sizeof(path), "%s/p4/v1model/%s.p4info.txtpb", SOURCE_ROOT, names[i]);
		if (p4info_read(path, &own, &err) < 0)
			fail_msg("%s", err.message);
		assert_string_equal(own->arch, "v1model");
		assert_true(own->tables_count > 0);
		p4info_destroy(own);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),         cmocka_unit_test(test_binary),   cmocka_unit_test(test_info_bad),
		cmocka_unit_test(test_info_deep),     cmocka_unit_test(test_encoder),  cmocka_unit_test(test_decoder),
		cmocka_unit_test(test_other_updates), cmocka_unit_test(test_numbers),  cmocka_unit_test(test_text),
		cmocka_unit_test(test_format),        cmocka_unit_test(test_text_bad), cmocka_unit_test(test_readback),
		cmocka_unit_test(test_own_programs),
	};

	return cmocka_run_group_tests_name("p4rt_entry", tests, group_setup, group_teardown);
}
