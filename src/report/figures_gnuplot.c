/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/chart_data.h"
#include "report/figures_private.h"

/*
 * Data files hold one block a cell, two empty lines between them, so that a
 * script picks one by `index`. Titles stand in the script only, in single
 * quotes, in which gnuplot reads nothing but the doubled quote.
 */

/* --- ECDF of gross and tare --- */

bool ecdf_data(const struct result *r, FILE *out)
{
	bool something = false;

	fputs("# gross ns, % of probes sent, lowest restart ns, highest restart ns\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		gnuplot_comment(out, c->label);
		for (uint32_t k = 0; k < c->ecdf_count; k++) {
			gnuplot_number(out, c->ecdf_ns[k]);
			gnuplot_number(out, c->ecdf_p[k]);
			gnuplot_number(out, c->ecdf_low_ns[k]);
			gnuplot_number(out, c->ecdf_high_ns[k]);
			fputc('\n', out);
			something |= isfinite(c->ecdf_ns[k]);
		}
		if (!c->ecdf_count)
			fputs(" NaN NaN NaN NaN\n", out);
		fputs("\n\n", out);
	}
	return something;
}

bool ecdf_script(const struct result *r, FILE *out)
{
	const struct chart_scale scale = chart_scale(r);
	double low, high, room;
	char title[128];

	snprintf(title, sizeof(title), "%s, %s", scale.name, scale.unit);
	gnuplot_preamble(out, "ecdf", title, "% of probes sent");
	fputs("set key above center horizontal Left reverse\nset yrange [0:100]\n", out);
	if (chart_ecdf_range_ns(r, &low, &high)) {
		low *= scale.per_ns;
		high *= scale.per_ns;
		room = (high - low) * 0.03 + scale.per_ns;
		if (chart_wants_log(low, high))
			fprintf(out, "set logscale x\nset xrange [%.6g:%.6g]\n", low * 0.9, high * 1.1);
		else
			fprintf(out, "set xrange [%.6g:%.6g]\n", low - room, high + room);
	}
	gnuplot_svg(out, "ecdf", 480);
	fputs("plot", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		fprintf(out, "%s \\\n 'ecdf.dat' index %" PRIu32 " using ($1*%g):2 with lines lw 2 lc rgb '%s' title ",
			i ? "," : "", i, scale.per_ns, gnuplot_color(r, i));
		gnuplot_quoted(out, r->cells[i].title);
	}
	fputs(r->cell_count ? "\n" : " NaN\n", out);
	gnuplot_pdf(out, "ecdf", 480);
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
		gnuplot_comment(out, c->label);
		fprintf(out, "%g", ++row);
		gnuplot_number(out, c->net_ns);
		gnuplot_number(out, isfinite(c->expanded_ns) ? c->expanded_ns : 0);
		gnuplot_number(out, c->net_order.low);
		gnuplot_number(out, c->net_order.high);
		gnuplot_number(out, c->net_ns - c->paired_error_ns);
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
		gnuplot_number(out, r->restarts[i].net_ns);
		fputc('\n', out);
	}
	fputs("0 NaN\n", out);
	return something;
}

bool net_script(const struct result *r, FILE *out)
{
	unsigned rows = 0, height;

	gnuplot_preamble(out, "net", "net latency, ns", "");
	fputs("set key above center horizontal Left reverse\nunset ylabel\nset ytics (", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		if (r->cells[i].is_tare)
			continue;
		fputs(rows ? ", " : "", out);
		gnuplot_quoted(out, r->cells[i].title);
		fprintf(out, " %u", ++rows);
	}
	height = 150 + rows * 46;
	fprintf(out, ")\nset yrange [%u.5:0.5]\nset xrange [0:*]\n", rows);
	gnuplot_svg(out, "net", height);
	fputs("plot \\\n"
	      " 'net.dat' index 1 using 2:1 with points pt 6 ps 0.7 lc rgb '#7b848c' title 'restarts', \\\n"
	      " 'net.dat' index 0 using 2:1:3 with xerrorbars pt 7 ps 0.8 lw 2 lc rgb '#0072b2' title 'net ± U (k=2)', "
	      "\\\n"
	      " 'net.dat' index 0 using 6:1 with points pt 12 ps 1.0 lc rgb '#1d2125' title 'truth'\n",
	      out);
	gnuplot_pdf(out, "net", height);
	return true;
}

/* --- restarts in run order --- */

