/* SPDX-License-Identifier: Apache-2.0 */
#include "control_bed.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/bytes.h"
#include "proto/p4data.pb-c.h"

/* --- requests in text: @Name@ stands for its id --- */

static char *with_ids(const struct bed *b, const char *text)
{
	char *out = calloc(1, 4 * strlen(text) + 1);
	size_t n = 0;

	for (; *text != '\0'; text++) {
		char name[64];
		const char *end;

		if (*text != '@') {
			out[n++] = *text;
			continue;
		}
		end = strchr(text + 1, '@');
		snprintf(name, sizeof(name), "%.*s", (int)(end - text - 1), text + 1);
		n += (size_t)sprintf(out + n, "%u", bed_id(b, name));
		text = end;
	}
	return out;
}

struct outcome {
	int status;
	char message[512];
	int codes[16];
	char messages[16][256];
	int count; /* of codes */
};

static struct outcome write_text(struct bed *b, const char *text)
{
	char *expanded = with_ids(b, text);
	struct text_proto t = { expanded };
	P4__V1__WriteRequest w = P4__V1__WRITE_REQUEST__INIT;
	P4__V1__Uint128 id = P4__V1__UINT128__INIT;
	struct outcome o = { 0 };
	struct answer a;

	id.low = 1;
	w.device_id = 1;
	w.election_id = &id;
	text_message(&t, &w.base);
	bed_call(b, "/p4.v1.P4Runtime/Write", &w.base, &a);
	o.status = a.status;
	snprintf(o.message, sizeof(o.message), "%s", a.message);
	if (a.details_bytes > 0) {
		P4__V1__Status *s = p4__v1__status__unpack(NULL, a.details_bytes, a.details);

		assert_non_null(s);
		assert_int_equal(s->code, GRPC_UNKNOWN);
		for (size_t i = 0; i < s->n_details; i++) {
			P4__V1__Error *e =
				p4__v1__error__unpack(NULL, s->details[i]->value.len, s->details[i]->value.data);

			assert_string_equal(s->details[i]->type_url, "type.googleapis.com/p4.v1.Error");
			o.codes[o.count] = e->canonical_code;
			snprintf(o.messages[o.count++], 256, "%s", e->message);
			p4__v1__error__free_unpacked(e, NULL);
		}
		p4__v1__status__free_unpacked(s, NULL);
	}
	free(expanded);
	answer_release(&a);
	return o;
}

/* One update: its code. */
static int update_text(struct bed *b, const char *type, const char *entity)
{
	char text[2048];
	struct outcome o;

	snprintf(text, sizeof(text), "updates { type: %s entity { %s } }", type, entity);
	o = write_text(b, text);
	if (o.status == 0)
		return 0;
	if (o.status != GRPC_UNKNOWN)
		fail_msg("%d: %s", o.status, o.message);
	assert_int_equal(o.count, 1);
	return o.codes[0];
}

#define ok(b, type, entity)            assert_int_equal(update_text(b, type, entity), 0)
#define refused(b, code, type, entity) assert_int_equal(update_text(b, type, entity), code)

struct found {
	P4__V1__ReadResponse *responses[64];
	int response_count, status, count;
	P4__V1__Entity *entities[4096];
};

static struct found *read_text(struct bed *b, const char *text)
{
	char *expanded = with_ids(b, text);
	struct text_proto t = { expanded };
	P4__V1__ReadRequest q = P4__V1__READ_REQUEST__INIT;
	struct found *f = calloc(1, sizeof(*f));
	struct answer a;

	q.device_id = 1;
	text_message(&t, &q.base);
	bed_call(b, "/p4.v1.P4Runtime/Read", &q.base, &a);
	f->status = a.status;
	for (int i = 0; i < a.count; i++) {
		P4__V1__ReadResponse *r = p4__v1__read_response__unpack(NULL, a.lengths[i], a.bytes[i]);

		assert_non_null(r);
		f->responses[f->response_count++] = r;
		for (size_t k = 0; k < r->n_entities && f->count < 4096; k++)
			f->entities[f->count++] = r->entities[k];
	}
	free(expanded);
	answer_release(&a);
	return f;
}

static void found_release(struct found *f)
{
	for (int i = 0; i < f->response_count; i++)
		p4__v1__read_response__free_unpacked(f->responses[i], NULL);
	free(f);
}

static int read_count(struct bed *b, const char *text)
{
	struct found *f = read_text(b, text);
	int n = f->status == 0 ? f->count : -f->status;

	found_release(f);
	return n;
}

/* What is read can be written back as it stands: the text of the entity that was inserted packs to the same bytes. */
static void reads_back(struct bed *b, const char *query, const char *entity)
{
	char *expanded = with_ids(b, entity);
	struct text_proto t = { expanded };
	P4__V1__Entity want;
	struct found *f = read_text(b, query);
	uint8_t a[2048], c[2048];
	size_t n;

	p4__v1__entity__init(&want);
	text_message(&t, &want.base);
	assert_int_equal(f->status, 0);
	assert_int_equal(f->count, 1);
	n = p4__v1__entity__pack(&want, a);
	assert_int_equal(p4__v1__entity__pack(f->entities[0], c), n);
	assert_memory_equal(a, c, n);
	found_release(f);
	free(expanded);
}

/* --- tests --- */

static void byte_strings(void **state)
{
	static const uint8_t nine[] = { 0, 0, 1, 0xff }, ten[] = { 2, 0 }, minus[] = { 0xff, 0xfd },
			     low[] = { 0xf7, 0xff };
	uint64_t w[3] = { 0 };
	uint8_t out[20];

	(void)state;
	assert_int_equal(bytes_to_words(nine, 4, 9, w), BYTES_OK);
	assert_int_equal(w[0], 0x1ff);
	assert_int_equal(bytes_to_words(ten, 2, 9, w), BYTES_TOO_WIDE);
	assert_int_equal(bytes_to_words(ten, 0, 9, w), BYTES_EMPTY);
	assert_int_equal(bytes_from_words(w, 9, out), 2);
	w[0] = 0;
	assert_int_equal(bytes_from_words(w, 128, out), 1);
	w[0] = 5, w[1] = 1;
	assert_int_equal(bytes_from_words(w, 128, out), 9);
	assert_int_equal(bytes_to_words(out, 9, 128, w), BYTES_OK);
	assert_int_equal(w[1], 1);
	assert_int_equal(bytes_to_signed_words(minus, 2, 12, w), BYTES_OK);
	assert_int_equal((int64_t)w[0], -3);
	assert_int_equal(bytes_from_signed_words(w, 12, out), 1);
	assert_int_equal(out[0], 0xfd);
	assert_int_equal(bytes_to_signed_words(low, 2, 12, w), BYTES_TOO_WIDE); /* -2049 */
	bits_put(out, 3, (uint64_t[]){ 0x155 }, 9);
	bits_get(out, 3, 9, w);
	assert_int_equal(w[0], 0x155);
}

static void capabilities_say_the_version(void **state)
{
	P4__V1__CapabilitiesRequest q = P4__V1__CAPABILITIES_REQUEST__INIT;
	P4__V1__CapabilitiesResponse *r;
	struct answer a;
	struct bed b;

	(void)state;
	bed_open(&b);
	bed_call(&b, "/p4.v1.P4Runtime/Capabilities", &q.base, &a);
	r = p4__v1__capabilities_response__unpack(NULL, a.lengths[0], a.bytes[0]);
	assert_string_equal(r->p4runtime_api_version, "1.4.0");
	p4__v1__capabilities_response__free_unpacked(r, NULL);
	answer_release(&a);
	bed_close(&b);
}

