/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/format.h"
#include "report/terminal.h"

enum { GAP = 2, MARGIN = 2, PLOT_LEAST = 16, PLOT_MOST = 44 };

/* Length of the UTF-8 character at p, 0 if it is not one. */
static unsigned utf8_length(const unsigned char *p)
{
	unsigned n = p[0] < 0x80             ? 1
		     : (p[0] & 0xe0) == 0xc0 ? 2
		     : (p[0] & 0xf0) == 0xe0 ? 3
		     : (p[0] & 0xf8) == 0xf0 ? 4
					     : 0;

	for (unsigned i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

static bool is_control(const unsigned char *p, unsigned length)
{
	/* C0, DEL, and C1 (U+0080 to U+009F), which some terminals obey too. */
	return (length == 1 && (p[0] < 0x20 || p[0] == 0x7f)) || (length == 2 && p[0] == 0xc2 && p[1] < 0xa0);
}

unsigned terminal_text(FILE *out, const char *text)
{
	unsigned columns = 0;

	for (const unsigned char *p = (const unsigned char *)text; *p; columns++) {
		unsigned n = utf8_length(p);

		if (n == 0 || is_control(p, n))
			fputc('?', out);
		else
			fwrite(p, 1, n, out);
		p += n ? n : 1;
	}
	return columns;
}

unsigned terminal_columns(const char *text)
{
	unsigned columns = 0;

	for (const unsigned char *p = (const unsigned char *)text; *p; columns++) {
		unsigned n = utf8_length(p);

		p += n ? n : 1;
	}
	return columns;
}

static void pad(FILE *out, unsigned count)
{
	while (count--)
		fputc(' ', out);
}

struct layout {
	unsigned width[TABLE_COLUMNS_MOST];
	bool shown[TABLE_COLUMNS_MOST];
	unsigned columns, plot_width;
};

static unsigned total_width(const struct layout *l)
{
	unsigned sum = MARGIN;

	for (unsigned c = 0; c < l->columns; c++)
		if (l->shown[c])
			sum += l->width[c] + GAP;
	return sum;
}

static struct layout lay_out(const struct table *t, const struct terminal_style *style)
{
	struct layout l = { 0 };

	for (; t->columns[l.columns].title; l.columns++) {
		unsigned c = l.columns;
		bool used = false;

		l.width[c] = terminal_columns(t->columns[c].title);
		for (unsigned r = 0; r < t->count; r++) {
			unsigned w = terminal_columns(t->rows[r].cell[c]);

			used |= w > 0;
			if (w > l.width[c])
				l.width[c] = w;
		}
		l.shown[c] = used;
	}
	for (;;) {
		unsigned worst = TABLE_COLUMNS_MOST;

		if (total_width(&l) <= style->width + GAP)
			break;
		for (unsigned c = 0; c < l.columns; c++)
			if (l.shown[c] && t->columns[c].optional &&
			    (worst == TABLE_COLUMNS_MOST || t->columns[c].optional > t->columns[worst].optional))
				worst = c;
		if (worst == TABLE_COLUMNS_MOST)
			break;
		l.shown[worst] = false;
	}
	if (t->plot && total_width(&l) + PLOT_LEAST <= style->width)
		l.plot_width = style->width - total_width(&l);
	if (l.plot_width > PLOT_MOST)
		l.plot_width = PLOT_MOST;
	return l;
}

/* Zero to the largest interval end; rows share it. */
static double plot_most(const struct table *t)
{
	double most = 0;

	for (unsigned r = 0; r < t->count; r++)
		if (isfinite(t->rows[r].plot_high))
			most = fmax(most, t->rows[r].plot_high);
	return most;
}

static void draw_plot(FILE *out, const struct table_row *row, unsigned width, double most,
		      const struct terminal_style *style)
{
	double scale = most > 0 ? (width - 1) / most : 0;
	unsigned at = (unsigned)lround(fmax(0, row->plot_at) * scale);
	unsigned low = (unsigned)lround(fmax(0, row->plot_low) * scale);
	unsigned high = (unsigned)lround(fmax(0, row->plot_high) * scale);

	if (!isfinite(row->plot_at) || most <= 0)
		return;
	for (unsigned x = 0; x <= high && x < width; x++) {
		if (x == at)
			fputs(style->utf8 ? "●" : "*", out);
		else if (x >= low)
			fputs(style->utf8 ? "━" : "=", out);
		else if (x == 0)
			fputs(style->utf8 ? "├" : "|", out);
		else
			fputs(style->utf8 ? "┄" : ".", out);
	}
}

static void draw_row(FILE *out, const struct table *t, const struct layout *l, const struct table_row *row,
		     const struct terminal_style *style)
{
	bool trailing = l->plot_width && isfinite(row->plot_at);
	unsigned last = 0;

	for (unsigned c = 0; c < l->columns; c++)
		if (l->shown[c] && (row->cell[c][0] || trailing))
			last = c;
	pad(out, MARGIN);
	for (unsigned c = 0; c <= last; c++) {
		unsigned space = l->width[c] - terminal_columns(row->cell[c]);
		bool bold = style->color && t->columns[c].bold;

		if (!l->shown[c])
			continue;
		if (t->columns[c].right)
			pad(out, space);
		fputs(bold ? "\033[1m" : "", out);
		terminal_text(out, row->cell[c]);
		fputs(bold ? "\033[0m" : "", out);
		if (c == last && !trailing)
			break;
		pad(out, (t->columns[c].right ? 0 : space) + GAP);
	}
	if (trailing)
		draw_plot(out, row, l->plot_width, plot_most(t), style);
	fputc('\n', out);
}

static void draw_head(FILE *out, const struct table *t, const struct layout *l, const struct terminal_style *style)
{
	struct table_row head = { .plot_at = NAN };
	unsigned total = total_width(l), width = total > MARGIN + GAP ? total - MARGIN - GAP : 0;
	double most = plot_most(t);
	char axis[FORMAT_BYTES];

	for (unsigned c = 0; c < l->columns; c++)
		snprintf(head.cell[c], TABLE_CELL_BYTES, "%s", t->columns[c].title);
	fputs(style->color ? "\033[2m" : "", out);
	if (l->plot_width && most > 0) {
		/* The axis: 0 at the left, the largest end at the right. */
		format_value(most, 3, axis);
		for (unsigned c = 0; c < l->columns; c++) {
			unsigned space = l->width[c] - terminal_columns(head.cell[c]);

			if (!l->shown[c])
				continue;
			pad(out, c == 0 ? MARGIN : GAP);
			pad(out, t->columns[c].right ? space : 0);
			fputs(head.cell[c], out);
			pad(out, t->columns[c].right ? 0 : space);
		}
		pad(out, GAP);
		fprintf(out, "0%*s\n", (int)l->plot_width - 1, axis);
		width += GAP + l->plot_width;
	} else {
		draw_row(out, t, l, &head, &(struct terminal_style){ .width = style->width, .utf8 = style->utf8 });
	}
	pad(out, MARGIN);
	while (width--)
		fputs(style->utf8 ? "─" : "-", out);
	fputs(style->color ? "\033[0m\n" : "\n", out);
}

void terminal_table(FILE *out, const struct table *t, const struct terminal_style *style)
{
	struct layout l = lay_out(t, style);

	draw_head(out, t, &l, style);
	for (unsigned r = 0; r < t->count; r++)
		draw_row(out, t, &l, &t->rows[r], style);
}
