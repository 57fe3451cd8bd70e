/* SPDX-License-Identifier: Apache-2.0 */
#include "report/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/output.h"
#include "report/shape.h"

static void text_field(FILE *out, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void number_field(FILE *out, double value)
{
	if (isinf(value))
		fputs(value > 0 ? "lost" : "-lost", out);
	else if (!isnan(value))
		fprintf(out, "%.12g", value);
}

static void figure_field(FILE *out, const struct figure *f)
{
	if (f->state != FIGURE_REFUSED)
		number_field(out, f->value);
	else if (f->need)
		fprintf(out, "n<%" PRIu64, f->need);
}

static bool is_plain(const struct field *f)
{
	return f->type != FIELD_LIST && f->type != FIELD_TEXTS && f->type != FIELD_NUMBERS && f->type != FIELD_EXACTS;
}

/* Objects become several columns: "ledger.sent". */
static void head(FILE *out, const struct shape *shape, const char *prefix)
{
	for (const struct field *f = shape->fields; f->name; f++) {
		char name[64];

		if (!is_plain(f))
			continue;
		snprintf(name, sizeof(name), "%s%s", prefix, f->name);
		if (f->type == FIELD_OBJECT) {
			strncat(name, ".", sizeof(name) - strlen(name) - 1);
			head(out, f->of, name);
		} else {
			fputc(',', out);
			fputs(name, out);
		}
	}
}

static void row(FILE *out, const struct shape *shape, const void *item)
{
	for (const struct field *f = shape->fields; f->name; f++) {
		const char *at = (const char *)item + f->offset;

		if (!is_plain(f))
			continue;
		if (f->type == FIELD_OBJECT) {
			row(out, f->of, at);
			continue;
		}
		fputc(',', out);
		if (f->type == FIELD_TEXT)
			text_field(out, *(const char *const *)at ? *(const char *const *)at : "");
		else if (f->type == FIELD_BOOL)
			fputs(*(const bool *)at ? "true" : "false", out);
		else if (f->type == FIELD_COUNT)
			fprintf(out, "%" PRIu64, *(const uint64_t *)at);
		else if (f->type == FIELD_COUNT32)
			fprintf(out, "%" PRIu32, *(const uint32_t *)at);
		else if (f->type == FIELD_INTEGER)
			fprintf(out, "%" PRId64, *(const int64_t *)at);
		else if (f->type == FIELD_NUMBER || f->type == FIELD_EXACT)
			number_field(out, *(const double *)at);
		else
			figure_field(out, (const struct figure *)at);
	}
}

/* --- the files --- */

typedef void table_fn(const struct result *r, FILE *out);

static void cells(const struct result *r, FILE *out)
{
	fputs("campaign", out);
	for (uint32_t a = 0; a < r->axis_count; a++) {
		fputs(",axis.", out);
		text_field(out, r->axes[a]);
	}
	head(out, &shape_cell, "");
	fputs("\r\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		text_field(out, r->name);
		for (uint32_t a = 0; a < r->axis_count; a++) {
			fputc(',', out);
			text_field(out, a < c->value_count ? c->values[a] : "");
		}
		row(out, &shape_cell, c);
		fputs("\r\n", out);
	}
}

static void restarts(const struct result *r, FILE *out)
{
	fputs("label", out);
	head(out, &shape_restart, "");
	fputs("\r\n", out);
	for (uint32_t i = 0; i < r->restart_count; i++) {
		text_field(out, r->cells[r->restarts[i].cell].label);
		row(out, &shape_restart, &r->restarts[i]);
		fputs("\r\n", out);
	}
}

static void runs(const struct result *r, FILE *out)
{
	fputs("label,restart,order", out);
	head(out, &shape_run, "");
	fputs("\r\n", out);
	for (uint32_t i = 0; i < r->restart_count; i++) {
		const struct restart_result *s = &r->restarts[i];

		for (uint32_t j = 0; j < s->run_count; j++) {
			text_field(out, r->cells[s->cell].label);
			fprintf(out, ",%" PRIu32 ",%" PRIu32, s->restart, s->order);
			row(out, &shape_run, &s->runs[j]);
			fputs("\r\n", out);
		}
	}
}

static void ecdf(const struct result *r, FILE *out)
{
	fputs("label,p_percent,gross_ns,lowest_restart_ns,highest_restart_ns\r\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		for (uint32_t k = 0; k < c->ecdf_count; k++) {
			text_field(out, c->label);
			fputc(',', out);
			number_field(out, c->ecdf_p[k]);
			fputc(',', out);
			number_field(out, c->ecdf_ns[k]);
			fputc(',', out);
			number_field(out, c->ecdf_low_ns[k]);
			fputc(',', out);
			number_field(out, c->ecdf_high_ns[k]);
			fputs("\r\n", out);
		}
	}
}

static void packets(const struct result *r, FILE *out)
{
	fputs("label,packet,residual_ns\r\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++) {
		const struct cell_result *c = &r->cells[i];

		for (uint32_t k = 0; k < c->packet_count; k++) {
			text_field(out, c->label);
			fprintf(out, ",%.0f,", c->packet_id[k]);
			number_field(out, c->packet_ns[k]);
			fputs("\r\n", out);
		}
	}
}

