/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/chart_data.h"
#include "report/figures_private.h"

/* Figures of transit campaigns (the chain) and of quantities: by cell, and along axes that are numbers. */

/* --- the chain, as stacked bars --- */

static bool has_chain(const struct cell_result *c)
{
	return c->chain_count == CHAIN_LINKS;
}

bool chain_data(const struct result *r, FILE *out)
{
	bool something = false;
	unsigned row = 0;

	fputs("# row, then for each link of the chain from tx its step in us: they add up to the median of rx - tx\n",
	      out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		if (!has_chain(&r->cells[i]))
			continue;
		gnuplot_comment(out, r->cells[i].label);
		fprintf(out, "%u", ++row);
		for (uint32_t k = 0; k < CHAIN_LINKS; k++)
			gnuplot_number(out, r->cells[i].chain[k].step_ns / 1000);
		fputc('\n', out);
		something = true;
	}
	return something;
}

/* A bar from what the links before add up to, to that and this one: columns 2 to k + 1 of the data. */
static void chain_sum(FILE *out, uint32_t links)
{
	fputs("(0", out);
	for (uint32_t k = 0; k < links; k++)
		fprintf(out, "+$%" PRIu32, k + 2);
	fputc(')', out);
}

bool chain_script(const struct result *r, FILE *out)
{
	static const char *const fills[CHAIN_LINKS] = { "#9aa7b5", "#5b8db8", "#c2553d", "#8db85b", "#b5a79a" };
	unsigned rows = 0, height;
	const struct cell_result *any = NULL;

	gnuplot_preamble(out, "chain", "median since tx, us", "");
	fputs("set key above center horizontal Left reverse\nunset ylabel\nset style fill solid 1 noborder\nset ytics "
	      "(",
	      out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		if (!has_chain(&r->cells[i]))
			continue;
		any = &r->cells[i];
		fputs(rows ? ", " : "", out);
		gnuplot_quoted(out, r->cells[i].title);
		fprintf(out, " %u", ++rows);
	}
	height = 150 + rows * 30;
	fprintf(out, ")\nset yrange [%u.5:0.5]\nset xrange [0:*]\n", rows);
	gnuplot_svg(out, "chain", height);
	fputs("plot", out);
	for (uint32_t k = 0; any && k < CHAIN_LINKS; k++) {
		fprintf(out, "%s \\\n 'chain.dat' using ", k ? "," : "");
		chain_sum(out, k);
		fputs(":1:", out);
		chain_sum(out, k);
		fputc(':', out);
		chain_sum(out, k + 1);
		fprintf(out, ":($1-0.36):($1+0.36) with boxxyerror lc rgb '%s' title ", fills[k]);
		gnuplot_quoted(out, any->chain[k].name);
	}
	fputs(any ? "\n" : " NaN\n", out);
	gnuplot_pdf(out, "chain", height);
	return true;
}

/* --- quantities, and the gross median, along axes --- */

/* Which sweeps are drawn: of what a summary is about. */
static bool is_drawn(const struct result *r, const struct sweep_result *s)
{
	for (uint32_t i = 0; i < r->quantity_count && i < r->headlines; i++)
		if (strcmp(s->quantity, r->quantities[i].name) == 0)
			return true;
	return result_has_probes(r);
}

bool sweeps_data(const struct result *r, FILE *out)
{
	bool something = false;

	fputs("# x in the unit of its axis, value, 95 % interval low, high; a block a series\n", out);
	for (uint32_t i = 0; i < r->sweep_count; i++) {
		const struct sweep_result *s = &r->sweeps[i];

		for (uint32_t k = 0; is_drawn(r, s) && k < s->series_count; k++) {
			const struct sweep_series *series = &s->series[k];

			fprintf(out, "# %s along %s: ", s->quantity, s->axis);
			gnuplot_comment(out, series->name);
			for (uint32_t n = 0; n < series->point_count; n++) {
				const struct sweep_point *p = &series->points[n];
				bool interval = span_is(&p->interval);

				fprintf(out, "%.9g", p->x);
				gnuplot_number(out, p->value);
				gnuplot_number(out, interval ? p->interval.low : p->value);
				gnuplot_number(out, interval ? p->interval.high : p->value);
				fputc('\n', out);
				something |= isfinite(p->value);
			}
			fputs("\n\n", out);
		}
	}
	return something;
}

