/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int err_set(struct err *e, enum err_kind kind, int code, const char *fmt, ...)
{
	if (e) {
		va_list ap;

		e->kind = kind;
		e->code = code;
		va_start(ap, fmt);
		vsnprintf(e->message, sizeof(e->message), fmt, ap);
		va_end(ap);
	}
	return -code;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char inner[sizeof(e->message)];
	va_list ap;
	int n;

	if (!e)
		return -1;
	memcpy(inner, e->message, sizeof(inner));
	va_start(ap, fmt);
	n = vsnprintf(e->message, sizeof(e->message), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(e->message)) {
		size_t room = sizeof(e->message) - (size_t)n;

		/* ": " and as much of the inner message as fits */
		if (room > 2) {
			strcpy(e->message + n, ": ");
			snprintf(e->message + n + 2, room - 2, "%s", inner);
		}
	}
	return -e->code;
}

int err_exit_status(const struct err *e)
{
	return e ? (int)e->kind : 0;
}

void err_bug(const char *file, int line, const char *condition)
{
	fprintf(stderr, "tare: bug at %s:%d: %s does not hold\n", file, line, condition);
	abort();
}