static void the_highest_election_id_is_primary(void **state)
{
	struct stream one, two, three;
	int64_t election;
	struct bed b;

	(void)state;
	bed_open(&b);
	bed_primary(&b, &one);
	stream_open(&b, &two);
	stream_arbitrate(&two, 1, NULL, 5);
	assert_int_equal(stream_advice(&b, &two, &election), 0);
	assert_int_equal(election, 5);
	assert_int_equal(stream_advice(&b, &one, &election), GRPC_ALREADY_EXISTS);
	assert_int_equal(election, 5);

	/* an election id that is lower, and one that is not set: backups, told how things stand */
	stream_open(&b, &three);
	stream_arbitrate(&three, 1, NULL, -1);
	assert_int_equal(stream_advice(&b, &three, &election), GRPC_ALREADY_EXISTS);
	assert_int_equal(election, 5);
	/* the primary steps down: there is none, and nobody follows by himself */
	stream_arbitrate(&two, 1, NULL, 2);
	assert_int_equal(stream_advice(&b, &two, NULL), GRPC_NOT_FOUND);
	assert_int_equal(stream_advice(&b, &one, NULL), GRPC_NOT_FOUND);
	assert_int_equal(stream_advice(&b, &three, NULL), GRPC_NOT_FOUND);
	/* lower than the highest ever: still no primary */
	stream_arbitrate(&one, 1, NULL, 4);
	assert_int_equal(stream_advice(&b, &one, NULL), GRPC_NOT_FOUND);
	stream_arbitrate(&one, 1, NULL, 6);
	assert_int_equal(stream_advice(&b, &one, NULL), 0);
	assert_int_equal(stream_advice(&b, &two, &election), GRPC_ALREADY_EXISTS);
	assert_int_equal(election, 6);
	assert_int_equal(stream_advice(&b, &three, NULL), GRPC_ALREADY_EXISTS);
	/* the primary goes: the others hear of it */
	stream_close(&b, &one);
	assert_int_equal(stream_advice(&b, &two, &election), GRPC_NOT_FOUND);
	assert_int_equal(election, 6);
	stream_close(&b, &two);
	stream_close(&b, &three);
	bed_close(&b);
}

static void bad_arbitration_ends_the_stream(void **state)
{
	static const struct {
		uint64_t device;
		const char *role;
		int64_t election;
		int status;
	} bad[] = {
		{ 2, NULL, 9, GRPC_NOT_FOUND }, { 1, NULL, 1, GRPC_INVALID_ARGUMENT }, /* the other has it */
	};
	struct stream one, two;
	struct bed b;

	(void)state;
	bed_open(&b);
	bed_primary(&b, &one);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		stream_open(&b, &two);
		stream_arbitrate(&two, bad[i].device, bad[i].role, bad[i].election);
		bed_turn_until(&b, &two.answer.closed, 1);
		assert_int_equal(two.answer.status, bad[i].status);
		stream_close(&b, &two);
	}
	/* another role has primaries of its own, but a stream keeps its role */
	stream_open(&b, &two);
	stream_arbitrate(&two, 1, "second", 1);
	assert_int_equal(stream_advice(&b, &two, NULL), 0);
	stream_arbitrate(&two, 1, NULL, 7);
	bed_turn_until(&b, &two.answer.closed, 1);
	assert_int_equal(two.answer.status, GRPC_FAILED_PRECONDITION);
	stream_close(&b, &two);
	stream_close(&b, &one);
	bed_close(&b);
}

static void only_the_primary_writes_and_only_to_a_pipeline(void **state)
{
	const char *entry = "updates { type: DELETE entity { table_entry { table_id: @In.routes@ } } }";
	struct stream one;
	struct bed b;

	(void)state;
	bed_open(&b);
	assert_int_equal(write_text(&b, entry).status, GRPC_PERMISSION_DENIED);
	bed_primary(&b, &one);
	assert_int_equal(write_text(&b, entry).status, GRPC_FAILED_PRECONDITION);
	assert_int_equal(read_count(&b, "entities { table_entry { } }"), -GRPC_FAILED_PRECONDITION);
	assert_int_equal(bed_set_pipeline(&b, P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_COMMIT,
					  1, NULL, 0),
			 0);
	assert_int_equal(b.commits, 1);
	assert_int_equal(write_text(&b, "device_id: 9").status, GRPC_NOT_FOUND);
	assert_int_equal(write_text(&b, "election_id { low: 2 }").status, GRPC_PERMISSION_DENIED);
	assert_int_equal(write_text(&b, "role: \"other\"").status, GRPC_NOT_FOUND);
	assert_int_equal(write_text(&b, "atomicity: DATAPLANE_ATOMIC").status, GRPC_UNIMPLEMENTED);
	assert_int_equal(write_text(&b, "").status, 0);
	stream_close(&b, &one);
	bed_turn_until(&b, &b.commits, 1);
	assert_int_equal(write_text(&b, "").status, GRPC_PERMISSION_DENIED);
	bed_close(&b);
}

