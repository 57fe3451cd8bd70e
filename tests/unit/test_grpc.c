/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>

#include "certificates.h"
#include "grpc/client.h"
#include "grpc/message.h"
#include "grpc/server.h"

/* --- a server with one method of each kind, and what a call came to --- */

static void echo_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	uint8_t *out = grpc_call_reserve(call, length);

	assert_non_null(out);
	if (length)
		memcpy(out, data, length);
	grpc_call_commit(call);
	grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
}

static void fail_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	uint8_t details[3000];

	(void)data;
	(void)length;
	for (size_t i = 0; i < sizeof(details); i++)
		details[i] = (uint8_t)i;
	grpc_call_finish(call, GRPC_NOT_FOUND, "50% of \"nothing\"\n", details, sizeof(details));
}

static void stream_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	/* every message comes back twice */
	for (int i = 0; i < 2; i++) {
		memcpy(grpc_call_reserve(call, length), data, length);
		grpc_call_commit(call);
	}
}

static void stream_half_closed(struct grpc_call *call)
{
	grpc_call_finish(call, GRPC_OK, NULL, NULL, 0);
}

static void silent_message(struct grpc_call *call, const uint8_t *data, size_t length)
{
	(void)call;
	(void)data;
	(void)length;
}

static void count_closed(struct grpc_call *call)
{
	++*(int *)grpc_call_context(call);
}

static const struct grpc_method methods[] = {
	{ .path = "/t.T/Echo", .unary_request = true, .message = echo_message, .closed = count_closed },
	{ .path = "/t.T/Fail", .unary_request = true, .message = fail_message, .closed = count_closed },
	{ .path = "/t.T/Stream", .message = stream_message, .half_closed = stream_half_closed, .closed = count_closed },
	{ .path = "/t.T/Silent", .unary_request = true, .message = silent_message, .closed = count_closed },
	{ 0 },
};

struct bed {
	struct loop *loop;
	struct grpc_server *server;
	struct grpc_channel *channel;
	int server_closed; /* calls that the server saw end */
	char address[64];
	char last_why[256];
	int readies;
};

struct outcome {
	int messages, closed, status;
	size_t bytes, last_length, details_bytes;
	uint8_t first, details_last;
	char message[256];
};

static void on_message(struct grpc_rpc *rpc, const uint8_t *data, size_t length)
{
	struct outcome *o = grpc_rpc_user(rpc);

	if (o->messages++ == 0 && length)
		o->first = data[0];
	o->bytes += length;
	o->last_length = length;
}

static void on_closed(struct grpc_rpc *rpc, int status, const char *message, const uint8_t *details, size_t length)
{
	struct outcome *o = grpc_rpc_user(rpc);

	o->closed++;
	o->status = status;
	o->details_bytes = length;
	if (length)
		o->details_last = details[length - 1];
	snprintf(o->message, sizeof(o->message), "%s", message);
}

static const struct grpc_rpc_ops rpc_ops = { on_message, on_closed };

static void on_state(struct grpc_channel *channel, enum grpc_channel_state state, const char *why)
{
	struct bed *bed = grpc_channel_user(channel);

	if (state == GRPC_CHANNEL_READY)
		bed->readies++;
	if (state == GRPC_CHANNEL_IDLE)
		snprintf(bed->last_why, sizeof(bed->last_why), "%s", why);
}

static void bed_open(struct bed *bed, const struct grpc_tls *server_tls, const struct grpc_tls *client_tls)
{
	struct grpc_server_config server = { .address = "127.0.0.1:0",
					     .methods = methods,
					     .message_limit_bytes = 4 << 20 };
	struct grpc_channel_config client = { .state = on_state, .user = bed };

	memset(bed, 0, sizeof(*bed));
	server.context = &bed->server_closed;
	if (server_tls)
		server.tls = *server_tls;
	if (client_tls)
		client.tls = *client_tls;
	assert_int_equal(loop_create(&bed->loop, NULL), 0);
	assert_int_equal(grpc_server_create(bed->loop, &server, &bed->server, NULL), 0);
	snprintf(bed->address, sizeof(bed->address), "127.0.0.1:%u", grpc_server_port(bed->server));
	client.address = bed->address;
	assert_int_equal(grpc_channel_create(bed->loop, &client, &bed->channel, NULL), 0);
}

