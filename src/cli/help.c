/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <string.h>

#include "cli/options.h"

enum { WIDTH = 80, OPTION_COLUMN = 26 };

static size_t columns(const char *text, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* `at`: the column where the cursor is, 0 for the start of a line. */
static void wrap_from(FILE *out, const char *text, size_t at, unsigned indent, unsigned width)
{

	for (;;) {
		size_t gap = strspn(text, " \n"), word, wide;
		bool paragraph = at && memchr(text, '\n', gap) != memrchr(text, '\n', gap);

		text += gap;
		word = strcspn(text, " \n");
		wide = columns(text, word);
		if (at && (word == 0 || paragraph || at + 1 + wide > width)) {
			fputs(paragraph && word ? "\n\n" : "\n", out);
			at = 0;
		}
		if (word == 0)
			return;
		fprintf(out, "%*s%.*s", at == 0 ? (int)indent : at > indent, "", (int)word, text);
		at = (at == 0 ? indent : at + (at > indent)) + wide;
		text += word;
	}
}

void wrap_write(FILE *out, const char *text, unsigned indent, unsigned width)
{
	wrap_from(out, text, 0, indent, width);
}

void setting_write(FILE *out, const char *left, unsigned column, const struct setting *s)
{
	char right[640];
	size_t n = (size_t)snprintf(right, sizeof(right), "%s", s->help);

	if (s->type == SETTING_CHOICE)
		for (unsigned i = 0; s->choices[i] && n < sizeof(right); i++)
			n += (size_t)snprintf(right + n, sizeof(right) - n, "%s%s", i ? ", " : ": ", s->choices[i]);
	if (s->fallback && s->type != SETTING_FLAG && n < sizeof(right))
		snprintf(right + n, sizeof(right) - n, " (default %s)", s->fallback);
	fputs(left, out);
	if (strlen(left) + 2 > column)
		fprintf(out, "\n%*s", (int)column, "");
	else
		fprintf(out, "%*s", (int)(column - strlen(left)), "");
	wrap_from(out, right, column, column, WIDTH + 20);
}

static void option_write(FILE *out, const struct setting *s)
{
	const char *value = option_value_name(s);
	char left[80];

	snprintf(left, sizeof(left), "  %c%c%c --%s%s%s", s->short_name ? '-' : ' ',
		 s->short_name ? s->short_name : ' ', s->short_name ? ',' : ' ', s->name, value ? "=" : "",
		 value ? value : "");
	setting_write(out, left, OPTION_COLUMN, s);
}

static void options_write(FILE *out, const struct setting *table, bool json)
{
	for (const struct setting *s = table; s->name; s++)
		if (json || strcmp(s->name, "json") != 0)
			option_write(out, s);
}

static void tare_help(FILE *out)
{
	size_t widest = 0;

	fputs("usage: tare VERB [OPTION...] [ARGUMENT...]\n\n", out);
	wrap_write(out, "Tare measures what a P4 pipeline costs, and proves the number.", 0, WIDTH);
	fputs("\nverbs:\n", out);
	for (const struct verb *const *v = verbs; *v; v++) {
		size_t wide = strlen((*v)->name) + 1 + strlen((*v)->arguments);

		widest = wide > widest ? wide : widest;
	}
	for (const struct verb *const *v = verbs; *v; v++)
		fprintf(out, "  %s %-*s  %s\n", (*v)->name, (int)(widest - strlen((*v)->name) - 1), (*v)->arguments,
			(*v)->summary);
	fputs("\noptions of every verb:\n", out);
	options_write(out, global_options, true);
	fputs("\n'tare VERB --help' says more about a verb.\n\n"
	      "exit status: 0 good; 1 ran, but a result is invalid or a check failed; 2 the plan\n"
	      "or the usage is wrong; 3 the host lacks something; 130 interrupted\n",
	      out);
}

void help_write(FILE *out, const struct verb *verb)
{
	if (!verb) {
		tare_help(out);
		return;
	}
	fprintf(out, "usage: tare %s [OPTION...]%s%s\n\n%s.\n", verb->name, verb->arguments[0] ? " " : "",
		verb->arguments, verb->summary);
	if (verb->description[0]) {
		fputc('\n', out);
		wrap_write(out, verb->description, 0, WIDTH);
	}
	if (verb->options && verb->options[0].name) {
		fputs("\noptions:\n", out);
		options_write(out, verb->options, true);
	}
	fputs("\noptions of every verb:\n", out);
	options_write(out, global_options, verb->json);
}
