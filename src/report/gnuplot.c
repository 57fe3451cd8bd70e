/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "report/chart_data.h"
#include "report/figures_private.h"

static const char *const colors[CHART_COLORS + 1] = { "#0072b2", "#c44e00", "#00845f", "#b0447f", "#a87400",
						      "#2f8fc4", "#6a4c93", "#6b5a2e", "#7b848c" };

const char *gnuplot_series_color(uint32_t series)
{
	return colors[series % CHART_COLORS];
}

const char *gnuplot_color(const struct result *r, uint32_t cell)
{
	return colors[chart_color(r, cell)];
}

void gnuplot_quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', out);
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, out);
	}
	fputc('\'', out);
}

void gnuplot_comment(FILE *out, const char *text)
{
	fputs("# ", out);
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 ? '?' : *text, out);
	fputc('\n', out);
}

/* Missing numbers as gnuplot's "NaN". */
void gnuplot_number(FILE *out, double v)
{
	if (isfinite(v))
		fprintf(out, " %.6g", v);
	else
		fputs(" NaN", out);
}

void gnuplot_preamble(FILE *out, const char *name, const char *xlabel, const char *ylabel)
{
	fprintf(out,
		"# Draws %s.svg and %s.pdf from %s.dat: gnuplot %s.gp\n"
		"set encoding utf8\n"
		"set border 3 lc rgb '#5c656e'\n"
		"set tics nomirror out\n"
		"set grid lc rgb '#e4e7ea' lt 1\n"
		"set xlabel '%s'\n"
		"set ylabel '%s'\n",
		name, name, name, name, xlabel, ylabel);
}

void gnuplot_svg(FILE *out, const char *name, unsigned height)
{
	fprintf(out,
		"set terminal svg size 900,%u font 'Liberation Sans,13' background '#ffffff' noenhanced\n"
		"set output '%s.svg'\n",
		height, name);
}

void gnuplot_pdf(FILE *out, const char *name, unsigned height)
{
	fprintf(out,
		"unset output\n"
		"set terminal pdfcairo size %.2fin,%.2fin font 'Liberation Sans,10' noenhanced\n"
		"set output '%s.pdf'\n"
		"replot\n"
		"unset output\n",
		900 / 128.0, height / 128.0, name);
}
