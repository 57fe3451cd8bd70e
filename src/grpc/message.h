/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_GRPC_MESSAGE_H
#define TARE_GRPC_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * gRPC's framing, pure: a stream of bytes is cut into messages, each behind five
 * bytes (a compression flag, which must be 0 here, and a big-endian length).
 */
enum { GRPC_PREFIX_BYTES = 5 };

struct grpc_reader {
	uint8_t *data; /* of the message in progress, prefix left out */
	size_t capacity_bytes, filled_bytes, length_bytes;
	uint8_t prefix[GRPC_PREFIX_BYTES];
	unsigned prefix_filled;
	size_t limit_bytes; /* of one message */
};

enum grpc_read {
	GRPC_READ_MORE,    /* all input taken, no message complete */
	GRPC_READ_MESSAGE, /* data[0..length_bytes) is a message; call again with the rest */
	GRPC_READ_TOO_LONG,
	GRPC_READ_COMPRESSED,
	GRPC_READ_NO_MEMORY,
};

void grpc_reader_init(struct grpc_reader *r, size_t limit_bytes);
void grpc_reader_release(struct grpc_reader *r);

/* Take from (*bytes, *length_bytes), moving both, up to the end of one message. */
enum grpc_read grpc_reader_feed(struct grpc_reader *r, const uint8_t **bytes, size_t *length_bytes);

/* Nothing of a message has arrived since the last one was complete. */
bool grpc_reader_clean(const struct grpc_reader *r);

void grpc_prefix(uint8_t prefix[GRPC_PREFIX_BYTES], uint32_t length_bytes);

/* "100m", "5S": the value of a grpc-timeout header in ns; -1 when it is not one. */
int64_t grpc_timeout_parse(const char *text, size_t length);
/* Into buf (12 bytes or more), rounded up to what eight digits can say. */
void grpc_timeout_format(int64_t timeout_ns, char *buf, size_t size_bytes);

/* grpc-message is percent-encoded; both write at most size_bytes with the ending zero and return the length written. */
size_t grpc_message_encode(const char *text, char *buf, size_t size_bytes);
size_t grpc_message_decode(const char *text, size_t length, char *buf, size_t size_bytes);

/* Base64 for -bin headers. Encode: standard alphabet, no padding; decode takes padded and unpadded; -1 on bad input. */
size_t grpc_base64_encode(const uint8_t *bytes, size_t length, char *buf, size_t size_bytes);
long grpc_base64_decode(const char *text, size_t length, uint8_t *buf, size_t size_bytes);

#endif
