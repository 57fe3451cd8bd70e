/* SPDX-License-Identifier: Apache-2.0 */
#include "program/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int js_string(const json_t *object, const char *key, const char *what, const char **ret, struct err *err)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_string(value))
		return js_refuse(object, err, "%s: '%s' %s; expected a string", what, key,
				 value ? "is not a string" : "is missing");
	*ret = json_string_value(value);
	return 0;
}

int js_uint(const json_t *object, const char *key, uint32_t most, const char *what, uint32_t *ret, struct err *err)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		return js_refuse(object, err, "%s: '%s' %s; expected a whole number", what, key,
				 value ? "is not a number" : "is missing");
	if (json_integer_value(value) < 0 || json_integer_value(value) > (json_int_t)most)
		return js_refuse(object, err, "%s: '%s' is %" JSON_INTEGER_FORMAT "; expected 0 to %" PRIu32, what, key,
				 json_integer_value(value), most);
	*ret = (uint32_t)json_integer_value(value);
	return 0;
}

int js_array(const json_t *object, const char *key, const char *what, const json_t **ret, struct err *err)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_array(value))
		return js_refuse(object, err, "%s: '%s' %s; expected an array", what, key,
				 value ? "is not an array" : "is missing");
	*ret = value;
	return 0;
}

int js_object(const json_t *object, const char *key, const char *what, const json_t **ret, struct err *err)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_object(value))
		return js_refuse(object, err, "%s: '%s' %s; expected an object", what, key,
				 value ? "is not an object" : "is missing");
	*ret = value;
	return 0;
}

bool js_flag(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void negate(uint64_t *value, uint32_t slots)
{
	uint64_t carry = 1;

	for (uint32_t i = 0; i < slots; i++) {
		value[i] = ~value[i] + carry;
		carry = carry && value[i] == 0;
	}
}

int js_hex(const char *text, uint64_t *ret, uint32_t slots, uint32_t *ret_bits, bool *ret_negative)
{
	bool negative = *text == '-';
	uint32_t digits = 0;
	size_t length;

	text += negative;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
		text += 2;
	if (!*text)
		return -EINVAL;
	while (*text == '0')
		text++;
	length = strlen(text);
	memset(ret, 0, slots * sizeof(*ret));
	if (length > (size_t)slots * 16)
		return -EINVAL;
	for (size_t i = length; i > 0; i--, digits++) {
		int d = hex_digit(text[i - 1]);

		if (d < 0)
			return -EINVAL;
		ret[digits / 16] |= (uint64_t)d << (digits % 16 * 4);
	}
	*ret_bits = 0;
	for (uint32_t i = slots; i > 0; i--)
		if (ret[i - 1]) {
			*ret_bits = i * 64 - (uint32_t)__builtin_clzll(ret[i - 1]);
			break;
		}
	*ret_negative = negative && *ret_bits;
	if (*ret_negative) {
		if (*ret_bits == slots * 64)
			return -EINVAL;
		negate(ret, slots);
	}
	return 0;
}

static bool place_of(const json_t *object, const char **file, int *line)
{
	const json_t *info = json_object_get(object, "source_info");

	*file = json_string_value(json_object_get(info, "filename"));
	*line = (int)json_integer_value(json_object_get(info, "line"));
	return *file != NULL;
}

const char *js_place(const json_t *object, struct arena *arena)
{
	const char *file, *text;
	int line;

	if (!place_of(object, &file, &line))
		return "";
	text = arena_printf(arena, "%s:%d", file, line);
	return text ? text : "";
}

int js_refuse(const json_t *object, struct err *err, const char *fmt, ...)
{
	char message[384];
	const char *file;
	va_list ap;
	int line;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	if (place_of(object, &file, &line))
		return err_set(err, ERR_USAGE, EINVAL, "%s (%s:%d)", message, file, line);
	return err_set(err, ERR_USAGE, EINVAL, "%s", message);
}