static void bed_close(struct bed *bed)
{
	grpc_channel_destroy(bed->channel);
	grpc_server_destroy(bed->server);
	loop_destroy(bed->loop);
}

/* Turn until *counter reaches `until`; a test that hangs fails after five seconds. */
static void turn_until(struct bed *bed, const int *counter, int until)
{
	int64_t give_up = loop_now_ns() + INT64_C(5000000000);

	while (*counter < until) {
		assert_true(loop_now_ns() < give_up);
		assert_int_equal(loop_turn(bed->loop, 10000000), 0);
	}
}

static struct grpc_rpc *start(struct bed *bed, const char *path, struct outcome *o, const void *bytes, size_t length,
			      int64_t deadline_ns)
{
	struct grpc_rpc *rpc = grpc_rpc_start(bed->channel, path, &rpc_ops, o, deadline_ns);

	assert_non_null(rpc);
	if (bytes || length) {
		uint8_t *out = grpc_rpc_reserve(rpc, length);

		if (bytes)
			memcpy(out, bytes, length);
		else
			memset(out, 'x', length);
		grpc_rpc_commit(rpc);
	}
	return rpc;
}

static void unary_echoes_any_length(void **state)
{
	static const size_t lengths[] = { 0, 1, 100, 16384, 16385, 70000, 3 << 20 };
	struct bed bed;

	(void)state;
	bed_open(&bed, NULL, NULL);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct outcome o = { 0 };
		struct grpc_rpc *rpc = grpc_rpc_start(bed.channel, "/t.T/Echo", &rpc_ops, &o, 0);

		memset(grpc_rpc_reserve(rpc, lengths[i]), 'x', lengths[i]);
		grpc_rpc_commit(rpc);
		grpc_rpc_end(rpc);
		turn_until(&bed, &o.closed, 1);
		assert_int_equal(o.status, GRPC_OK);
		assert_int_equal(o.messages, 1);
		assert_int_equal(o.bytes, lengths[i]);
	}
	assert_int_equal(bed.readies, 1);
	turn_until(&bed, &bed.server_closed, sizeof(lengths) / sizeof(lengths[0]));
	bed_close(&bed);
}

static void many_calls_at_once(void **state)
{
	enum { CALLS = 1000 };
	static struct outcome o[CALLS];
	struct bed bed;
	int closed = 0;

	(void)state;
	memset(o, 0, sizeof(o));
	bed_open(&bed, NULL, NULL);
	for (int i = 0; i < CALLS; i++) {
		uint8_t byte = (uint8_t)i;

		grpc_rpc_end(start(&bed, "/t.T/Echo", &o[i], &byte, 1, 0));
	}
	for (int64_t give_up = loop_now_ns() + INT64_C(5000000000); closed < CALLS;) {
		assert_true(loop_now_ns() < give_up);
		loop_turn(bed.loop, 10000000);
		closed = 0;
		for (int i = 0; i < CALLS; i++)
			closed += o[i].closed;
	}
	for (int i = 0; i < CALLS; i++) {
		assert_int_equal(o[i].status, GRPC_OK);
		assert_int_equal(o[i].first, (uint8_t)i);
	}
	bed_close(&bed);
}

static void errors_carry_message_and_details(void **state)
{
	struct outcome o = { 0 };
	struct bed bed;

	(void)state;
	bed_open(&bed, NULL, NULL);
	grpc_rpc_end(start(&bed, "/t.T/Fail", &o, "a", 1, 0));
	turn_until(&bed, &o.closed, 1);
	assert_int_equal(o.status, GRPC_NOT_FOUND);
	assert_string_equal(o.message, "50% of \"nothing\"\n");
	assert_int_equal(o.details_bytes, 3000);
	assert_int_equal(o.details_last, (uint8_t)2999);
	bed_close(&bed);
}

