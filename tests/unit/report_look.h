/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_REPORT_LOOK_H
#define TARE_TESTS_REPORT_LOOK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "report/terminal.h"

/* What a test looks at in a result: its problems, and the forms that are written of it. Texts are the caller's to free. */

static inline const struct problem *find_problem(const struct result *r, const char *severity, const char *part)
{
	for (uint32_t i = 0; i < r->problem_count; i++)
		if (strcmp(r->problems[i].severity, severity) == 0 && strstr(r->problems[i].text, part))
			return &r->problems[i];
	return NULL;
}

static inline char *text_of(const struct result *r, int (*write)(const struct result *, FILE *, struct err *))
{
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);
	struct err err = { 0 };

	if (write(r, f, &err) != 0)
		fail_msg("%s", err.message);
	fclose(f);
	return text;
}

static inline char *json_of(const struct result *r)
{
	return text_of(r, result_write_json);
}

/* Not inline: gcc 12 takes what points into the text for pointers to the variable here. */
__attribute__((noinline, unused)) static char *terminal_of(const struct result *r, bool utf8, unsigned width,
							   unsigned parts)
{
	const struct terminal_style style = { .width = width, .utf8 = utf8 };
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	assert_int_equal(terminal_write(r, f, &style, parts, NULL), 0);
	fclose(f);
	return text;
}

#endif
