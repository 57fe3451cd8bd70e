/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_HELP_H
#define TARE_CLI_HELP_H

#include <stdio.h>

#include "cli/verb.h"

/* What is said about verbs, all of it made from their tables. `verb` NULL: tare itself. */
void help_write(FILE *out, const struct verb *verb);

/* A page for man(1), in man(7)'s macros. The same on every machine: no date. */
void man_write(FILE *out, const struct verb *verb);

/* Completion for "bash", "zsh" or "fish"; false: another shell. */
bool completion_write(FILE *out, const char *shell);

/* The program's and its libraries' versions, a line each. */
void version_write(FILE *out);

/* Text wrapped to `width` columns after `indent` spaces; paragraphs are kept. Columns count characters. */
void wrap_write(FILE *out, const char *text, unsigned indent, unsigned width);

/* A row of a table: `left`, and from `column` on what it is, its choices and its default. */
void setting_write(FILE *out, const char *left, unsigned column, const struct setting *s);

/* Text with what troff would take for itself made harmless; the head and the foot of a page. */
void roff_text(FILE *out, const char *text);
void roff_heading(FILE *out, const char *name, unsigned section, const char *summary);
/* A table as tagged paragraphs; `dashes`: as options, with "json" only where the verb knows it. */
void roff_settings(FILE *out, const struct setting *table, bool dashes, bool json);

#endif