static void pipelines_are_verified_saved_committed_and_told(void **state)
{
	P4__V1__GetForwardingPipelineConfigRequest q = P4__V1__GET_FORWARDING_PIPELINE_CONFIG_REQUEST__INIT;
	P4__V1__GetForwardingPipelineConfigResponse *r;
	struct stream one;
	struct answer a;
	struct bed b;
	char message[512];
	size_t whole;

	(void)state;
	bed_open(&b);
	bed_primary(&b, &one);
	q.device_id = 1;
	bed_call(&b, "/p4.v1.P4Runtime/GetForwardingPipelineConfig", &q.base, &a);
	assert_int_equal(a.status, 0);
	assert_int_equal(a.lengths[0], 0); /* there is none */
	answer_release(&a);
	assert_int_equal(
		bed_set_pipeline(&b, P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY, 1, NULL, 0), 0);
	assert_int_equal(
		bed_set_pipeline(&b, P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__COMMIT, 1, NULL, 0),
		GRPC_NOT_FOUND);
	assert_int_equal(bed_set_pipeline(&b, P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_SAVE,
					  3, NULL, 0),
			 0);
	assert_int_equal(b.commits, 0);
	/* writes go to what is saved */
	ok(&b, "INSERT",
	   "action_profile_member { action_profile_id: @In.paths@ member_id: 1 action { action_id: @In.forward@ "
	   "params { param_id: 1 value: \"\\x01\" } } }");
	assert_int_equal(
		bed_set_pipeline(&b, P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__COMMIT, 1, NULL, 0), 0);
	assert_int_equal(b.commits, 1);
	assert_int_equal(read_count(&b, "entities { action_profile_member { } }"), 1);
	for (int type = 0; type < 4; type++) {
		q.response_type = (P4__V1__GetForwardingPipelineConfigRequest__ResponseType)type;
		bed_call(&b, "/p4.v1.P4Runtime/GetForwardingPipelineConfig", &q.base, &a);
		r = p4__v1__get_forwarding_pipeline_config_response__unpack(NULL, a.lengths[0], a.bytes[0]);
		assert_int_equal(r->config->cookie->cookie, 3);
		assert_int_equal(r->config->p4info.len > 0, type == 0 || type == 2);
		assert_int_equal(r->config->p4_device_config.len > 0, type == 0 || type == 3);
		if (type == 0)
			assert_memory_equal(r->config->p4_device_config.data, b.json, b.json_bytes);
		p4__v1__get_forwarding_pipeline_config_response__free_unpacked(r, NULL);
		answer_release(&a);
	}
	/* reconciled: what there was stays, in the new one */
	assert_int_equal(bed_set_pipeline(&b,
					  P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__RECONCILE_AND_COMMIT,
					  4, message, sizeof(message)),
			 0);
	assert_int_equal(b.commits, 2);
	assert_int_equal(read_count(&b, "entities { action_profile_member { } }"), 1);
	/* committed: all gone */
	assert_int_equal(bed_set_pipeline(&b, P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_COMMIT,
					  4, NULL, 0),
			 0);
	assert_int_equal(read_count(&b, "entities { action_profile_member { } }"), 0);

	/* refused by the data plane: what ran before runs on */
	ok(&b, "INSERT",
	   "action_profile_member { action_profile_id: @In.paths@ member_id: 1 action { action_id: @In.forward@ params "
	   "{ param_id: 1 value: \"\\x01\" } } }");
	b.refuse_commits = true;
	assert_int_equal(bed_set_pipeline(&b, P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_COMMIT,
					  9, message, sizeof(message)),
			 GRPC_INVALID_ARGUMENT);
	assert_non_null(strstr(message, "does not want it"));
	b.refuse_commits = false;
	assert_int_equal(read_count(&b, "entities { action_profile_member { } }"), 1);

	/* what does not fit says so, and changes nothing */
	whole = b.json_bytes;
	b.json_bytes = 1000;
	assert_int_equal(bed_set_pipeline(&b, P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_COMMIT,
					  4, message, sizeof(message)),
			 GRPC_INVALID_ARGUMENT);
	b.json_bytes = whole;
	b.info.tables[1]->match_fields[0]->bitwidth = 32;
	free(b.p4info);
	b.p4info_bytes = p4__config__v1__p4_info__get_packed_size(&b.info);
	b.p4info = malloc(b.p4info_bytes);
	p4__config__v1__p4_info__pack(&b.info, b.p4info);
	assert_int_equal(bed_set_pipeline(&b, P4__V1__SET_FORWARDING_PIPELINE_CONFIG_REQUEST__ACTION__VERIFY_AND_COMMIT,
					  4, message, sizeof(message)),
			 GRPC_INVALID_ARGUMENT);
	assert_non_null(
		strstr(message, "'hdr.ipv6.destination' of table 'In.routes' is 32 bits wide, in the program 128"));
	assert_int_equal(b.commits, 3);
	stream_close(&b, &one);
	bed_close(&b);
}

#define HOST(mac, port)                                                                                                \
	"table_entry { table_id: @In.hosts@ match { field_id: 1 exact { value: \"" mac "\" } } "                       \
	"action { action { action_id: @In.counted@ params { param_id: 1 value: \"" port "\" } } } }"
#define HOST_KEY(mac) "table_entry { table_id: @In.hosts@ match { field_id: 1 exact { value: \"" mac "\" } } }"

static void exact_entries(void **state)
{
	struct stream one;
	struct bed b;
	char text[512];

	(void)state;
	bed_ready(&b, &one);
	ok(&b, "INSERT", HOST("\\x0a", "\\x01"));
	refused(&b, GRPC_ALREADY_EXISTS, "INSERT", HOST("\\x0a", "\\x02"));
	refused(&b, GRPC_ALREADY_EXISTS, "INSERT",
		HOST("\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x0a", "\\x02")); /* the same */
	ok(&b, "MODIFY", HOST("\\x0a", "\\x01\\xff"));
	reads_back(&b, "entities { " HOST_KEY("\\x0a") " }", HOST("\\x0a", "\\x01\\xff"));
	refused(&b, GRPC_NOT_FOUND, "MODIFY", HOST("\\x0b", "\\x02"));
	refused(&b, GRPC_NOT_FOUND, "DELETE", HOST_KEY("\\x0b"));
	refused(&b, GRPC_OUT_OF_RANGE, "INSERT", HOST("\\x01\\x00\\x00\\x00\\x00\\x00\\x0a", "\\x02"));
	refused(&b, GRPC_OUT_OF_RANGE, "INSERT", HOST("\\x0c", "\\x02\\x00"));
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", HOST("", "\\x02"));
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", HOST("\\x0c", ""));
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", "table_entry { table_id: @In.hosts@ }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", HOST_KEY("\\x0c")); /* no action */
	refused(&b, GRPC_NOT_FOUND, "INSERT", "table_entry { table_id: 5 }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", "table_entry { }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.hosts@ priority: 4 match { field_id: 1 exact { value: \"\\x01\" } } "
		"action { action { action_id: @In.drop@ } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.hosts@ match { field_id: 1 exact { value: \"\\x01\" } } "
		"action { action { action_id: @In.flood@ } } }");
	refused(&b, GRPC_PERMISSION_DENIED, "INSERT",
		"table_entry { table_id: @In.hosts@ match { field_id: 1 exact { value: \"\\x01\" } } "
		"action { action { action_id: @NoAction@ } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.hosts@ match { field_id: 1 exact { value: \"\\x01\" } } "
		"action { action_profile_member_id: 1 } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.hosts@ match { field_id: 1 lpm { value: \"\\x01\" prefix_len: 48 } } "
		"action { action { action_id: @In.drop@ } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "UNSPECIFIED", HOST_KEY("\\x0a"));
	for (int i = 1; i < 8; i++) {
		snprintf(text, sizeof(text), HOST("\\x%02x\\x00", "\\x02"), i);
		ok(&b, "INSERT", text);
	}
	refused(&b, GRPC_RESOURCE_EXHAUSTED, "INSERT", HOST("\\x99", "\\x02")); /* 8 are all */
	assert_int_equal(read_count(&b, "entities { table_entry { table_id: @In.hosts@ } }"), 8);
	assert_int_equal(read_count(&b, "entities { table_entry { } }"), 9); /* and the constant one */
	assert_int_equal(read_count(&b, "entities { table_entry { table_id: @In.hosts@ action { action { action_id: "
					"@In.drop@ } } } }"),
			 0);
	ok(&b, "DELETE", HOST_KEY("\\x0a"));
	assert_int_equal(read_count(&b, "entities { table_entry { table_id: @In.hosts@ } }"), 7);
	stream_close(&b, &one);
	bed_close(&b);
}

static void lpm_ternary_range_and_optional_entries(void **state)
{
	static const char route[] =
		"table_entry { table_id: @In.routes@ match { field_id: 1 lpm { value: \"\\xfe\\x80\\x00"
		"\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\" prefix_len: 10 } } "
		"action { action { action_id: @In.send@ params { param_id: 1 value: \"\\x01\" } "
		"params { param_id: 2 value: \"\\x02\\x00\" } } } }";
	static const char acl[] =
		"table_entry { table_id: @In.acl@ match { field_id: 1 ternary { value: \"\\x10\" mask: \"\\xf0\" } } "
		"match { field_id: 2 range { low: \"\\x08\" high: \"\\x08\\x06\" } } "
		"match { field_id: 3 optional { value: \"\\x01\" } } "
		"action { action { action_id: @In.drop@ } } priority: 10 controller_metadata: 77 metadata: \"me\" }";
	struct stream one;
	struct bed b;

	(void)state;
	bed_ready(&b, &one);
	ok(&b, "INSERT", route);
	reads_back(&b, "entities { table_entry { table_id: @In.routes@ } }", route);
	refused(&b, GRPC_INVALID_ARGUMENT, "DELETE",
		"table_entry { table_id: @In.routes@ match { field_id: 1 lpm { value: \"\\x01\" prefix_len: 10 } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "DELETE",
		"table_entry { table_id: @In.routes@ match { field_id: 1 lpm { value: \"\\x00\" prefix_len: 0 } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "DELETE",
		"table_entry { table_id: @In.routes@ match { field_id: 1 lpm { value: \"\\x00\" prefix_len: 129 } } }");
	ok(&b, "INSERT",
	   "table_entry { table_id: @In.routes@ action { action { action_id: @In.drop@ } } }"); /* the whole range */
	ok(&b, "INSERT", acl);
	reads_back(&b, "entities { table_entry { table_id: @In.acl@ } }", acl);
	reads_back(&b, "entities { table_entry { table_id: @In.acl@ priority: 10 controller_metadata: 77 } }", acl);
	assert_int_equal(read_count(&b, "entities { table_entry { table_id: @In.acl@ priority: 11 } }"), 0);
	assert_int_equal(read_count(&b, "entities { table_entry { table_id: @In.acl@ metadata: \"you\" } }"), 0);
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.acl@ action { action { action_id: @In.drop@ } } }"); /* no priority */
	ok(&b, "INSERT", "table_entry { table_id: @In.acl@ priority: 1 action { action { action_id: @In.drop@ } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.acl@ priority: 1 match { field_id: 1 ternary { value: \"\\x01\" mask: "
		"\"\\x02\" } } "
		"action { action { action_id: @In.drop@ } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.acl@ priority: 1 match { field_id: 1 ternary { value: \"\\x00\" mask: "
		"\"\\x00\" } } "
		"action { action { action_id: @In.drop@ } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.acl@ priority: 1 match { field_id: 2 range { low: \"\\x05\" high: "
		"\"\\x04\" } } "
		"action { action { action_id: @In.drop@ } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.acl@ priority: 1 match { field_id: 2 range { low: \"\\x00\" high: "
		"\"\\xff\\xff\" } } "
		"action { action { action_id: @In.drop@ } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.acl@ priority: 1 match { field_id: 9 optional { value: \"\\x05\" } } "
		"action { action { action_id: @In.drop@ } } }");
	stream_close(&b, &one);
	bed_close(&b);
}