static void streams_go_both_ways(void **state)
{
	struct outcome o = { 0 };
	struct grpc_rpc *rpc;
	struct bed bed;

	(void)state;
	bed_open(&bed, NULL, NULL);
	rpc = start(&bed, "/t.T/Stream", &o, "ab", 2, 0);
	turn_until(&bed, &o.messages, 2);
	memcpy(grpc_rpc_reserve(rpc, 3), "cde", 3);
	grpc_rpc_commit(rpc);
	turn_until(&bed, &o.messages, 4);
	assert_int_equal(o.closed, 0);
	grpc_rpc_end(rpc);
	turn_until(&bed, &o.closed, 1);
	assert_int_equal(o.status, GRPC_OK);
	assert_int_equal(o.bytes, 10);
	bed_close(&bed);
}

static void refusals_have_their_status(void **state)
{
	struct outcome unknown = { 0 }, two = { 0 }, none = { 0 }, late = { 0 }, cancelled = { 0 }, lengthy = { 0 };
	struct grpc_rpc *rpc;
	struct bed bed;

	(void)state;
	bed_open(&bed, NULL, NULL);
	grpc_rpc_end(start(&bed, "/t.T/Nothing", &unknown, "a", 1, 0));
	turn_until(&bed, &unknown.closed, 1);
	assert_int_equal(unknown.status, GRPC_UNIMPLEMENTED);

	rpc = start(&bed, "/t.T/Echo", &two, "a", 1, 0);
	memcpy(grpc_rpc_reserve(rpc, 1), "b", 1);
	grpc_rpc_commit(rpc);
	grpc_rpc_end(rpc);
	turn_until(&bed, &two.closed, 1);
	assert_int_equal(two.status, GRPC_UNIMPLEMENTED);

	grpc_rpc_end(start(&bed, "/t.T/Echo", &none, NULL, 0, 0));
	turn_until(&bed, &none.closed, 1);
	assert_int_equal(none.status, GRPC_UNIMPLEMENTED);

	grpc_rpc_end(start(&bed, "/t.T/Silent", &late, "a", 1, 20000000));
	turn_until(&bed, &late.closed, 1);
	assert_int_equal(late.status, GRPC_DEADLINE_EXCEEDED);

	rpc = start(&bed, "/t.T/Silent", &cancelled, "a", 1, 0);
	grpc_rpc_end(rpc);
	loop_turn(bed.loop, 0);
	grpc_rpc_cancel(rpc);
	turn_until(&bed, &cancelled.closed, 1);
	assert_int_equal(cancelled.status, GRPC_CANCELLED);

	grpc_rpc_end(start(&bed, "/t.T/Echo", &lengthy, NULL, 5 << 20, 0));
	turn_until(&bed, &lengthy.closed, 1);
	assert_int_equal(lengthy.status, GRPC_RESOURCE_EXHAUSTED);

	turn_until(&bed, &bed.server_closed, 5); /* all whose method there is */
	bed_close(&bed);
}

static void a_server_that_is_not_there(void **state)
{
	struct outcome o = { 0 }, again = { 0 };
	struct bed bed;

	(void)state;
	bed_open(&bed, NULL, NULL);
	grpc_server_destroy(bed.server);
	bed.server = NULL;
	grpc_rpc_end(start(&bed, "/t.T/Echo", &o, "a", 1, 0));
	turn_until(&bed, &o.closed, 1);
	assert_int_equal(o.status, GRPC_UNAVAILABLE);
	assert_non_null(strstr(o.message, "cannot connect to 127.0.0.1:"));
	grpc_rpc_end(start(&bed, "/t.T/Echo", &again, "a", 1, 0));
	turn_until(&bed, &again.closed, 1);
	assert_int_equal(again.status, GRPC_UNAVAILABLE);
	bed_close(&bed);
}

