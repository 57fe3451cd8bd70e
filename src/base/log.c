/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static struct {
	log_fn *fn;
	void *context;
} sink;

void log_to(log_fn *fn, void *context)
{
	sink.fn = fn;
	sink.context = context;
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	char message[1024];
	va_list ap;

	if (!sink.fn)
		return;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	sink.fn(sink.context, level, message);
}