static void defaults_and_constants(void **state)
{
	static const char now[] = "table_entry { table_id: @In.routes@ action { action { action_id: @In.forward@ "
				  "params { param_id: 1 value: \"\\x03\" } } } is_default_action: true }";
	static const char at_first[] = "table_entry { table_id: @In.routes@ action { action { action_id: @In.drop@ } } "
				       "is_default_action: true }";
	static const char query[] = "entities { table_entry { table_id: @In.routes@ is_default_action: true } }";
	struct stream one;
	struct bed b;

	(void)state;
	bed_ready(&b, &one);
	reads_back(&b, query, at_first);
	ok(&b, "MODIFY", now);
	reads_back(&b, query, now);
	ok(&b, "MODIFY", "table_entry { table_id: @In.routes@ is_default_action: true }");
	reads_back(&b, query, at_first);
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", now);
	refused(&b, GRPC_INVALID_ARGUMENT, "DELETE", now);
	refused(&b, GRPC_PERMISSION_DENIED, "MODIFY",
		"table_entry { table_id: @In.acl@ is_default_action: true action { action { action_id: @In.flood@ "
		"params { "
		"param_id: 1 value: \"\\x01\" } } } }");
	refused(&b, GRPC_PERMISSION_DENIED, "MODIFY",
		"table_entry { table_id: @In.fixed@ is_default_action: true action { action { action_id: @NoAction@ } "
		"} }");
	refused(&b, GRPC_PERMISSION_DENIED, "DELETE",
		"table_entry { table_id: @In.fixed@ match { field_id: 1 exact { value: \"\\x08\\x06\" } } }");
	refused(&b, GRPC_PERMISSION_DENIED, "MODIFY",
		"table_entry { table_id: @In.fixed@ match { field_id: 1 exact { value: \"\\x08\\x06\" } } action { "
		"action { "
		"action_id: @NoAction@ } } }");
	reads_back(&b, "entities { table_entry { table_id: @In.fixed@ } }",
		   "table_entry { table_id: @In.fixed@ match { field_id: 1 exact { value: \"\\x08\\x06\" } } action { "
		   "action "
		   "{ action_id: @In.learn@ } } is_const: true }");
	stream_close(&b, &one);
	bed_close(&b);
}

