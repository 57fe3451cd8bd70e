/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_TEXT_PROTO_H
#define TARE_TESTS_TEXT_PROTO_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A protobuf message from its text form, by the message's descriptor: what p4c
 * writes as .p4info.txtpb. Fields that the descriptor lacks are skipped. For test
 * inputs of our own: it trusts them. What it builds is freed together, by
 * text_proto_free.
 */
struct text_block {
	struct text_block *next;
	_Alignas(16) char bytes[];
};

static struct text_block *text_blocks;

static void *text_alloc(size_t size)
{
	struct text_block *block = calloc(1, sizeof(*block) + size);

	block->next = text_blocks;
	text_blocks = block;
	return block->bytes;
}

static inline void text_proto_free(void)
{
	while (text_blocks != NULL) {
		struct text_block *next = text_blocks->next;

		free(text_blocks);
		text_blocks = next;
	}
}

struct text_proto {
	const char *at;
};

static void text_space(struct text_proto *t)
{
	while (*t->at == ' ' || *t->at == '\n' || *t->at == '\t' || *t->at == '#')
		t->at += *t->at == '#' ? strcspn(t->at, "\n") : 1;
}

static size_t text_word(struct text_proto *t, char *buf, size_t size)
{
	size_t n = strspn(t->at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

	snprintf(buf, size, "%.*s", (int)n, t->at);
	t->at += n;
	text_space(t);
	return n;
}

/* Between quotes, with \" and \xhh; may hold zeros. */
static char *text_string(struct text_proto *t, size_t *ret_length)
{
	const char *end = t->at + 1;
	char *s;
	size_t n = 0;

	for (; *end != '"'; end++)
		end += *end == '\\';
	s = text_alloc((size_t)(end - t->at));
	for (t->at++; *t->at != '"'; t->at++) {
		unsigned value;
		int used;

		if (*t->at == '\\' && sscanf(t->at, "\\x%2x%n", &value, &used) == 1) {
			s[n++] = (char)value;
			t->at += used - 1;
		} else {
			t->at += *t->at == '\\';
			s[n++] = *t->at;
		}
	}
	s[n] = '\0';
	*ret_length = n;
	t->at++;
	text_space(t);
	return s;
}

static void text_message(struct text_proto *t, ProtobufCMessage *message);

static void text_scalar(struct text_proto *t, const ProtobufCFieldDescriptor *f, void *to)
{
	char word[256];
	size_t length;

	if (f->type == PROTOBUF_C_TYPE_STRING) {
		*(char **)to = text_string(t, &length);
		return;
	}
	if (f->type == PROTOBUF_C_TYPE_BYTES) {
		ProtobufCBinaryData *bytes = to;

		bytes->data = (uint8_t *)text_string(t, &bytes->len);
		return;
	}
	if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
		const ProtobufCMessageDescriptor *d = f->descriptor;
		ProtobufCMessage *message = text_alloc(d->sizeof_message);

		protobuf_c_message_init(d, message);
		text_message(t, message);
		*(ProtobufCMessage **)to = message;
		return;
	}
	text_word(t, word, sizeof(word));
	if (f->type == PROTOBUF_C_TYPE_ENUM)
		*(int *)to = protobuf_c_enum_descriptor_get_value_by_name(f->descriptor, word)->value;
	else if (f->type == PROTOBUF_C_TYPE_BOOL)
		*(protobuf_c_boolean *)to = strcmp(word, "true") == 0;
	else if (f->type == PROTOBUF_C_TYPE_INT64 || f->type == PROTOBUF_C_TYPE_UINT64)
		*(int64_t *)to = strtoll(word, NULL, 0);
	else
		*(int32_t *)to = (int32_t)strtoll(word, NULL, 0);
}

static void text_skip(struct text_proto *t)
{
	char word[256];
	size_t length;

	if (*t->at == '"') {
		text_string(t, &length);
		return;
	}
	if (*t->at != '{') {
		text_word(t, word, sizeof(word));
		return;
	}
	t->at++;
	for (text_space(t); *t->at != '}'; text_skip(t)) {
		text_word(t, word, sizeof(word));
		t->at += *t->at == ':';
		text_space(t);
	}
	t->at++;
	text_space(t);
}

static void text_field(struct text_proto *t, const ProtobufCFieldDescriptor *f, ProtobufCMessage *message)
{
	char *base = (char *)message;

	if (f->label == PROTOBUF_C_LABEL_REPEATED) {
		size_t *count = (size_t *)(void *)(base + f->quantifier_offset);
		void ***array = (void ***)(void *)(base + f->offset);

		if ((*count & (*count - 1)) == 0) { /* of messages; room for twice as many */
			void **grown = text_alloc((2 * *count + 1) * sizeof(void *));

			if (*count > 0)
				memcpy(grown, *array, *count * sizeof(void *));
			*array = grown;
		}
		text_scalar(t, f, &(*array)[(*count)++]);
		return;
	}
	if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		*(uint32_t *)(void *)(base + f->quantifier_offset) = f->id;
	text_scalar(t, f, base + f->offset);
}

/* Fields up to the closing brace (behind an opening one), or to the end. */
static void text_message(struct text_proto *t, ProtobufCMessage *message)
{
	char name[256];

	if (*t->at == '{')
		t->at++;
	for (text_space(t); *t->at != '}' && *t->at != '\0';) {
		const ProtobufCFieldDescriptor *f;

		text_word(t, name, sizeof(name));
		t->at += *t->at == ':';
		text_space(t);
		f = protobuf_c_message_descriptor_get_field_by_name(message->descriptor, name);
		/* what our schema has as bytes is a message in the text; its content is not needed here */
		if (f == NULL || (f->type == PROTOBUF_C_TYPE_BYTES && *t->at == '{'))
			text_skip(t);
		else
			text_field(t, f, message);
	}
	if (*t->at == '}')
		t->at++;
	text_space(t);
}

/* Packed; the caller frees it. */
static inline uint8_t *text_proto_pack(const char *text, ProtobufCMessage *empty, size_t *ret_length)
{
	struct text_proto t = { text };
	uint8_t *packed;

	text_message(&t, empty);
	*ret_length = protobuf_c_message_get_packed_size(empty);
	packed = malloc(*ret_length + 1);
	protobuf_c_message_pack(empty, packed);
	return packed;
}

#endif