static void a_server_that_goes_ends_the_calls(void **state)
{
	struct outcome o = { 0 };
	struct bed bed;

	(void)state;
	bed_open(&bed, NULL, NULL);
	grpc_rpc_end(start(&bed, "/t.T/Silent", &o, "a", 1, 0));
	turn_until(&bed, &bed.readies, 1);
	for (int i = 0; i < 10; i++)
		loop_turn(bed.loop, 1000000);
	grpc_server_destroy(bed.server);
	bed.server = NULL;
	turn_until(&bed, &o.closed, 1);
	assert_int_equal(o.status, GRPC_UNAVAILABLE);
	assert_non_null(strstr(bed.last_why, "connection to 127.0.0.1:"));
	bed_close(&bed);
}

/* Bytes that are no HTTP/2 end that connection; a good client is served beside it. */
static void garbage_ends_only_its_connection(void **state)
{
	struct outcome o = { 0 };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct bed bed;
	char buf[256];
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	long n = 1;

	(void)state;
	bed_open(&bed, NULL, NULL);
	to.sin_port = htons((uint16_t)grpc_server_port(bed.server));
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n................", 34, 0), 34);
	grpc_rpc_end(start(&bed, "/t.T/Echo", &o, "a", 1, 0));
	turn_until(&bed, &o.closed, 1);
	assert_int_equal(o.status, GRPC_OK);
	for (int i = 0; i < 20; i++)
		loop_turn(bed.loop, 1000000);
	while (n > 0)
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT); /* SETTINGS, then the end */
	assert_true(n == 0 || errno == ECONNRESET);
	close(fd);
	assert_int_equal(grpc_server_connections(bed.server), 1);
	bed_close(&bed);
}

/* --- TLS, with an authority made here --- */

static void tls_and_mutual_tls(void **state)
{
	char dir[] = "/tmp/tare-grpc-XXXXXX", ca[64], ca_key[64], cert[64], key[64], other[64], other_key[64];
	struct outcome good = { 0 }, no_cert = { 0 }, wrong_ca = { 0 };
	struct grpc_tls server, client;
	EVP_PKEY *authority_key, *leaf_key, *stranger_key;
	X509 *authority, *leaf, *stranger;
	struct err err;
	SSL_CTX *ctx;
	struct bed bed;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(ca, sizeof(ca), "%s/ca.pem", dir);
	snprintf(ca_key, sizeof(ca_key), "%s/ca.key", dir);
	snprintf(cert, sizeof(cert), "%s/leaf.pem", dir);
	snprintf(key, sizeof(key), "%s/leaf.key", dir);
	snprintf(other, sizeof(other), "%s/other.pem", dir);
	snprintf(other_key, sizeof(other_key), "%s/other.key", dir);
	authority_key = key_write(ca_key);
	authority = cert_write(ca, authority_key, "authority", NULL, authority_key);
	leaf_key = key_write(key);
	leaf = cert_write(cert, leaf_key, "leaf", authority, authority_key);
	stranger_key = key_write(other_key);
	stranger = cert_write(other, stranger_key, "stranger", NULL, stranger_key);

	server = (struct grpc_tls){ .ca = ca, .cert = cert, .key = key };
	client = (struct grpc_tls){ .ca = ca, .cert = cert, .key = key };
	bed_open(&bed, &server, &client);
	grpc_rpc_end(start(&bed, "/t.T/Echo", &good, NULL, 100000, 0));
	turn_until(&bed, &good.closed, 1);
	assert_int_equal(good.status, GRPC_OK);
	assert_int_equal(good.bytes, 100000);
	bed_close(&bed);

	client.cert = client.key = NULL;
	bed_open(&bed, &server, &client);
	grpc_rpc_end(start(&bed, "/t.T/Echo", &no_cert, "a", 1, 0));
	turn_until(&bed, &no_cert.closed, 1);
	assert_int_equal(no_cert.status, GRPC_UNAUTHENTICATED);
	bed_close(&bed);

	client.ca = other;
	bed_open(&bed, &server, &client);
	grpc_rpc_end(start(&bed, "/t.T/Echo", &wrong_ca, "a", 1, 0));
	turn_until(&bed, &wrong_ca.closed, 1);
	assert_int_equal(wrong_ca.status, GRPC_UNAUTHENTICATED);
	assert_non_null(strstr(wrong_ca.message, "certificate verify failed"));
	bed_close(&bed);

	client = (struct grpc_tls){ .cert = cert, .key = other_key };
	assert_true(grpc_tls_context(&client, false, &ctx, &err) < 0);
	assert_non_null(strstr(err.message, other_key));
	client = (struct grpc_tls){ .cert = cert };
	assert_true(grpc_tls_context(&client, false, &ctx, &err) < 0);
	assert_non_null(strstr(err.message, "the key is missing"));

	X509_free(authority);
	X509_free(leaf);
	X509_free(stranger);
	EVP_PKEY_free(authority_key);
	EVP_PKEY_free(leaf_key);
	EVP_PKEY_free(stranger_key);
	unlink(ca), unlink(ca_key), unlink(cert), unlink(key), unlink(other), unlink(other_key), rmdir(dir);
}

