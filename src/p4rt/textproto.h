/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_TEXTPROTO_H
#define TARE_P4RT_TEXTPROTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Protobuf's text form into its wire form, by a table of the fields that are
 * known; others are read over, whatever they hold. Pure; input of any size and
 * nesting is safe.
 */
enum textproto_type {
	TEXTPROTO_INT, /* every integer type that is a plain varint */
	TEXTPROTO_BOOL,
	TEXTPROTO_ENUM,
	TEXTPROTO_STRING, /* and bytes */
	TEXTPROTO_MESSAGE,
};

struct textproto_value {
	const char *name;
	int number;
};

struct textproto_message;

struct textproto_field {
	const char *name;
	uint32_t number;
	enum textproto_type type;
	const struct textproto_message *message; /* TEXTPROTO_MESSAGE */
	const struct textproto_value *values;    /* TEXTPROTO_ENUM; ends with a NULL name */
};

struct textproto_message {
	const char *name;
	const struct textproto_field *fields; /* ends with a NULL name */
};

/* malloc'ed bytes into *ret_wire, NULL when there are none; messages are "where:line: ...". */
int textproto_encode(const struct textproto_message *root, const char *text, size_t length, const char *where,
		     uint8_t **ret_wire, size_t *ret_bytes, struct err *err);

#endif