static void blocks(const struct result *r, FILE *out)
{
	fputs("label", out);
	head(out, &shape_block, "");
	fputs("\r\n", out);
	for (uint32_t i = 0; i < r->block_count; i++) {
		text_field(out, r->cells[r->blocks[i].cell].label);
		row(out, &shape_block, &r->blocks[i]);
		fputs("\r\n", out);
	}
}

static void budget(const struct result *r, FILE *out)
{
	fputs("label", out);
	head(out, &shape_budget, "");
	fputs("\r\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++)
		for (uint32_t k = 0; k < r->cells[i].budget_count; k++) {
			text_field(out, r->cells[i].label);
			row(out, &shape_budget, &r->cells[i].budget[k]);
			fputs("\r\n", out);
		}
}

static void problems(const struct result *r, FILE *out)
{
	fputs("campaign", out);
	head(out, &shape_problem, "");
	fputs("\r\n", out);
	for (uint32_t i = 0; i < r->problem_count; i++) {
		text_field(out, r->name);
		row(out, &shape_problem, &r->problems[i]);
		fputs("\r\n", out);
	}
}

static void quantities(const struct result *r, FILE *out)
{
	fputs("label", out);
	head(out, &shape_quantity, "");
	fputs("\r\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++)
		for (uint32_t k = 0; k < r->cells[i].quantity_count; k++) {
			text_field(out, r->cells[i].label);
			row(out, &shape_quantity, &r->cells[i].quantities[k]);
			fputs("\r\n", out);
		}
}

/* The restarts that the figures above are medians of. */
static void quantity_restarts(const struct result *r, FILE *out)
{
	fputs("label,name,unit,order,value\r\n", out);
	for (uint32_t i = 0; i < r->cell_count; i++)
		for (uint32_t k = 0; k < r->cells[i].quantity_count; k++) {
			const struct quantity_result *q = &r->cells[i].quantities[k];

			for (uint32_t n = 0; n < q->restart_count; n++) {
				text_field(out, r->cells[i].label);
				fputc(',', out);
				text_field(out, q->name);
				fputc(',', out);
				text_field(out, q->unit);
				fprintf(out, ",%.0f,", q->restart_orders[n]);
				number_field(out, q->restart_values[n]);
				fputs("\r\n", out);
			}
		}
}

static void ratios(const struct result *r, FILE *out)
{
	fputs("quantity,axis,over,base,group", out);
	head(out, &shape_ratio, "");
	fputs("\r\n", out);
	for (uint32_t i = 0; i < r->ratio_count; i++) {
		const struct ratio_family *f = r->family_count ? &r->families[r->ratios[i].family] : NULL;
		const char *const of[] = { f ? f->quantity : "", f ? f->axis : "", f ? f->over : "", f ? f->base : "",
					   f ? f->group : "" };

		for (int k = 0; k < 5; k++) {
			fputs(k ? "," : "", out);
			text_field(out, of[k]);
		}
		row(out, &shape_ratio, &r->ratios[i]);
		fputs("\r\n", out);
	}
}

static void sweeps(const struct result *r, FILE *out)
{
	fputs("quantity,unit,axis,axis_unit,series,exponent", out);
	head(out, &shape_point, "");
	fputs("\r\n", out);
	for (uint32_t i = 0; i < r->sweep_count; i++) {
		const struct sweep_result *s = &r->sweeps[i];

		for (uint32_t k = 0; k < s->series_count; k++)
			for (uint32_t n = 0; n < s->series[k].point_count; n++) {
				const char *const of[] = { s->quantity, s->unit, s->axis, s->axis_unit,
							   s->series[k].name };

				for (int c = 0; c < 5; c++) {
					text_field(out, of[c]);
					fputc(',', out);
				}
				number_field(out, s->series[k].exponent);
				row(out, &shape_point, &s->series[k].points[n]);
				fputs("\r\n", out);
			}
	}
}

static const struct csv_file {
	const char *name;
	table_fn *write;
} files[] = {
	{ "cells.csv", cells },
	{ "restarts.csv", restarts },
	{ "runs.csv", runs },
	{ "ecdf.csv", ecdf },
	{ "packets.csv", packets },
	{ "blocks.csv", blocks },
	{ "budget.csv", budget },
	{ "problems.csv", problems },
	{ "quantities.csv", quantities },
	{ "quantity_restarts.csv", quantity_restarts },
	{ "ratios.csv", ratios },
	{ "sweeps.csv", sweeps },
};

static int write_one(const struct result *r, FILE *out, void *context, struct err *err)
{
	((const struct csv_file *)context)->write(r, out);
	return ferror(out) ? err_set(err, ERR_HOST, EIO, "cannot write CSV: %s", strerror(errno)) : 0;
}

int csv_write(const struct result *r, const char *dir, struct err *err)
{
	int rc = output_directory(dir, err);

	for (size_t i = 0; rc == 0 && i < sizeof(files) / sizeof(files[0]); i++) {
		size_t size = strlen(dir) + strlen(files[i].name) + 2;
		char *path = malloc(size);

		if (!path)
			return err_set(err, ERR_HOST, ENOMEM, "out of memory writing CSV to %s", dir);
		snprintf(path, size, "%s/%s", dir, files[i].name);
		rc = output_file(path, write_one, r, (void *)&files[i], err);
		free(path);
	}
	return rc;
}