/* --- the pure parts --- */

static void reader_cuts_at_every_byte(void **state)
{
	static const uint8_t wire[] = { 0, 0, 0, 0, 3, 'a', 'b', 'c', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 'd' };

	(void)state;
	for (size_t cut = 0; cut <= sizeof(wire); cut++) {
		struct grpc_reader r;
		size_t lengths[4] = { 0 };
		int messages = 0;

		grpc_reader_init(&r, 100);
		for (int part = 0; part < 2; part++) {
			const uint8_t *p = part ? wire + cut : wire;
			size_t left = part ? sizeof(wire) - cut : cut;

			while (grpc_reader_feed(&r, &p, &left) == GRPC_READ_MESSAGE)
				lengths[messages++] = r.length_bytes;
			assert_int_equal(left, 0);
		}
		assert_int_equal(messages, 3);
		assert_int_equal(lengths[0], 3);
		assert_int_equal(lengths[1], 0);
		assert_int_equal(lengths[2], 1);
		assert_true(grpc_reader_clean(&r));
		grpc_reader_release(&r);
	}
}

static void timeouts_and_texts_round_trip(void **state)
{
	char buf[64], text[64];
	uint8_t bytes[64];

	(void)state;
	assert_int_equal(grpc_timeout_parse("100m", 4), 100000000);
	assert_int_equal(grpc_timeout_parse("1H", 2), INT64_C(3600000000000));
	assert_int_equal(grpc_timeout_parse("m", 1), -1);
	assert_int_equal(grpc_timeout_parse("1x", 2), -1);
	assert_int_equal(grpc_timeout_parse("123456789S", 10), -1);
	grpc_timeout_format(INT64_C(1500000000), buf, sizeof(buf));
	assert_int_equal(grpc_timeout_parse(buf, strlen(buf)), INT64_C(1500000000));
	grpc_message_encode("a%\n\xc3\xa9", buf, sizeof(buf));
	assert_string_equal(buf, "a%25%0A%C3%A9");
	grpc_message_decode(buf, strlen(buf), text, sizeof(text));
	assert_string_equal(text, "a%\n\xc3\xa9");
	for (size_t n = 0; n < 10; n++) {
		size_t length = grpc_base64_encode((const uint8_t *)"\x00\xff\x10zyxwvuts", n, buf, sizeof(buf));

		assert_int_equal(grpc_base64_decode(buf, length, bytes, sizeof(bytes)), n);
		assert_memory_equal(bytes, "\x00\xff\x10zyxwvuts", n);
	}
	assert_int_equal(grpc_base64_decode("a", 1, bytes, sizeof(bytes)), -1);
	assert_int_equal(grpc_base64_decode("a*==", 4, bytes, sizeof(bytes)), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unary_echoes_any_length),
		cmocka_unit_test(many_calls_at_once),
		cmocka_unit_test(errors_carry_message_and_details),
		cmocka_unit_test(streams_go_both_ways),
		cmocka_unit_test(refusals_have_their_status),
		cmocka_unit_test(a_server_that_is_not_there),
		cmocka_unit_test(a_server_that_goes_ends_the_calls),
		cmocka_unit_test(garbage_ends_only_its_connection),
		cmocka_unit_test(tls_and_mutual_tls),
		cmocka_unit_test(reader_cuts_at_every_byte),
		cmocka_unit_test(timeouts_and_texts_round_trip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
