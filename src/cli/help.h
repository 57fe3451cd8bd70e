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

#endif
