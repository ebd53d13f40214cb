// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze_mrc.c - miss ratio curves on a terminal: memory across (logarithmic), miss ratio up, a
 * letter for each model. Between two sizes a curve is drawn straight; a '*' is more than one curve.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/analyze.h"
#include "cmd/row.h"

enum { CHART_COLUMNS = 64, CHART_LINES = 16, MAX_CURVES = 26, NR_TICKS = 5 };

struct point {
	double memory_pages, miss_ratio;
};

struct curve {
	char *label;
	struct point *points;	/* by memory */
	size_t nr;
};

struct chart {
	struct curve curves[MAX_CURVES];
	int nr_curves;
	int nr_left_out;
	double min_pages, max_pages, max_ratio;
	double recorded_pages;	/* 0: unknown */
	char cell[CHART_LINES][CHART_COLUMNS];
};

/* ---- reading --------------------------------------------------------------------------------- */

static int curve_add_point(struct curve *curve, double memory_pages, double miss_ratio)
{
	/* Grows at powers of two. */
	if (!(curve->nr & (curve->nr - 1))) {
		size_t room = curve->nr ? 2 * curve->nr : 1;
		struct point *more = realloc(curve->points, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		curve->points = more;
	}
	curve->points[curve->nr++] = (struct point){ memory_pages, miss_ratio };
	return 0;
}

/* Rows come curve by curve. NULL: no room for another (or no memory). */
static struct curve *curve_of(struct chart *chart, const char *label)
{
	struct curve *next = &chart->curves[chart->nr_curves];

	if (chart->nr_curves && !strcmp(next[-1].label, label))
		return next - 1;
	if (chart->nr_curves == MAX_CURVES)
		return NULL;
	next->label = strdup(label);
	if (!next->label)
		return NULL;
	chart->nr_curves++;
	return next;
}

static int chart_add(struct chart *chart, const struct query *query)
{
	double pages = row_int(query, "memory_pages"), ratio = row_value(query, "miss_ratio").r;
	struct curve *curve = curve_of(chart, row_value(query, "label").text);

	if (!curve) {
		chart->nr_left_out++;
		return 0;
	}
	if (!chart->min_pages || pages < chart->min_pages)
		chart->min_pages = pages;
	if (pages > chart->max_pages)
		chart->max_pages = pages;
	if (ratio > chart->max_ratio)
		chart->max_ratio = ratio;
	chart->recorded_pages = row_int(query, "recorded_pages");
	return curve_add_point(curve, pages, ratio);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static double column_pages(const struct chart *chart, int column)
{
	double share = (double)column / (CHART_COLUMNS - 1);

	return chart->min_pages * pow(chart->max_pages / chart->min_pages, share);
}

static int pages_column(const struct chart *chart, double pages)
{
	double span = log(chart->max_pages / chart->min_pages);

	return span > 0 ? lround(log(pages / chart->min_pages) / span * (CHART_COLUMNS - 1)) : 0;
}

/* NAN outside of the sizes that the curve has. */
static double curve_at(const struct curve *curve, double pages)
{
	const struct point *p = curve->points;
	/* Columns are rounded: the ends must not fall out by an ulp. */
	double slack = pages * 1e-9;

	if (pages < p[0].memory_pages - slack || pages > p[curve->nr - 1].memory_pages + slack)
		return NAN;
	for (size_t i = 1; i < curve->nr; i++) {
		double from = log(p[i - 1].memory_pages), to = log(p[i].memory_pages);

		if (pages <= p[i].memory_pages)
			return p[i - 1].miss_ratio + (p[i].miss_ratio - p[i - 1].miss_ratio) *
				(log(pages) - from) / (to - from);
	}
	return p[curve->nr - 1].miss_ratio;
}

static void cell_mark(struct chart *chart, int column, double ratio, char mark)
{
	int line = CHART_LINES - 1 - lround(ratio / chart->max_ratio * (CHART_LINES - 1));
	char *cell = &chart->cell[line][column];

	*cell = *cell == ' ' || *cell == '|' ? mark : '*';
}

static void curve_draw(struct chart *chart, int index)
{
	const struct curve *curve = &chart->curves[index];

	if (curve->nr == 1) {
		cell_mark(chart, pages_column(chart, curve->points[0].memory_pages),
			  curve->points[0].miss_ratio, 'a' + index);
		return;
	}
	for (int column = 0; column < CHART_COLUMNS; column++) {
		double ratio = curve_at(curve, column_pages(chart, column));

		if (!isnan(ratio))
			cell_mark(chart, column, ratio, 'a' + index);
	}
}

static bool recorded_inside(const struct chart *chart)
{
	return chart->recorded_pages >= chart->min_pages &&
		chart->recorded_pages <= chart->max_pages;
}

static void chart_draw(struct chart *chart)
{
	memset(chart->cell, ' ', sizeof(chart->cell));
	if (chart->max_ratio <= 0)
		chart->max_ratio = 1;
	if (recorded_inside(chart)) {
		int column = pages_column(chart, chart->recorded_pages);

		for (int line = 0; line < CHART_LINES; line++)
			chart->cell[line][column] = '|';
	}
	for (int i = 0; i < chart->nr_curves; i++)
		curve_draw(chart, i);
}

static void axis_print(const struct chart *chart)
{
	char line[CHART_COLUMNS + 16], text[32];
	int ticks = chart->max_pages > chart->min_pages ? NR_TICKS : 1;

	memset(line, ' ', sizeof(line));
	for (int i = 0; i < ticks; i++) {
		int column = ticks > 1 ? i * (CHART_COLUMNS - 1) / (ticks - 1) : 0;

		format_bytes(text, sizeof(text),
			     (uint64_t)(column_pages(chart, column) + 0.5) * PAGE_BYTES);
		memcpy(line + column, text, strlen(text));
	}
	line[CHART_COLUMNS + 15] = '\0';
	for (int i = CHART_COLUMNS + 14; i && line[i] == ' '; i--)
		line[i] = '\0';
	printf("        %s\n", line);
}

static void recorded_print(const struct chart *chart)
{
	char text[32];

	if (!chart->recorded_pages) {
		printf("recorded size: n/a (the capture does not name a memcg limit)\n");
		return;
	}
	format_bytes(text, sizeof(text), (uint64_t)chart->recorded_pages * PAGE_BYTES);
	printf("recorded size: %s%s\n", text,
	       recorded_inside(chart) ? ", marked |" : " (outside of the chart)");
}

static void chart_print(const struct chart *chart)
{
	printf("miss ratio by memory\n");
	for (int line = 0; line < CHART_LINES; line++) {
		int end = CHART_COLUMNS;

		while (end && chart->cell[line][end - 1] == ' ')
			end--;
		if (line % 5)
			printf("       |");
		else
			printf("%6.4f |", chart->max_ratio * (CHART_LINES - 1 - line) /
			       (CHART_LINES - 1));
		printf("%.*s\n", end, chart->cell[line]);
	}
	printf("       +----------------------------------------------------------------\n");
	axis_print(chart);
	for (int i = 0; i < chart->nr_curves; i++)
		printf("  %c  %s\n", 'a' + i, chart->curves[i].label);
	if (chart->nr_left_out)
		printf("  %d points of more curves are left out (--format csv has all)\n",
		       chart->nr_left_out);
	recorded_print(chart);
}

static int knees_print(const struct analyze_args *args, struct err *err)
{
	struct query *query;
	int code = analyze_query(args, sql_analyze_knees, &query, err);

	if (code)
		return code;
	code = query_step(query, err);
	query_reset(query);
	if (code > 0) {
		printf("\nKnees\n");
		code = out_query_as(stdout, OUT_TABLE, query, NULL, 0, NULL, err);
	}
	query_close(query);
	return code;
}

int analyze_mrc_print(const struct analyze_args *args, uint64_t *nr_rows, struct err *err)
{
	struct chart *chart = calloc(1, sizeof(*chart));
	struct query *query = NULL;
	int code = chart ? analyze_query(args, sql_analyze_mrc, &query, err) : -ENOMEM;

	while (!code && (code = query_step(query, err)) > 0) {
		code = chart_add(chart, query);
		++*nr_rows;
	}
	if (!code && *nr_rows) {
		chart_draw(chart);
		chart_print(chart);
		code = knees_print(args, err);
	}
	query_close(query);
	for (int i = 0; chart && i < chart->nr_curves; i++) {
		free(chart->curves[i].label);
		free(chart->curves[i].points);
	}
	free(chart);
	return code;
}