bool restarts_data(const struct result *r, FILE *out)
{
	bool something = false;

	fputs("# run order, gross p50 less the cell's ns, gross p50 ns, net ns, block\n", out);
	for (uint32_t c = 0; c < r->cell_count; c++) {
		gnuplot_comment(out, r->cells[c].label);
		for (uint32_t i = 0; i < r->restart_count; i++) {
			const struct restart_result *s = &r->restarts[i];
			const struct figure *f = &s->gross.q[QUANTILE_P50];

			if (s->cell != c)
				continue;
			fprintf(out, "%" PRIu32, i + 1);
			gnuplot_number(out, chart_restart_residual_ns(r, s));
			gnuplot_number(out, f->state == FIGURE_NUMBER ? f->value : NAN);
			gnuplot_number(out, s->net_ns);
			fprintf(out, " %" PRIu32 "\n", s->block + 1);
			something |= isfinite(chart_restart_residual_ns(r, s));
		}
		fputs("0 NaN NaN NaN 0\n\n\n", out);
	}
	return something;
}

bool restarts_script(const struct result *r, FILE *out)
{
	const struct chart_scale scale = chart_scale(r);
	char title[128];

	snprintf(title, sizeof(title), "%s less that of its %s, %s", scale.of, scale.cell, scale.unit);
	gnuplot_preamble(out, "restarts", "restart, in run order", title);
	fprintf(out,
		"set key above center horizontal Left reverse\nset xrange [0:%" PRIu32
		"]\nset xzeroaxis lc rgb '#5c656e'\n",
		r->restart_count + 1);
	for (uint32_t i = 1; i < r->restart_count; i++)
		if (r->restarts[i].block != r->restarts[i - 1].block)
			fprintf(out, "set arrow from %g, graph 0 to %g, graph 1 nohead dt 3 lc rgb '#b8bfc5'\n",
				i + 0.5, i + 0.5);
	gnuplot_svg(out, "restarts", 420);
	fputs("plot", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		fprintf(out,
			"%s \\\n 'restarts.dat' index %" PRIu32
			" using 1:($2*%g) with %s pt 7 ps 0.8 lc rgb '%s' title ",
			i ? "," : "", i, scale.per_ns, r->cells[i].is_tare ? "linespoints" : "points",
			gnuplot_color(r, i));
		gnuplot_quoted(out, r->cells[i].title);
	}
	fputs(r->cell_count ? "\n" : " NaN\n", out);
	gnuplot_pdf(out, "restarts", 420);
	return true;
}

/* --- residual by packet --- */

bool packets_data(const struct result *r, FILE *out)
{
	bool something = false;

	fputs("# packet of the stream, residual ns\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		gnuplot_comment(out, c->label);
		for (uint32_t k = 0; k < c->packet_count; k++) {
			fprintf(out, "%.0f", c->packet_id[k]);
			gnuplot_number(out, c->packet_ns[k]);
			fputc('\n', out);
			something |= isfinite(c->packet_ns[k]);
		}
		fputs("0 NaN\n\n\n", out);
	}
	return something;
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
		gnuplot_quoted(out, r->cells[i].title);
		fprintf(out,
			" at graph 0, graph 1.09 left\n"
			"plot 'packets.dat' index %" PRIu32
			" using 1:(edge($2)) with points pt 7 ps 0.25 lc rgb '%s'\n",
			i, gnuplot_color(r, i));
	}
	fputs("unset multiplot\nunset output\n", out);
}

bool packets_script(const struct result *r, FILE *out)
{
	unsigned panels = 0, height;
	double reach = fmax(chart_packet_reach_ns(r), 1) * 1.3;

	for (uint32_t i = 0; i < r->cell_count; i++)
		panels += r->cells[i].packet_count > 0;
	height = 110 + (panels ? panels : 1) * 150;
	gnuplot_preamble(out, "packets", "", "residual, ns");
	fprintf(out,
		"unset key\nreach = %.6g\nset yrange [-reach:reach]\nset ytics %.1g\n"
		"# Points beyond the axis stand at its edge.\n"
		"edge(y) = y > reach ? reach : y < -reach ? -reach : y\n",
		reach, reach / 2);
	gnuplot_svg(out, "packets", height);
	packet_panels(r, panels, out);
	fprintf(out,
		"set terminal pdfcairo size %.2fin,%.2fin font 'Liberation Sans,10' noenhanced\n"
		"set output 'packets.pdf'\n",
		900 / 128.0, height / 128.0);
	packet_panels(r, panels, out);
	return true;
}