static void direct_counters_and_meters(void **state)
{
	static const char entry[] =
		"table_entry { table_id: @In.acl@ priority: 1 action { action { action_id: @In.metered@ "
		"params { param_id: 1 value: \"\\x01\" } } } ";
	char text[512];
	struct stream one;
	struct bed b;

	(void)state;
	bed_ready(&b, &one);
	ok(&b, "INSERT", HOST("\\x0a", "\\x01"));
	ok(&b, "MODIFY", "direct_counter_entry { " HOST_KEY("\\x0a") " data { byte_count: 100 packet_count: 2 } }");
	reads_back(&b, "entities { direct_counter_entry { " HOST_KEY("\\x0a") " } }",
		   "direct_counter_entry { " HOST("\\x0a", "\\x01") " data { byte_count: 100 packet_count: 2 } }");
	reads_back(
		&b, "entities { table_entry { table_id: @In.hosts@ counter_data { } } }",
		"table_entry { table_id: @In.hosts@ match { field_id: 1 exact { value: \"\\x0a\" } } action { action { "
		"action_id: @In.counted@ params { param_id: 1 value: \"\\x01\" } } } counter_data { byte_count: 100 "
		"packet_count: 2 } }");
	ok(&b, "MODIFY", HOST("\\x0a", "\\x02")); /* keeps its counts */
	assert_int_equal(read_count(&b, "entities { direct_counter_entry { } }"), 1);
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", "direct_counter_entry { " HOST_KEY("\\x0a") " }");
	refused(&b, GRPC_NOT_FOUND, "MODIFY", "direct_counter_entry { " HOST_KEY("\\x0b") " data { } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "MODIFY", "direct_counter_entry { }");
	refused(&b, GRPC_INVALID_ARGUMENT, "MODIFY", "direct_meter_entry { " HOST_KEY("\\x0a") " }"); /* it has none */

	snprintf(text, sizeof(text), "%s meter_config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }", entry);
	ok(&b, "INSERT", text);
	reads_back(&b, "entities { table_entry { table_id: @In.acl@ meter_config { } } }", text);
	ok(&b, "MODIFY",
	   "direct_meter_entry { table_entry { table_id: @In.acl@ priority: 1 } config { cir: 5 cburst: 6 pir: 7 "
	   "pburst: 8 } }");
	snprintf(text, sizeof(text), "%s }", entry);
	ok(&b, "MODIFY", text); /* without a config: back to green */
	reads_back(&b, "entities { table_entry { table_id: @In.acl@ meter_config { } } }", text);
	snprintf(text, sizeof(text), "%s meter_config { cir: 9 pir: 3 } }", entry);
	refused(&b, GRPC_INVALID_ARGUMENT, "MODIFY", text);
	snprintf(text, sizeof(text), "%s counter_data { } }", entry);
	refused(&b, GRPC_INVALID_ARGUMENT, "MODIFY", text);
	stream_close(&b, &one);
	bed_close(&b);
}

#define MEMBER(id, port)                                                                                               \
	"action_profile_member { action_profile_id: @In.paths@ member_id: " id " action { action_id: @In.forward@ "    \
	"params { param_id: 1 value: \"" port "\" } } }"
#define GROUP(members) "action_profile_group { action_profile_id: @In.paths@ group_id: 1 " members "}"

static void members_groups_and_action_sets(void **state)
{
	static const char by_set[] =
		"table_entry { table_id: @In.balance@ match { field_id: 1 exact { value: \"\\x08\" } } action { "
		"action_profile_action_set { "
		"action_profile_actions { action { action_id: @In.forward@ params { param_id: 1 value: \"\\x01\" } } "
		"weight: 2 "
		"watch_port: \"\\x07\" } "
		"action_profile_actions { action { action_id: @In.forward@ params { param_id: 1 value: \"\\x02\" } } "
		"weight: 1 } "
		"} } }";
	static const char by_group[] =
		"table_entry { table_id: @In.balance@ match { field_id: 1 exact { value: \"\\x09\" } } "
		"action { action_profile_group_id: 1 } }";
	struct stream one;
	struct bed b;

	(void)state;
	bed_ready(&b, &one);
	ok(&b, "INSERT", by_set);
	reads_back(&b, "entities { table_entry { table_id: @In.balance@ } }", by_set);
	ok(&b, "DELETE", "table_entry { table_id: @In.balance@ match { field_id: 1 exact { value: \"\\x08\" } } }");
	ok(&b, "INSERT", MEMBER("1", "\\x01"));
	refused(&b, GRPC_ALREADY_EXISTS, "INSERT", MEMBER("1", "\\x01"));
	ok(&b, "MODIFY", MEMBER("1", "\\x05"));
	reads_back(&b, "entities { action_profile_member { action_profile_id: @In.paths@ member_id: 1 } }",
		   MEMBER("1", "\\x05"));
	refused(&b, GRPC_NOT_FOUND, "MODIFY", MEMBER("2", "\\x01"));
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", MEMBER("0", "\\x01"));
	refused(&b, GRPC_NOT_FOUND, "INSERT", by_group);
	refused(&b, GRPC_NOT_FOUND, "INSERT", GROUP("members { member_id: 2 weight: 1 } "));
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", GROUP("members { member_id: 1 weight: 0 } "));
	ok(&b, "INSERT", GROUP("members { member_id: 1 weight: 3 } "));
	reads_back(&b, "entities { action_profile_group { action_profile_id: @In.paths@ } }",
		   GROUP("members { member_id: 1 weight: 3 } "));
	ok(&b, "INSERT", by_group);
	refused(&b, GRPC_FAILED_PRECONDITION, "DELETE", MEMBER("1", "\\x01"));
	refused(&b, GRPC_FAILED_PRECONDITION, "DELETE", GROUP(""));
	ok(&b, "DELETE", "table_entry { table_id: @In.balance@ match { field_id: 1 exact { value: \"\\x09\" } } }");
	ok(&b, "DELETE", GROUP(""));
	ok(&b, "DELETE", MEMBER("1", "\\x01"));
	assert_int_equal(read_count(&b, "entities { action_profile_member { } } entities { action_profile_group { } }"),
			 0);
	stream_close(&b, &one);
	bed_close(&b);
}

static void counters_meters_and_registers(void **state)
{
	/* data of a register is a P4Data: a bit string of two bytes */
	static const char last[] =
		"register_entry { register_id: @In.last@ index { index: 3 } data: \"\\x0a\\x02\\x12\\x34\" }";
	static const char small[] =
		"register_entry { register_id: @In.small@ index { index: 0 } data: \"\\x0a\\x01\\xfd\" }";
	struct stream one;
	struct bed b;

	(void)state;
	bed_ready(&b, &one);
	ok(&b, "MODIFY",
	   "counter_entry { counter_id: @In.ports@ index { index: 2 } data { byte_count: 7 packet_count: 1 } }");
	reads_back(
		&b, "entities { counter_entry { counter_id: @In.ports@ index { index: 2 } } }",
		"counter_entry { counter_id: @In.ports@ index { index: 2 } data { byte_count: 7 packet_count: 1 } }");
	ok(&b, "MODIFY", "counter_entry { counter_id: @In.ports@ data { byte_count: 9 } }"); /* all */
	assert_int_equal(read_count(&b, "entities { counter_entry { } }"), 16);
	refused(&b, GRPC_OUT_OF_RANGE, "MODIFY",
		"counter_entry { counter_id: @In.ports@ index { index: 16 } data { } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "MODIFY",
		"counter_entry { counter_id: @In.ports@ index { index: -1 } data { } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", "counter_entry { counter_id: @In.ports@ index { index: 1 } }");
	refused(&b, GRPC_NOT_FOUND, "MODIFY", "counter_entry { counter_id: 3 index { index: 1 } }");
	ok(&b, "MODIFY",
	   "meter_entry { meter_id: @In.rates@ index { index: 1 } config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }");
	reads_back(
		&b, "entities { meter_entry { meter_id: @In.rates@ index { index: 1 } } }",
		"meter_entry { meter_id: @In.rates@ index { index: 1 } config { cir: 1 cburst: 2 pir: 3 pburst: 4 } }");
	ok(&b, "MODIFY", "meter_entry { meter_id: @In.rates@ index { index: 1 } }");
	reads_back(&b, "entities { meter_entry { meter_id: @In.rates@ index { index: 1 } } }",
		   "meter_entry { meter_id: @In.rates@ index { index: 1 } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "MODIFY",
		"meter_entry { meter_id: @In.rates@ index { index: 1 } config { cir: -1 } }");
	ok(&b, "MODIFY", last);
	reads_back(&b, "entities { register_entry { register_id: @In.last@ index { index: 3 } } }", last);
	ok(&b, "MODIFY", small);
	reads_back(&b, "entities { register_entry { register_id: @In.small@ index { index: 0 } } }", small);
	refused(&b, GRPC_OUT_OF_RANGE, "MODIFY",
		"register_entry { register_id: @In.small@ index { index: 0 } data: \"\\x0a\\x02\\x0f\\xff\" }");
	refused(&b, GRPC_INVALID_ARGUMENT, "MODIFY", "register_entry { register_id: @In.small@ data: \"\\x0a\\x00\" }");
	refused(&b, GRPC_INVALID_ARGUMENT, "MODIFY", "register_entry { register_id: @In.small@ data: \"junk\" }");
	assert_int_equal(read_count(&b, "entities { register_entry { } }"), 20);
	stream_close(&b, &one);
	bed_close(&b);
}

static void groups_sessions_sets_and_digests(void **state)
{
	static const char group[] = "packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 4 "
				    "replicas { egress_port: 1 } "
				    "replicas { egress_port: 1 instance: 2 } } }";
	static const char session[] = "packet_replication_engine_entry { clone_session_entry { session_id: 9 replicas "
				      "{ egress_port: 510 instance: 1 } "
				      "class_of_service: 2 packet_length_bytes: 64 } }";
	static const char set[] =
		"value_set_entry { value_set_id: @Parse.types@ members { match { field_id: 1 exact { value: "
		"\"\\x08\\x00\" } } } members { match { field_id: 1 exact { value: \"\\x05\" } } } }";
	struct stream one;
	struct bed b;

	(void)state;
	bed_ready(&b, &one);
	ok(&b, "INSERT", group);
	refused(&b, GRPC_ALREADY_EXISTS, "INSERT", group);
	reads_back(&b, "entities { packet_replication_engine_entry { multicast_group_entry { } } }", group);
	ok(&b, "INSERT", session);
	reads_back(&b, "entities { packet_replication_engine_entry { clone_session_entry { session_id: 9 } } }",
		   session);
	assert_int_equal(read_count(&b, "entities { packet_replication_engine_entry { } }"), 2);
	ok(&b, "MODIFY", session);
	ok(&b, "DELETE", session);
	refused(&b, GRPC_NOT_FOUND, "DELETE", session);
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"packet_replication_engine_entry { multicast_group_entry { replicas { egress_port: 1 } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 8 replicas { "
		"egress_port: 1 } "
		"replicas { port: \"\\x01\" } } }");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", "packet_replication_engine_entry { }");
	ok(&b, "MODIFY", set);
	reads_back(&b, "entities { value_set_entry { } }", set);
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", set);
	refused(&b, GRPC_ALREADY_EXISTS, "MODIFY",
		"value_set_entry { value_set_id: @Parse.types@ members { match { field_id: 1 exact { value: \"\\x05\" "
		"} } } "
		"members { match { field_id: 1 exact { value: \"\\x05\" } } } }");
	refused(&b, GRPC_RESOURCE_EXHAUSTED, "MODIFY",
		"value_set_entry { value_set_id: @Parse.types@ members { } members { } members { } members { } members "
		"{ } }");
	ok(&b, "INSERT", "digest_entry { digest_id: @seen_t@ config { max_list_size: 1 } }");
	refused(&b, GRPC_ALREADY_EXISTS, "INSERT", "digest_entry { digest_id: @seen_t@ }");
	reads_back(&b, "entities { digest_entry { } }",
		   "digest_entry { digest_id: @seen_t@ config { max_list_size: 1 } }");
	refused(&b, GRPC_UNIMPLEMENTED, "INSERT", "extern_entry: \"\\x08\\x01\"");
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT", "");
	stream_close(&b, &one);
	bed_close(&b);
}

