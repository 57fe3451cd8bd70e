/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/value.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int too_wide(const char *text, uint32_t bits, struct err *err)
{
	return err_set(err, ERR_USAGE, ERANGE, "'%.64s' does not fit %u bits", text, bits);
}

static int not_number(const char *text, struct err *err)
{
	return err_set(err, ERR_USAGE, EINVAL,
		       "'%.64s' is not a value; expected a decimal or 0x number, an IPv4, IPv6 or MAC address", text);
}

/* number = number * base + digit, in big-endian bytes; false when it does not fit. */
static bool multiply_add(uint8_t *bytes, size_t count, unsigned base, unsigned digit)
{
	unsigned carry = digit;

	for (size_t i = count; i > 0; i--) {
		carry += bytes[i - 1] * base;
		bytes[i - 1] = (uint8_t)carry;
		carry >>= 8;
	}
	return carry == 0;
}

static int digits(const char *text, uint32_t bits, uint8_t *bytes, size_t count, struct err *err)
{
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *p = is_hex ? text + 2 : text;

	if (!*p)
		return not_number(text, err);
	for (; *p; p++) {
		int c = (unsigned char)*p;

		if (is_hex ? !isxdigit(c) : !isdigit(c))
			return not_number(text, err);
		if (!multiply_add(bytes, count, is_hex ? 16 : 10,
				  (unsigned)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10)))
			return too_wide(text, bits, err);
	}
	return 0;
}

/* Six groups of one or two hex digits. */
static bool mac(const char *text, uint8_t out[6])
{
	for (size_t i = 0; i < 6; i++) {
		char *end;

		if (!isxdigit((unsigned char)*text))
			return false;
		out[i] = (uint8_t)strtoul(text, &end, 16);
		if (end - text > 2 || *end != (i < 5 ? ':' : '\0'))
			return false;
		text = end + 1;
	}
	return true;
}

/* Bytes of an address, or 0 when it is none. */
static size_t address(const char *text, uint8_t out[16])
{
	if (mac(text, out))
		return 6;
	if (inet_pton(AF_INET, text, out) == 1)
		return 4;
	return inet_pton(AF_INET6, text, out) == 1 ? 16 : 0;
}

static bool fits(struct p4rt_bytes b, uint32_t bits)
{
	uint32_t top = bits % 8;
	size_t most = (bits + 7) / 8;

	return b.length < most || (b.length == most && (top == 0 || b.data[0] >> top == 0));
}

int p4rt_value_parse(const char *text, uint32_t bits, struct arena *arena, struct p4rt_bytes *ret, struct err *err)
{
	/* an address has bytes of its own, whatever the field's width */
	size_t count = bits ? (bits + 7) / 8 : strlen(text), room = count > 16 ? count : 16;
	uint8_t *bytes = arena_alloc(arena, room);
	size_t of_address;
	int rc;

	if (!bytes)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	if (bits == 0) {
		memcpy(bytes, text, count);
		*ret = (struct p4rt_bytes){ bytes, count };
		return count ? 0 : not_number(text, err);
	}
	of_address = address(text, bytes);
	if (of_address) {
		*ret = p4rt_canonical(bytes, of_address);
	} else {
		memset(bytes, 0, room);
		rc = digits(text, bits, bytes, count, err);
		if (rc < 0)
			return rc;
		*ret = p4rt_canonical(bytes, count);
	}
	return fits(*ret, bits) ? 0 : too_wide(text, bits, err);
}

int p4rt_number_parse(const char *text, const char *what, int64_t least, int64_t most, int64_t *ret, struct err *err)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || isspace((unsigned char)*text) || value < least || value > most)
		return err_set(err, ERR_USAGE, EINVAL, "%s '%.64s' is not a number of %lld to %lld", what, text,
			       (long long)least, (long long)most);
	*ret = value;
	return 0;
}

/* `length` one bits at the top of a field. */
static int prefix_mask(uint32_t length, uint32_t bits, struct arena *arena, struct p4rt_bytes *ret, struct err *err)
{
	size_t count = (bits + 7) / 8;
	uint8_t *mask = arena_alloc(arena, count);

	if (!mask)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < length; i++) {
		uint32_t bit = bits - 1 - i;

		mask[count - 1 - bit / 8] |= (uint8_t)(1 << bit % 8);
	}
	*ret = p4rt_canonical(mask, count);
	return 0;
}

static int all_ones(const struct p4info_field *key, struct arena *arena, struct p4rt_bytes *ret, struct err *err)
{
	return prefix_mask(key->bits, key->bits, arena, ret, err);
}

/* value/length; a length of 0 matches everything, so the key is not sent. */
static int parse_prefix(char *text, char *slash, const struct p4info_field *key, struct arena *arena,
			struct p4rt_match *ret, struct err *err)
{
	int64_t length = 0;
	int rc;

	*slash = '\0';
	rc = p4rt_number_parse(slash + 1, "prefix length", 0, key->bits, &length, err);
	if (rc == 0)
		rc = p4rt_value_parse(text, key->bits, arena, &ret->value, err);
	if (rc < 0)
		return rc;
	if (length == 0) {
		if (ret->value.length > 1 || ret->value.data[0])
			return err_set(err, ERR_USAGE, EINVAL, "'%.64s' has bits set beyond its prefix of 0", text);
		ret->value = (struct p4rt_bytes){ 0 };
		return 0;
	}
	if (key->match == P4INFO_TERNARY)
		return prefix_mask((uint32_t)length, key->bits, arena, &ret->mask, err);
	ret->prefix_bits = (uint32_t)length;
	return 0;
}

/* Two values with a sign between them. */
static int parse_two(char *text, char *sign, size_t sign_length, const struct p4info_field *key, struct arena *arena,
		     struct p4rt_match *ret, struct err *err)
{
	int rc;

	*sign = '\0';
	rc = p4rt_value_parse(text, key->bits, arena, &ret->value, err);
	return rc < 0 ? rc : p4rt_value_parse(sign + sign_length, key->bits, arena, &ret->mask, err);
}

int p4rt_match_parse(char *text, const struct p4info_field *key, struct arena *arena, struct p4rt_match *ret,
		     struct err *err)
{
	char *slash = strchr(text, '/'), *mask = strstr(text, "&&&"), *dots = strstr(text, "..");
	int rc;

	memset(ret, 0, sizeof(*ret));
	if (strcmp(text, "*") == 0)
		return key->match == P4INFO_EXACT
			       ? err_set(err, ERR_USAGE, EINVAL, "'*', but an exact key needs one value")
			       : 0;
	if (key->bits > 0 && slash && (key->match == P4INFO_LPM || key->match == P4INFO_TERNARY))
		return parse_prefix(text, slash, key, arena, ret, err);
	if (mask && key->match == P4INFO_TERNARY) {
		rc = parse_two(text, mask, 3, key, arena, ret, err);
		/* a mask of zero, value zero: anything at all */
		if (rc == 0 && ret->mask.length == 1 && ret->mask.data[0] == 0 && ret->value.length == 1 &&
		    ret->value.data[0] == 0)
			memset(ret, 0, sizeof(*ret));
		return rc;
	}
	if (dots && key->match == P4INFO_RANGE)
		return parse_two(text, dots, 2, key, arena, ret, err);
	rc = p4rt_value_parse(text, key->bits, arena, &ret->value, err);
	if (rc < 0)
		return rc;
	if (key->match == P4INFO_LPM)
		ret->prefix_bits = key->bits;
	if (key->match == P4INFO_RANGE)
		ret->mask = ret->value;
	return key->match == P4INFO_TERNARY ? all_ones(key, arena, &ret->mask, err) : 0;
}
