/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/figures_private.h"

/*
 * Data files hold one block a cell, two empty lines between them, so that a
 * script picks one by `index`. Titles stand in the script only, in single
 * quotes, in which gnuplot reads nothing but the doubled quote.
 */

static const char *const colors[] = { "#0072b2", "#c44e00", "#00845f", "#b0447f",
				      "#a87400", "#2f8fc4", "#6a4c93", "#6b5a2e" };

static const char *color(const struct result *r, uint32_t cell)
{
	unsigned n = 0;

	if (r->cells[cell].is_tare)
		return "#7b848c";
	for (uint32_t i = 0; i < cell; i++)
		n += !r->cells[i].is_tare;
	return colors[n % 8];
}

static void quoted(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', out);
		fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, out);
	}
	fputc('\'', out);
}

static void comment(FILE *out, const char *text)
{
	fputs("# ", out);
	for (; *text; text++)
		fputc((unsigned char)*text < 0x20 ? '?' : *text, out);
	fputc('\n', out);
}

/* Missing numbers as gnuplot's "NaN". */
static void number(FILE *out, double v)
{
	if (isfinite(v))
		fprintf(out, " %.6g", v);
	else
		fputs(" NaN", out);
}

static void preamble(FILE *out, const char *name, const char *xlabel, const char *ylabel)
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

static void svg(FILE *out, const char *name, unsigned height)
{
	fprintf(out,
		"set terminal svg size 900,%u font 'Liberation Sans,13' background '#ffffff' noenhanced\n"
		"set output '%s.svg'\n",
		height, name);
}

static void pdf(FILE *out, const char *name, unsigned height)
{
	fprintf(out,
		"unset output\n"
		"set terminal pdfcairo size %.2fin,%.2fin font 'Liberation Sans,10' noenhanced\n"
		"set output '%s.pdf'\n"
		"replot\n"
		"unset output\n",
		900 / 128.0, height / 128.0, name);
}

/* --- ECDF of gross and tare --- */

bool ecdf_data(const struct result *r, FILE *out)
{
	bool something = false;

	fputs("# gross ns, % of probes sent, lowest restart ns, highest restart ns\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		comment(out, c->label);
		for (uint32_t k = 0; k < c->ecdf_count; k++) {
			number(out, c->ecdf_ns[k]);
			number(out, c->ecdf_p[k]);
			number(out, c->ecdf_low_ns[k]);
			number(out, c->ecdf_high_ns[k]);
			fputc('\n', out);
			something |= isfinite(c->ecdf_ns[k]);
		}
		if (!c->ecdf_count)
			fputs(" NaN NaN NaN NaN\n", out);
		fputs("\n\n", out);
	}
	return something;
}

static double ecdf_end(const struct result *r, bool high)
{
	double end = NAN;

	for (uint32_t i = 0; i < r->cell_count; i++)
		for (uint32_t k = 0; k < r->cells[i].ecdf_count; k++) {
			double p = r->cells[i].ecdf_p[k], v = r->cells[i].ecdf_ns[k];

			if (isfinite(v) && p > 0.9 && p < 99.1)
				end = high ? fmax(end, v) : fmin(end, v);
		}
	return end;
}

bool ecdf_script(const struct result *r, FILE *out)
{
	double low = ecdf_end(r, false), high = ecdf_end(r, true), room = (high - low) * 0.03 + 1;

	preamble(out, "ecdf", "gross latency, rx_path - rx_bypass, ns", "% of probes sent");
	fputs("set key above center horizontal Left reverse\nset yrange [0:100]\n", out);
	if (isfinite(low))
		fprintf(out, "set xrange [%.6g:%.6g]\n", low - room, high + room);
	svg(out, "ecdf", 480);
	fputs("plot", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		fprintf(out, "%s \\\n 'ecdf.dat' index %" PRIu32 " using 1:2 with lines lw 2 lc rgb '%s' title ",
			i ? "," : "", i, color(r, i));
		quoted(out, r->cells[i].title);
	}
	fputs(r->cell_count ? "\n" : " NaN\n", out);
	pdf(out, "ecdf", 480);
	return true;
}

/* --- net by program --- */