/* The least above 0 and the largest, of x or of the values. */
static void ends_of(const struct sweep_result *s, bool of_x, double *ret_least, double *ret_most)
{
	*ret_least = INFINITY;
	*ret_most = 0;
	for (uint32_t k = 0; k < s->series_count; k++)
		for (uint32_t n = 0; n < s->series[k].point_count; n++) {
			const struct sweep_point *p = &s->series[k].points[n];
			double v = of_x ? p->x : p->value;

			if (!isfinite(v))
				continue;
			if (v > 0)
				*ret_least = fmin(*ret_least, v);
			*ret_most = fmax(*ret_most, v);
		}
}

/* Ticks where the plan has values, by their own names: what is 0 stands left of the rest, as a logarithm has no room. */
static double sweep_ticks(const struct sweep_result *s, FILE *out)
{
	double least, most, zero;
	bool any = false;

	ends_of(s, true, &least, &most);
	zero = chart_wants_log(least, most) ? least / 4 : 0;
	if (chart_wants_log(least, most))
		fprintf(out, "set logscale x\nset xrange [%.9g:%.9g]\nset xtics (",
			zero * 0.9 < least ? zero * 0.9 : least, most * 1.1);
	else
		fprintf(out, "unset logscale x\nset xrange [0:%.9g]\nset xtics (", most * 1.03);
	for (uint32_t k = 0; k < s->series_count; k++)
		for (uint32_t n = 0; n < s->series[k].point_count; n++) {
			const struct sweep_point *p = &s->series[k].points[n];

			fputs(any ? ", " : "", out);
			gnuplot_quoted(out, p->at);
			fprintf(out, " %.9g", p->x > 0 ? p->x : zero);
			any = true;
		}
	fputs(")\n", out);
	return zero;
}

static void sweep_panel(const struct result *r, const struct sweep_result *s, uint32_t *index, FILE *out)
{
	double least, most, zero = sweep_ticks(s, out);

	ends_of(s, false, &least, &most);
	fprintf(out, "%s y\nset yrange [%s:*]\nset xlabel ",
		chart_wants_log(least, most) ? "set logscale" : "unset logscale",
		chart_wants_log(least, most) ? "*" : "0");
	gnuplot_quoted(out, s->axis);
	fputs("\nset ylabel ", out);
	gnuplot_quoted(out, result_has_probes(r) ? "in-switch median, us" : s->quantity);
	fputs("\nplot", out);
	for (uint32_t k = 0; k < s->series_count; k++) {
		/* a point of another kind where the colours begin again */
		fprintf(out,
			"%s \\\n 'sweeps.dat' index %" PRIu32 " using ($1>0?$1:%.9g):2:3:4 with yerrorlines pt %" PRIu32
			" ps 0.7 lw 1.5 lc rgb '%s' title ",
			k ? "," : "", (*index)++, zero, 7 + 2 * (k / CHART_COLORS % 3), gnuplot_series_color(k));
		gnuplot_quoted(out, s->series[k].name);
	}
	fputs("\nunset ylabel\n", out);
}

static void sweep_panels(const struct result *r, unsigned panels, FILE *out)
{
	uint32_t index = 0;

	fprintf(out, "set multiplot layout %u,1\n", panels ? panels : 1);
	for (uint32_t i = 0; i < r->sweep_count; i++)
		if (is_drawn(r, &r->sweeps[i]))
			sweep_panel(r, &r->sweeps[i], &index, out);
	fputs("unset multiplot\nunset output\n", out);
}

/* Panels cannot be replotted: what stands after the terminal is written twice. */
static void panels_as_pdf(FILE *out, const char *name, unsigned height)
{
	fprintf(out,
		"set terminal pdfcairo size %.2fin,%.2fin font 'Liberation Sans,10' noenhanced\n"
		"set output '%s.pdf'\n",
		900 / 128.0, height / 128.0, name);
}

bool sweeps_script(const struct result *r, FILE *out)
{
	unsigned panels = 0, height, keys = 1;

	for (uint32_t i = 0; i < r->sweep_count; i++) {
		if (!is_drawn(r, &r->sweeps[i]))
			continue;
		panels++;
		keys = r->sweeps[i].series_count > keys ? r->sweeps[i].series_count : keys;
	}
	height = 40 + (panels ? panels : 1) * (330 + 10 * keys);
	gnuplot_preamble(out, "sweeps", "", "");
	fputs("set key outside below center horizontal Left reverse\n", out);
	gnuplot_svg(out, "sweeps", height);
	sweep_panels(r, panels, out);
	panels_as_pdf(out, "sweeps", height);
	sweep_panels(r, panels, out);
	return true;
}

