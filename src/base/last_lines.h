/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BASE_LAST_LINES_H
#define TARE_BASE_LAST_LINES_H

#include <stddef.h>

/*
 * The last `lines` lines of what a program wrote, for a message: without the line end at its end, `between` for those
 * inside ("\n", " | "), a space for what is no text. Too long for buf: its end, which says more. Returns buf.
 */
const char *last_lines(const char *text, size_t length_bytes, unsigned lines, const char *between, char *buf,
		       size_t size_bytes);

#endif