bool net_data(const struct result *r, FILE *out)
{
	double row = 0;
	bool something = false;

	fputs("# row, net ns, U (k=2) ns, order interval low ns, high ns, net ns less its error probe by probe; then "
	      "each restart: row, net ns\n",
	      out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		if (c->is_tare)
			continue;
		comment(out, c->label);
		fprintf(out, "%g", ++row);
		number(out, c->net_ns);
		number(out, isfinite(c->expanded_ns) ? c->expanded_ns : 0);
		number(out, c->net_order.low);
		number(out, c->net_order.high);
		number(out, c->net_ns - c->paired_error_ns);
		fputc('\n', out);
		something |= isfinite(c->net_ns);
	}
	fputs("\n\n", out);
	for (uint32_t i = 0; i < r->restart_count; i++) {
		double at = 0;

		for (uint32_t k = 0; k <= r->restarts[i].cell; k++)
			at += !r->cells[k].is_tare;
		if (!isfinite(r->restarts[i].net_ns))
			continue;
		fprintf(out, "%g", at);
		number(out, r->restarts[i].net_ns);
		fputc('\n', out);
	}
	fputs("0 NaN\n", out);
	return something;
}

bool net_script(const struct result *r, FILE *out)
{
	unsigned rows = 0, height;

	preamble(out, "net", "net latency, ns", "");
	fputs("set key above center horizontal Left reverse\nunset ylabel\nset ytics (", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		if (r->cells[i].is_tare)
			continue;
		fputs(rows ? ", " : "", out);
		quoted(out, r->cells[i].title);
		fprintf(out, " %u", ++rows);
	}
	height = 150 + rows * 46;
	fprintf(out, ")\nset yrange [%u.5:0.5]\nset xrange [0:*]\n", rows);
	svg(out, "net", height);
	fputs("plot \\\n"
	      " 'net.dat' index 1 using 2:1 with points pt 6 ps 0.7 lc rgb '#7b848c' title 'restarts', \\\n"
	      " 'net.dat' index 0 using 2:1:3 with xerrorbars pt 7 ps 0.8 lw 2 lc rgb '#0072b2' title 'net ± U (k=2)', "
	      "\\\n"
	      " 'net.dat' index 0 using 6:1 with points pt 12 ps 1.0 lc rgb '#1d2125' title 'truth'\n",
	      out);
	pdf(out, "net", height);
	return true;
}

/* --- restarts in run order --- */

static double restart_residual(const struct result *r, const struct restart_result *s)
{
	const struct figure *cell = &r->cells[s->cell].gross.q[QUANTILE_P50], *own = &s->gross.q[QUANTILE_P50];

	if (strcmp(s->state, "valid") != 0 || own->state != FIGURE_NUMBER || cell->state != FIGURE_NUMBER)
		return NAN;
	return own->value - cell->value;
}

bool restarts_data(const struct result *r, FILE *out)
{
	bool something = false;

	fputs("# run order, gross p50 less the cell's ns, gross p50 ns, net ns, block\n", out);
	for (uint32_t c = 0; c < r->cell_count; c++) {
		comment(out, r->cells[c].label);
		for (uint32_t i = 0; i < r->restart_count; i++) {
			const struct restart_result *s = &r->restarts[i];
			const struct figure *f = &s->gross.q[QUANTILE_P50];

			if (s->cell != c)
				continue;
			fprintf(out, "%" PRIu32, i + 1);
			number(out, restart_residual(r, s));
			number(out, f->state == FIGURE_NUMBER ? f->value : NAN);
			number(out, s->net_ns);
			fprintf(out, " %" PRIu32 "\n", s->block + 1);
			something |= isfinite(restart_residual(r, s));
		}
		fputs("0 NaN NaN NaN 0\n\n\n", out);
	}
	return something;
}

