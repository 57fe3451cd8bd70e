/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	int64_t scale; /* base units in one of these */
	int alias;     /* read, never written */
};

struct dim {
	const char *what;
	const char *example;
	const char *units;
	struct unit unit[8]; /* ascending scale, ends with a NULL name */
};

static const struct dim dims[] = {
	[QUANTITY_COUNT] = { "a count",
			     "1000",
			     "a whole number",
			     { { "", 1, 0 }, { "k", 1000, 0 }, { "M", 1000000, 0 } } },
	[QUANTITY_TIME] = { "a time",
			    "60ms",
			    "ns, us, ms, s, min or h",
			    { { "ns", 1, 0 },
			      { "us", 1000, 0 },
			      { "µs", 1000, 1 },
			      { "ms", 1000000, 0 },
			      { "s", 1000000000, 0 },
			      { "min", 60000000000, 0 },
			      { "h", 3600000000000, 0 } } },
	[QUANTITY_SIZE] = { "a size",
			    "256B",
			    "B, kB, MB, GB, KiB, MiB or GiB",
			    { { "B", 1, 0 },
			      { "kB", 1000, 0 },
			      { "KiB", 1024, 0 },
			      { "MB", 1000000, 0 },
			      { "MiB", 1048576, 0 },
			      { "GB", 1000000000, 0 },
			      { "GiB", 1073741824, 0 } } },
	[QUANTITY_BITRATE] = { "a bit rate",
			       "25Mbps",
			       "bps, kbps, Mbps or Gbps",
			       { { "bps", 1, 0 },
				 { "kbps", 1000, 0 },
				 { "Mbps", 1000000, 0 },
				 { "Gbps", 1000000000, 0 } } },
	[QUANTITY_RATE] = { "a packet rate",
			    "500pps",
			    "pps, kpps or Mpps",
			    { { "pps", 1000, 0 }, { "kpps", 1000000, 0 }, { "Mpps", 1000000000, 0 } } },
	[QUANTITY_FREQUENCY] = { "a frequency",
				 "250MHz",
				 "Hz, kHz, MHz or GHz",
				 { { "Hz", 1, 0 },
				   { "kHz", 1000, 0 },
				   { "MHz", 1000000, 0 },
				   { "GHz", 1000000000, 0 } } },
	[QUANTITY_SHARE] = { "a share", "0.5%", "ppm or %, from 0 to 100%", { { "ppm", 1, 0 }, { "%", 10000, 0 } } },
};

static const struct unit *unit_find(const struct dim *d, const char *name)
{
	for (const struct unit *u = d->unit; u->name; u++)
		if (strcmp(u->name, name) == 0)
			return u;
	return NULL;
}

/*
 * Digits, at most one point, digits. Returns the first character after them, or
 * NULL where there is no digit. The value is mantissa / 10^decimals; *too_large
 * says that the mantissa did not fit.
 */
static const char *number_scan(const char *p, int64_t *mantissa, int *decimals, int *too_large)
{
	int digits = 0, point = 0;

	*mantissa = 0;
	*decimals = 0;
	*too_large = 0;
	for (;; p++) {
		if (*p == '.' && !point && digits) {
			point = 1;
		} else if (isdigit((unsigned char)*p)) {
			digits++;
			*decimals += point;
			if (__builtin_mul_overflow(*mantissa, 10, mantissa) ||
			    __builtin_add_overflow(*mantissa, *p - '0', mantissa)) {
				*too_large = 1;
				*mantissa = 0;
			}
		} else {
			break;
		}
	}
	return digits && p[-1] != '.' ? p : NULL;
}

int quantity_parse(const char *text, enum quantity_dim dim, int64_t *ret_value, struct err *err)
{
	const struct dim *d = &dims[dim];
	const struct unit *u;
	const char *p = text;
	int64_t value;
	__extension__ __int128 wide;
	int decimals, too_large;

	while (isspace((unsigned char)*p))
		p++;
	if (*p == '-')
		return err_set(err, ERR_USAGE, EINVAL, "'%s' is negative; expected %s such as %s", text, d->what,
			       d->example);
	p = number_scan(p, &value, &decimals, &too_large);
	if (!p)
		return err_set(err, ERR_USAGE, EINVAL, "'%s' is not %s; expected a number with %s, such as %s", text,
			       d->what, d->units, d->example);
	if (too_large)
		return err_set(err, ERR_USAGE, ERANGE, "'%s' is too large for %s", text, d->what);
	while (isspace((unsigned char)*p))
		p++;
	if (*p == '\0' && value == 0) {
		*ret_value = 0;
		return 0;
	}
	u = unit_find(d, p);
	if (!u && *p == '\0')
		return err_set(err, ERR_USAGE, EINVAL, "'%s' has no unit; expected %s with %s, such as %s", text,
			       d->what, d->units, d->example);
	if (!u)
		return err_set(err, ERR_USAGE, EINVAL, "'%s': unknown unit '%s'; expected %s with %s, such as %s", text,
			       p, d->what, d->units, d->example);
	wide = value;
	wide *= u->scale;
	for (; decimals > 0; decimals--) {
		if (wide % 10 != 0)
			return err_set(err, ERR_USAGE, EINVAL, "'%s' is finer than the smallest unit of %s (1%s)", text,
				       d->what, dim == QUANTITY_RATE ? "/1000 pps" : d->unit[0].name);
		wide /= 10;
	}
	if (wide > INT64_MAX)
		return err_set(err, ERR_USAGE, ERANGE, "'%s' is too large for %s", text, d->what);
	value = (int64_t)wide;
	if (dim == QUANTITY_SHARE && value > 1000000)
		return err_set(err, ERR_USAGE, ERANGE, "'%s' is over 100%%", text);
	*ret_value = value;
	return 0;
}

const char *quantity_units(enum quantity_dim dim)
{
	return dims[dim].units;
}

const char *quantity_format(int64_t value, enum quantity_dim dim, char *buf, size_t size_bytes)
{
	const struct unit *best = &dims[dim].unit[0];

	for (const struct unit *u = best; u->name; u++)
		if (!u->alias && value != 0 && value % u->scale == 0)
			best = u;
	if (dim == QUANTITY_RATE && value % 1000 != 0)
		snprintf(buf, size_bytes, "%" PRId64 ".%03" PRId64 "pps", value / 1000, value % 1000);
	else
		snprintf(buf, size_bytes, "%" PRId64 "%s", value / best->scale, best->name);
	return buf;
}
