/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <ctype.h>
#include <string.h>

#include "cli/options.h"
#include "observe/build.h"

/* Text with roff's own characters made harmless. */
void roff_text(FILE *out, const char *text)
{
	bool line_start = true;

	for (; *text; text++) {
		if (line_start && (*text == '.' || *text == '\''))
			fputs("\\&", out);
		if (*text == '\\')
			fputs("\\e", out);
		else if (*text == '-')
			fputs("\\-", out);
		else
			fputc(*text, out);
		line_start = *text == '\n';
	}
}

static void roff_paragraphs(FILE *out, const char *text)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t n = end ? (size_t)(end - text) : strlen(text);
		char paragraph[2048];

		TARE_ASSERT(n < sizeof(paragraph));
		memcpy(paragraph, text, n);
		paragraph[n] = '\0';
		fputs(".PP\n", out);
		roff_text(out, paragraph);
		fputc('\n', out);
		text += n + strspn(text + n, "\n");
	}
}

void roff_settings(FILE *out, const struct setting *table, bool dashes, bool json)
{
	for (const struct setting *s = table; s->name; s++) {
		const char *value = option_value_name(s);

		if (!json && strcmp(s->name, "json") == 0)
			continue;
		fputs(".TP\n.B ", out);
		if (dashes && s->short_name)
			fprintf(out, "\\-%c, ", s->short_name);
		if (dashes)
			fputs("\\-\\-", out);
		roff_text(out, s->name);
		if (value)
			fprintf(out, "%s\\fI%s\\fP", dashes ? "=" : ": ", value);
		fputc('\n', out);
		roff_text(out, s->help);
		for (unsigned i = 0; s->type == SETTING_CHOICE && s->choices[i]; i++) {
			fputs(i ? ", " : ": ", out);
			roff_text(out, s->choices[i]);
		}
		if (s->fallback && s->type != SETTING_FLAG) {
			fputs(" (default ", out);
			roff_text(out, s->fallback);
			fputc(')', out);
		}
		fputc('\n', out);
	}
}

void roff_heading(FILE *out, const char *name, unsigned section, const char *summary)
{
	fputs(".TH TARE", out);
	if (name) {
		fputs("\\-", out);
		for (const char *p = name; *p; p++)
			fputc(toupper((unsigned char)*p), out);
	}
	fprintf(out, " %u \"\" \"tare %s\" \"Tare\"\n.SH NAME\ntare%s%s \\- ", section, build_version(),
		name ? "\\-" : "", name ? name : "");
	roff_text(out, summary);
	fputc('\n', out);
}

static void roff_status(FILE *out)
{
	fputs(".SH EXIT STATUS\n"
	      ".TP\n.B 0\ngood\n"
	      ".TP\n.B 1\nran, but a result is invalid or a check failed\n"
	      ".TP\n.B 2\nthe plan or the usage is wrong\n"
	      ".TP\n.B 3\nthe host lacks something; the message says what, and how to get it\n"
	      ".TP\n.B 130\ninterrupted\n",
	      out);
}

static void man_tare(FILE *out)
{
	roff_heading(out, NULL, 1, "measure what a P4 pipeline costs, and prove the number");
	fputs(".SH SYNOPSIS\n.B tare\n.I VERB\n[\\fIOPTION\\fP...] [\\fIARGUMENT\\fP...]\n.SH DESCRIPTION\n"
	      "Tare takes a plan, runs it on a target, and answers with a figure, its uncertainty, and the record of "
	      "how\n"
	      "it was obtained.\n.SH VERBS\n",
	      out);
	for (const struct verb *const *v = verbs; *v; v++) {
		fprintf(out, ".TP\n.B %s \\fI%s\\fP\n", (*v)->name, (*v)->arguments);
		roff_text(out, (*v)->summary);
		fprintf(out, "; see\n.BR tare\\-%s (1)\n", (*v)->name);
	}
	fputs(".SH OPTIONS\n", out);
	roff_settings(out, global_options, true, true);
	fputs(".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nno colours when set and not empty\n", out);
	roff_status(out);
}

void man_write(FILE *out, const struct verb *verb)
{
	if (!verb) {
		man_tare(out);
		return;
	}
	roff_heading(out, verb->name, 1, verb->summary);
	fprintf(out, ".SH SYNOPSIS\n.B tare %s\n[\\fIOPTION\\fP...] \\fI%s\\fP\n.SH DESCRIPTION\n", verb->name,
		verb->arguments);
	roff_paragraphs(out, verb->description[0] ? verb->description : verb->summary);
	fputs(".SH OPTIONS\n", out);
	if (verb->options)
		roff_settings(out, verb->options, true, true);
	roff_settings(out, global_options, true, verb->json);
	roff_status(out);
	fputs(".SH SEE ALSO\n.BR tare (1)\n", out);
}