/* Of a batch that rolls back nothing is left; of one that goes on, all that could be done. */
static void batches_go_on_or_roll_back(void **state)
{
	static const char updates[] = "updates { type: INSERT entity { " HOST(
		"\\x01",
		"\\x01") " } } "
			 "updates { type: MODIFY entity { " HOST(
				 "\\x0a",
				 "\\x07") " } } "
					  "updates { type: DELETE entity { " HOST_KEY(
						  "\\x0b") " } } "
							   "updates { type: INSERT entity { " MEMBER(
								   "7",
								   "\\x01") " } } "
									    "updates { type: MODIFY entity { " MEMBER(
										    "1",
										    "\\x09") " } } "
											     "updates { type: MODIFY "
											     "entity { " GROUP(
												     "") " } } "
													 "updates { "
													 "type: MODIFY "
													 "entity { "
													 "table_entry "
													 "{ table_id: "
													 "@In.routes@ "
													 "is_default_"
													 "action: true "
													 "action { "
													 "action "
													 "{ action_id: "
													 "@In.forward@ "
													 "params { "
													 "param_id: 1 "
													 "value: "
													 "\"\\x03\" } "
													 "} } } } } "
													 "updates { "
													 "type: MODIFY "
													 "entity { "
													 "counter_"
													 "entry { "
													 "counter_id: "
													 "@In.ports@ "
													 "data { "
													 "byte_count: "
													 "9 } } } } "
													 "updates { "
													 "type: MODIFY "
													 "entity { "
													 "meter_entry "
													 "{ meter_id: "
													 "@In.rates@ "
													 "config { "
													 "cir: 1 pir: "
													 "1 } } } } "
													 "updates { "
													 "type: MODIFY "
													 "entity { "
													 "register_"
													 "entry { "
													 "register_id: "
													 "@In.last@ "
													 "data: "
													 "\"\\x0a\\x01"
													 "\\x01\" } } "
													 "} "
													 "updates { "
													 "type: INSERT "
													 "entity { "
													 "packet_"
													 "replication_"
													 "engine_entry "
													 "{ "
													 "multicast_"
													 "group_entry "
													 "{ "
													 "multicast_"
													 "group_id: 4 "
													 "replicas { "
													 "egress_port: "
													 "1 } } } } } "
													 "updates { "
													 "type: DELETE "
													 "entity { "
													 "packet_"
													 "replication_"
													 "engine_entry "
													 "{ "
													 "clone_"
													 "session_"
													 "entry { "
													 "session_id: "
													 "9 } } } } "
													 "updates { "
													 "type: DELETE "
													 "entity "
													 "{ " HOST_KEY(
														 "\\x7"
														 "7") " } } " /* fails */
														      "updates { type: INSERT entity { " HOST(
															      "\\x02",
															      "\\x01") " } } ";
	static const char all[] =
		"entities { table_entry { counter_data { } meter_config { } } } entities { table_entry { "
		"is_default_action: true } } entities { action_profile_member { } } entities { "
		"action_profile_group { } } entities { counter_entry { } } entities { meter_entry { } } "
		"entities { register_entry { } } entities { packet_replication_engine_entry { } }";
	char text[8192];
	struct found *before, *after;
	struct outcome o;
	struct stream one;
	struct bed b;

	(void)state;
	bed_ready(&b, &one);
	ok(&b, "INSERT", HOST("\\x0a", "\\x01"));
	ok(&b, "MODIFY", "direct_counter_entry { " HOST_KEY("\\x0a") " data { byte_count: 100 packet_count: 2 } }");
	ok(&b, "INSERT", HOST("\\x0b", "\\x01"));
	ok(&b, "MODIFY", "direct_counter_entry { " HOST_KEY("\\x0b") " data { byte_count: 50 packet_count: 1 } }");
	ok(&b, "INSERT", MEMBER("1", "\\x01"));
	ok(&b, "INSERT", GROUP("members { member_id: 1 weight: 3 } "));
	ok(&b, "INSERT",
	   "packet_replication_engine_entry { clone_session_entry { session_id: 9 replicas { egress_port: 5 } } }");
	before = read_text(&b, all);
	assert_int_equal(before->status, 0);
	snprintf(text, sizeof(text), "atomicity: ROLLBACK_ON_ERROR %s", updates);
	o = write_text(&b, text);
	assert_int_equal(o.status, GRPC_UNKNOWN);
	assert_int_equal(o.count, 14);
	for (int i = 0; i < 14; i++)
		assert_int_equal(o.codes[i], i == 12 ? GRPC_NOT_FOUND : GRPC_ABORTED);
	after = read_text(&b, all);
	assert_int_equal(before->count, after->count);
	for (int i = 0; i < before->count; i++) {
		uint8_t x[2048], y[2048];
		size_t n = p4__v1__entity__pack(before->entities[i], x);
		bool same = false;

		for (int k = 0; k < after->count && !same; k++)
			same = p4__v1__entity__pack(after->entities[k], y) == n && memcmp(x, y, n) == 0;
		assert_true(same);
	}
	found_release(before);
	found_release(after);

	o = write_text(&b, updates);
	assert_int_equal(o.status, GRPC_UNKNOWN);
	assert_int_equal(o.count, 14);
	for (int i = 0; i < 14; i++)
		assert_int_equal(o.codes[i], i == 12 ? GRPC_NOT_FOUND : 0);
	assert_int_equal(read_count(&b, "entities { table_entry { table_id: @In.hosts@ } }"), 3);
	stream_close(&b, &one);
	bed_close(&b);
}

