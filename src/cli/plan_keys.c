/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdio.h>

#include "cli/help.h"
#include "cli/options.h"
#include "cli/plan_check.h"
#include "target/target.h"

enum { COLUMN = 26, WIDTH = 100 };

/* The keys that are no plain values, and what a reader must know of the others. */
static const struct {
	const char *key, *help;
} parts[] = {
	{ "target", "what is measured: { kind: KIND, ... }, with the settings of that kind" },
	{ "matrix",
	  "axes to vary, a list of values each: { program: [a, b], size: [64B, 1500B] }; every combination is a cell. "
	  "An axis is program, or any setting of probes or of the target" },
	{ "extra",
	  "further cells, each a mapping of axes to one value: [{ program: a, size: 9000B }]; an axis that it does "
	  "not name has the plan's own value" },
	{ "tare",
	  "what is taken off: { program: \"null\" }. It runs before and after the cells of every block, once for each "
	  "combination of the other axes" },
	{ "probes", "what is sent: the settings of the measure" },
	{ "stop",
	  "instead of restarts: { width: 5%, restarts: 6..40 }. Restarts of a cell go on until its interval is that "
	  "narrow, its settings below" },
};

static const char about[] =
	"A plan is a YAML file: one document of plain values, lists and mappings, in UTF-8. Quantities carry a unit "
	"(60ms, 64B, "
	"500pps, 250MHz, 0.5%); zero may stand without one. Relative file names start at the plan's folder.\n\n"
	"Restarts run in randomised complete blocks, one restart of every cell a block, shuffled by the seed: the same "
	"seed "
	"gives the same order on every machine.";

static void table_write(FILE *out, const struct setting *table)
{
	for (const struct setting *s = table; s->name; s++) {
		const char *value = option_value_name(s);
		char left[80];

		snprintf(left, sizeof(left), "  %s: %s", s->name, value ? value : "yes|no");
		setting_write(out, left, COLUMN, s);
	}
}

void plan_keys_write(FILE *out)
{
	wrap_write(out, about, 0, WIDTH);
	fputs("\nkeys of a plan\n", out);
	table_write(out, plan_settings);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct setting row = { .name = parts[i].key, .help = parts[i].help };
		char left[80];

		snprintf(left, sizeof(left), "  %s: ...", parts[i].key);
		setting_write(out, left, COLUMN, &row);
	}
	fputs("\nstop\n", out);
	table_write(out, plan_stop_settings);
	for (int m = 0; m < MEASURES; m++) {
		if (!measure_probes((enum measure)m))
			continue;
		fprintf(out, "\nprobes, with measure: %s\n", measure_name((enum measure)m));
		table_write(out, measure_probes((enum measure)m));
	}
	for (const struct target_ops *const *k = target_kinds; *k; k++) {
		fprintf(out, "\ntarget, with kind: %s\n", (*k)->kind);
		wrap_write(out, (*k)->summary, 2, WIDTH);
		table_write(out, (*k)->settings);
	}
}

/* Paragraphs are parted by an empty line. */
static void roff_about(FILE *out)
{
	fputs(".PP\n", out);
	for (const char *p = about; *p; p++) {
		char one[2] = { *p, '\0' };

		if (p[0] == '\n' && p[1] == '\n') {
			fputs("\n.PP\n", out);
			p++;
		} else {
			roff_text(out, one);
		}
	}
	fputc('\n', out);
}

static void roff_section(FILE *out, const char *what, const char *name)
{
	fprintf(out, ".SH %s ", what);
	for (; *name; name++)
		fputc(toupper((unsigned char)*name), out);
	fputc('\n', out);
}

void plan_keys_man_write(FILE *out)
{
	roff_heading(out, "plan", 5, "the plan of a campaign");
	fputs(".SH DESCRIPTION\n", out);
	roff_about(out);
	fputs(".SH KEYS\n", out);
	roff_settings(out, plan_settings, false, true);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		fprintf(out, ".TP\n.B %s: ...\n", parts[i].key);
		roff_text(out, parts[i].help);
		fputc('\n', out);
	}
	roff_section(out, "STOP", "");
	roff_settings(out, plan_stop_settings, false, true);
	for (int m = 0; m < MEASURES; m++) {
		if (!measure_probes((enum measure)m))
			continue;
		roff_section(out, "PROBES OF MEASURE", measure_name((enum measure)m));
		roff_settings(out, measure_probes((enum measure)m), false, true);
	}
	for (const struct target_ops *const *k = target_kinds; *k; k++) {
		roff_section(out, "TARGET OF KIND", (*k)->kind);
		roff_text(out, (*k)->summary);
		fputc('\n', out);
		roff_settings(out, (*k)->settings, false, true);
	}
	fputs(".SH SEE ALSO\n.BR tare\\-plan (1),\n.BR tare\\-run (1)\n", out);
}