bool restarts_script(const struct result *r, FILE *out)
{
	preamble(out, "restarts", "restart, in run order", "gross median less that of its program, ns");
	fprintf(out,
		"set key above center horizontal Left reverse\nset xrange [0:%" PRIu32
		"]\nset xzeroaxis lc rgb '#5c656e'\n",
		r->restart_count + 1);
	for (uint32_t i = 1; i < r->restart_count; i++)
		if (r->restarts[i].block != r->restarts[i - 1].block)
			fprintf(out, "set arrow from %g, graph 0 to %g, graph 1 nohead dt 3 lc rgb '#b8bfc5'\n",
				i + 0.5, i + 0.5);
	svg(out, "restarts", 420);
	fputs("plot", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		fprintf(out,
			"%s \\\n 'restarts.dat' index %" PRIu32 " using 1:2 with %s pt 7 ps 0.8 lc rgb '%s' title ",
			i ? "," : "", i, r->cells[i].is_tare ? "linespoints" : "points", color(r, i));
		quoted(out, r->cells[i].title);
	}
	fputs(r->cell_count ? "\n" : " NaN\n", out);
	pdf(out, "restarts", 420);
	return true;
}

/* --- residual by packet --- */

bool packets_data(const struct result *r, FILE *out)
{
	bool something = false;

	fputs("# packet of the stream, residual ns\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		comment(out, c->label);
		for (uint32_t k = 0; k < c->packet_count; k++) {
			fprintf(out, "%.0f", c->packet_id[k]);
			number(out, c->packet_ns[k]);
			fputc('\n', out);
			something |= isfinite(c->packet_ns[k]);
		}
		fputs("0 NaN\n\n\n", out);
	}
	return something;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* So far out that 99 of 100 packets of every cell are inside: the panels have one scale, and no outlier sets it. */
static double packet_reach(const struct result *r)
{
	double reach = 1;

	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];
		double *away = c->packet_count ? malloc(c->packet_count * sizeof(*away)) : NULL;

		for (uint32_t k = 0; away && k < c->packet_count; k++)
			away[k] = isfinite(c->packet_ns[k]) ? fabs(c->packet_ns[k]) : 0;
		if (away) {
			qsort(away, c->packet_count, sizeof(*away), ascending);
			reach = fmax(reach, away[(size_t)(0.99 * (c->packet_count - 1))]);
		}
		free(away);
	}
	return reach;
}

static void packet_panels(const struct result *r, unsigned panels, FILE *out)
{
	unsigned left = panels;

	fprintf(out, "set multiplot layout %u,1 margins screen 0.09,0.97,%.3f,%.3f spacing screen 0,%.3f\n",
		panels ? panels : 1, 75.0 / (110 + panels * 150.0), 1 - 30.0 / (110 + panels * 150.0),
		36.0 / (110 + panels * 150.0));
	for (uint32_t i = 0; i < r->cell_count; i++) {
		if (!r->cells[i].packet_count)
			continue;
		fputs(--left ? "set format x ''\nunset xlabel\n" : "set format x\nset xlabel 'packet of the stream'\n",
		      out);
		fputs("set label 1 ", out);
		quoted(out, r->cells[i].title);
		fprintf(out,
			" at graph 0, graph 1.09 left\n"
			"plot 'packets.dat' index %" PRIu32
			" using 1:(edge($2)) with points pt 7 ps 0.25 lc rgb '%s'\n",
			i, color(r, i));
	}
	fputs("unset multiplot\nunset output\n", out);
}

bool packets_script(const struct result *r, FILE *out)
{
	unsigned panels = 0, height;
	double reach = packet_reach(r) * 1.3;

	for (uint32_t i = 0; i < r->cell_count; i++)
		panels += r->cells[i].packet_count > 0;
	height = 110 + (panels ? panels : 1) * 150;
	preamble(out, "packets", "", "residual, ns");
	fprintf(out,
		"unset key\nreach = %.6g\nset yrange [-reach:reach]\nset ytics %.1g\n"
		"# Points beyond the axis stand at its edge.\n"
		"edge(y) = y > reach ? reach : y < -reach ? -reach : y\n",
		reach, reach / 2);
	svg(out, "packets", height);
	packet_panels(r, panels, out);
	fprintf(out,
		"set terminal pdfcairo size %.2fin,%.2fin font 'Liberation Sans,10' noenhanced\n"
		"set output 'packets.pdf'\n",
		900 / 128.0, height / 128.0);
	packet_panels(r, panels, out);
	return true;
}
