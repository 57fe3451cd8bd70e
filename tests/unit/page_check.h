/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_PAGE_CHECK_H
#define TARE_TESTS_PAGE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Tags nest, attributes are quoted, no bare & or <: what makes a page well-formed. */
static inline const char *ill_formed(const char *p)
{
	const char *open[64];
	size_t lengths[64], depth = 0;

	while (*p) {
		if (*p == '&') {
			size_t n = strcspn(p + 1, "; <&");

			if (p[n + 1] != ';' || n < 2)
				return p;
			p += n + 2;
		} else if (*p != '<') {
			p++;
		} else if (strncmp(p, "<!DOCTYPE", 9) == 0) {
			p = strchr(p, '>') + 1;
		} else if (p[1] == '/') {
			size_t n = strcspn(p + 2, ">");

			if (depth == 0 || n != lengths[depth - 1] || strncmp(p + 2, open[depth - 1], n) != 0)
				return p;
			depth--;
			p += n + 3;
		} else {
			const char *name = p + 1, *end = p;
			size_t n = strcspn(name, " />\n");

			for (bool quoted = false; *end != '>' || quoted; end++) {
				if (!*end || (*end == '<' && end > p))
					return p;
				quoted ^= *end == '"';
			}
			if (n == 0 || depth == 64)
				return p;
			if (end[-1] != '/') {
				open[depth] = name;
				lengths[depth++] = n;
			}
			p = end + 1;
		}
	}
	return depth ? p : NULL;
}

#endif