static void packets_and_digests_go_through_the_stream(void **state)
{
	P4__V1__StreamMessageRequest m;
	P4__V1__StreamMessageResponse *r;
	struct stream one, two;
	struct bed b;
	char *text;
	struct text_proto t;
	uint64_t *memory;
	const struct program *program;

	(void)state;
	bed_ready(&b, &one);
	p4__v1__stream_message_request__init(&m);
	t.at = text = with_ids(&b, "packet { payload: \"abc\" metadata { metadata_id: 2 value: \"\\x00\" } metadata { "
				   "metadata_id: 1 value: \"\\x01\\x05\" } }");
	text_message(&t, &m.base);
	stream_send(&one, &m);
	/* 9 bits of port 0x105, 7 of padding, then the payload */
	while (b.frame_bytes == 0)
		assert_int_equal(loop_turn(b.loop, 10000000), 0);
	assert_int_equal(b.frame_bytes, 5);
	assert_memory_equal(b.frame,
			    "\x82\x80"
			    "abc",
			    5);
	b.refuse_packets = true;
	stream_send(&one, &m);
	r = stream_next(&b, &one);
	assert_int_equal(r->update_case, P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_ERROR);
	assert_int_equal(r->error->canonical_code, GRPC_RESOURCE_EXHAUSTED);
	assert_int_equal(r->error->details_case, P4__V1__STREAM_ERROR__DETAILS_PACKET_OUT);
	p4__v1__stream_message_response__free_unpacked(r, NULL);
	m.packet->n_metadata = 1;
	stream_send(&one, &m);
	r = stream_next(&b, &one);
	assert_int_equal(r->error->canonical_code, GRPC_INVALID_ARGUMENT);
	p4__v1__stream_message_response__free_unpacked(r, NULL);
	/* a backup may not */
	stream_open(&b, &two);
	stream_arbitrate(&two, 1, NULL, 0);
	assert_int_equal(stream_advice(&b, &two, NULL), GRPC_ALREADY_EXISTS);
	stream_send(&two, &m);
	r = stream_next(&b, &two);
	assert_int_equal(r->error->canonical_code, GRPC_PERMISSION_DENIED);
	p4__v1__stream_message_response__free_unpacked(r, NULL);

	assert_true(control_packet_in(b.control, (const uint8_t *)"\x82\x80xyz", 5));
	r = stream_next(&b, &one);
	assert_int_equal(r->update_case, P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_PACKET);
	assert_int_equal(r->packet->payload.len, 3);
	assert_int_equal(r->packet->n_metadata, 2);
	assert_int_equal(r->packet->metadata[0]->value.len, 2);
	assert_int_equal(r->packet->metadata[0]->value.data[1], 5);
	assert_int_equal(r->packet->metadata[1]->value.len, 1);
	p4__v1__stream_message_response__free_unpacked(r, NULL);
	assert_false(control_packet_in(b.control, (const uint8_t *)"x", 1));

	program = control_program(b.control);
	memory = calloc(program->memory_slots, sizeof(*memory));
	memory[program->learn_lists[0].items[0].slot] = 0xabcdef;
	assert_false(control_digest(b.control, 0, memory)); /* nobody has asked */
	ok(&b, "INSERT", "digest_entry { digest_id: @seen_t@ config { } }");
	assert_true(control_digest(b.control, 0, memory));
	r = stream_next(&b, &one);
	assert_int_equal(r->update_case, P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_DIGEST);
	assert_int_equal(r->digest->digest_id, bed_id(&b, "seen_t"));
	assert_int_equal(r->digest->n_data, 1);
	/* structure { bitstring 0xabcdef, bitstring 0 } */
	assert_memory_equal(r->digest->data[0].data, "\x2a\x0c\x0a\x05\x0a\x03\xab\xcd\xef\x0a\x03\x0a\x01\x00", 14);
	p4__v1__stream_message_response__free_unpacked(r, NULL);
	free(memory);
	free(text);
	stream_close(&b, &two);
	stream_close(&b, &one);
	bed_close(&b);
}

static void idle_entries_are_told(void **state)
{
	static const char route[] = "table_entry { table_id: @In.routes@ action { action { action_id: @In.drop@ } } "
				    "idle_timeout_ns: 1000000000 }";
	P4__V1__StreamMessageResponse *r;
	struct stream one;
	struct found *f;
	struct bed b;

	(void)state;
	bed_ready(&b, &one);
	ok(&b, "INSERT", route);
	reads_back(&b, "entities { table_entry { table_id: @In.routes@ } }", route);
	refused(&b, GRPC_INVALID_ARGUMENT, "INSERT",
		"table_entry { table_id: @In.acl@ priority: 1 action { action { action_id: @In.drop@ } } "
		"idle_timeout_ns: 1 }");
	b.now_us += 900000;
	f = read_text(&b, "entities { table_entry { table_id: @In.routes@ time_since_last_hit { } } }");
	assert_int_equal(f->entities[0]->table_entry->time_since_last_hit->elapsed_ns, 900000000);
	found_release(f);
	b.now_us += 100000;
	r = stream_next(&b, &one);
	assert_int_equal(r->update_case, P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_IDLE_TIMEOUT_NOTIFICATION);
	assert_int_equal(r->idle_timeout_notification->n_table_entry, 1);
	assert_int_equal(r->idle_timeout_notification->table_entry[0]->table_id, bed_id(&b, "In.routes"));
	assert_int_equal(r->idle_timeout_notification->table_entry[0]->idle_timeout_ns, 1000000000);
	p4__v1__stream_message_response__free_unpacked(r, NULL);
	/* and again only after as long once more */
	b.now_us += 1000000;
	r = stream_next(&b, &one);
	assert_int_equal(r->update_case, P4__V1__STREAM_MESSAGE_RESPONSE__UPDATE_IDLE_TIMEOUT_NOTIFICATION);
	p4__v1__stream_message_response__free_unpacked(r, NULL);
	assert_int_equal(one.answer.count, one.read);
	stream_close(&b, &one);
	bed_close(&b);
}