/* --- quantities by cell --- */

bool quantities_data(const struct result *r, FILE *out)
{
	bool something = false;

	fputs("# row, value, 95 % interval low, high; a block a quantity, each followed by its restarts: row, value\n",
	      out);
	for (uint32_t i = 0; i < r->quantity_count; i++) {
		gnuplot_comment(out, r->quantities[i].name);
		for (int restarts = 0; restarts < 2; restarts++) {
			for (uint32_t c = 0; c < r->cell_count; c++) {
				const struct quantity_result *q =
					cell_quantity(&r->cells[c], r->quantities[i].name, r->quantities[i].value);

				if (!q || (!restarts && !isfinite(q->value)))
					continue;
				for (uint32_t n = 0; restarts && n < q->restart_count; n++) {
					fprintf(out, "%" PRIu32, c + 1);
					gnuplot_number(out, q->restart_values[n]);
					fputc('\n', out);
				}
				if (restarts)
					continue;
				fprintf(out, "%" PRIu32, c + 1);
				gnuplot_number(out, q->value);
				gnuplot_number(out, span_is(&q->interval) ? q->interval.low : q->value);
				gnuplot_number(out, span_is(&q->interval) ? q->interval.high : q->value);
				fputc('\n', out);
				something = true;
			}
			fputs("0 NaN NaN NaN\n\n\n", out);
		}
	}
	return something;
}

static void quantity_panels(const struct result *r, uint32_t panels, FILE *out)
{
	fprintf(out, "set multiplot layout %" PRIu32 ",1\n", panels ? panels : 1);
	for (uint32_t i = 0; i < panels; i++) {
		double least = INFINITY, most = 0;

		for (uint32_t c = 0; c < r->cell_count; c++) {
			const struct quantity_result *q =
				cell_quantity(&r->cells[c], r->quantities[i].name, r->quantities[i].value);

			if (!q || !isfinite(q->value))
				continue;
			least = fmin(least, q->value);
			most = fmax(most, q->value);
		}
		fprintf(out, "%s x\nset xrange [%s:*]\nset xlabel ",
			chart_wants_log(least, most) ? "set logscale" : "unset logscale",
			chart_wants_log(least, most) || least < 0 ? "*" : "0");
		char label[160];

		snprintf(label, sizeof(label), "%.80s%s%.60s", r->quantities[i].name,
			 r->quantities[i].value[0] ? ", " : "", r->quantities[i].value);
		gnuplot_quoted(out, label);
		fprintf(out,
			"\nplot 'quantities.dat' index %" PRIu32
			" using 2:1 with points pt 6 ps 0.6 lc rgb '#7b848c', \\\n"
			" 'quantities.dat' index %" PRIu32
			" using 2:1:3:4 with xerrorbars pt 7 ps 0.7 lw 1.6 lc rgb '#0072b2'\n",
			2 * i + 1, 2 * i);
	}
	fputs("unset multiplot\nunset output\n", out);
}

enum { QUANTITY_PANELS = 4 };

bool quantities_script(const struct result *r, FILE *out)
{
	uint32_t panels = r->quantity_count < QUANTITY_PANELS ? r->quantity_count : QUANTITY_PANELS;
	unsigned height = 60 + (panels ? panels : 1) * (70 + r->cell_count * 20);

	gnuplot_preamble(out, "quantities", "", "");
	fputs("unset key\nunset ylabel\nset ytics (", out);
	for (uint32_t c = 0; c < r->cell_count; c++) {
		fputs(c ? ", " : "", out);
		gnuplot_quoted(out, r->cells[c].title);
		fprintf(out, " %" PRIu32, c + 1);
	}
	fprintf(out, ")\nset yrange [%" PRIu32 ".5:0.5]\n", r->cell_count);
	gnuplot_svg(out, "quantities", height);
	quantity_panels(r, panels, out);
	panels_as_pdf(out, "quantities", height);
	quantity_panels(r, panels, out);
	return true;
}