/* More than one ReadResponse, and every entry once. */
static void long_tables_are_read_in_parts(void **state)
{
	P4__V1__WriteRequest w = P4__V1__WRITE_REQUEST__INIT;
	struct stream one;
	struct found *f;
	struct bed b;
	char text[512];

	(void)state;
	(void)w;
	bed_ready(&b, &one);
	for (int i = 0; i < 1000; i++) {
		char metadata[400];

		memset(metadata, 'x', sizeof(metadata));
		metadata[sizeof(metadata) - 1] = '\0';
		char *entry = malloc(1000);

		snprintf(entry, 1000,
			 "table_entry { table_id: @In.routes@ match { field_id: 1 lpm { value: "
			 "\"\\x%02x\\x%02x\\x00\\x00\\x00\\x00"
			 "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\" prefix_len: 16 } } action { action { "
			 "action_id: "
			 "@In.drop@ } } metadata: \"%s\" }",
			 1 + i / 250, i % 250, metadata);
		assert_int_equal(update_text(&b, "INSERT", entry), 0);
		free(entry);
	}
	f = read_text(&b, "entities { table_entry { table_id: @In.routes@ } }");
	assert_int_equal(f->count, 1000);
	assert_true(f->response_count >= 2);
	found_release(f);
	snprintf(text, sizeof(text),
		 "entities { table_entry { table_id: 77 } } entities { table_entry { table_id: @In.acl@ } }");
	assert_int_equal(read_count(&b, text), -GRPC_UNKNOWN);
	stream_close(&b, &one);
	bed_close(&b);
}

/* --- bad input --- */

/* A good request cut at every byte, and each byte changed: an answer each time, and the server lives. */
static void cut_and_changed_requests_are_answered(void **state)
{
	static const char *const paths[] = { "/p4.v1.P4Runtime/Write", "/p4.v1.P4Runtime/Read" };
	char *text;
	struct text_proto t;
	P4__V1__WriteRequest w = P4__V1__WRITE_REQUEST__INIT;
	P4__V1__Uint128 id = P4__V1__UINT128__INIT;
	struct stream one;
	struct answer a;
	struct bed b;
	uint8_t bytes[512], changed[512];
	size_t n;

	(void)state;
	bed_ready(&b, &one);
	t.at = text = with_ids(
		&b, "updates { type: INSERT entity { " HOST("\\x01", "\\x01") " } } updates { type: INSERT entity "
									      "{ " MEMBER("7", "\\x01") " } }");
	id.low = 1;
	w.device_id = 1;
	w.election_id = &id;
	text_message(&t, &w.base);
	n = p4__v1__write_request__pack(&w, bytes);
	for (size_t i = 0; i < n; i++) {
		for (size_t p = 0; p < 2; p++) {
			bed_call_bytes(&b, paths[p], bytes, i, &a);
			answer_release(&a);
			memcpy(changed, bytes, n);
			changed[i] ^= (uint8_t)(1 + i * 37);
			bed_call_bytes(&b, paths[p], changed, n, &a);
			answer_release(&a);
		}
	}
	bed_call_bytes(&b, paths[0], bytes, n, &a);
	assert_true(a.status == 0 || a.status == GRPC_UNKNOWN);
	answer_release(&a);
	free(text);
	stream_close(&b, &one);
	bed_close(&b);
}

/* P4Data within P4Data, 10,000 deep, in a register's data; and a batch too large for the details to say all. */
static void deep_and_long_requests_are_answered(void **state)
{
	P4__V1__WriteRequest w = P4__V1__WRITE_REQUEST__INIT;
	P4__V1__Uint128 id = P4__V1__UINT128__INIT;
	P4__V1__Update update = P4__V1__UPDATE__INIT, **updates = calloc(1000, sizeof(*updates));
	P4__V1__Entity entity;
	P4__V1__RegisterEntry reg = P4__V1__REGISTER_ENTRY__INIT;
	uint8_t *deep = malloc(100000);
	size_t at = 100000;
	struct stream one;
	struct answer a;
	struct bed b;

	(void)state;
	bed_ready(&b, &one);
	for (size_t i = 0, length = 0; i < 10000; i++) {
		uint8_t head[8];
		size_t n = 0;

		head[n++] = 7 << 3 | 2; /* header_union, bytes that hold another */
		for (size_t rest = length; n == 1 || rest > 0; rest >>= 7)
			head[n++] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
		at -= n;
		memcpy(deep + at, head, n);
		length = 100000 - at;
	}
	id.low = 1;
	w.device_id = 1;
	w.election_id = &id;
	p4__v1__entity__init(&entity);
	entity.entity_case = P4__V1__ENTITY__ENTITY_REGISTER_ENTRY;
	entity.register_entry = &reg;
	reg.register_id = bed_id(&b, "In.last");
	reg.data = (ProtobufCBinaryData){ 100000 - at, deep + at };
	update.type = P4__V1__UPDATE__TYPE__MODIFY;
	update.entity = &entity;
	for (size_t i = 0; i < 1000; i++)
		updates[i] = &update;
	w.updates = updates;
	w.n_updates = 1;
	bed_call(&b, "/p4.v1.P4Runtime/Write", &w.base, &a);
	assert_int_equal(a.status, GRPC_UNKNOWN);
	answer_release(&a);
	reg.data.len = 0;
	w.n_updates = 1000;
	bed_call(&b, "/p4.v1.P4Runtime/Write", &w.base, &a);
	assert_int_equal(a.status, GRPC_UNKNOWN); /* all failed, and the client could hear it */
	answer_release(&a);
	free(deep);
	free(updates);
	stream_close(&b, &one);
	bed_close(&b);
}

/* A thousand connections, most of which say nothing, and the one that speaks is answered. */
static void a_thousand_silent_clients_do_no_harm(void **state)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int fds[1000], opened = 0;
	struct stream one;
	struct bed b;

	(void)state;
	bed_ready(&b, &one);
	to.sin_port = htons((uint16_t)control_port(b.control));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 1000; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0)
			break; /* the limit of descriptors here */
		if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
			close(fd);
			break;
		}
		fds[opened++] = fd;
		if (i % 50 == 0)
			loop_turn(b.loop, 0);
	}
	assert_true(opened > 100);
	ok(&b, "INSERT", HOST("\\x01", "\\x01"));
	for (int i = 0; i < opened; i++)
		close(fds[i]);
	stream_close(&b, &one);
	bed_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(byte_strings),
		cmocka_unit_test(capabilities_say_the_version),
		cmocka_unit_test(the_highest_election_id_is_primary),
		cmocka_unit_test(bad_arbitration_ends_the_stream),
		cmocka_unit_test(only_the_primary_writes_and_only_to_a_pipeline),
		cmocka_unit_test(pipelines_are_verified_saved_committed_and_told),
		cmocka_unit_test(exact_entries),
		cmocka_unit_test(lpm_ternary_range_and_optional_entries),
		cmocka_unit_test(defaults_and_constants),
		cmocka_unit_test(direct_counters_and_meters),
		cmocka_unit_test(members_groups_and_action_sets),
		cmocka_unit_test(counters_meters_and_registers),
		cmocka_unit_test(groups_sessions_sets_and_digests),
		cmocka_unit_test(batches_go_on_or_roll_back),
		cmocka_unit_test(packets_and_digests_go_through_the_stream),
		cmocka_unit_test(idle_entries_are_told),
		cmocka_unit_test(long_tables_are_read_in_parts),
		cmocka_unit_test(cut_and_changed_requests_are_answered),
		cmocka_unit_test(deep_and_long_requests_are_answered),
		cmocka_unit_test(a_thousand_silent_clients_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
