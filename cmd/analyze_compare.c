// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * analyze_compare.c - replays side by side: a block for each measure, models down, memory across.
 * The other formats get the flat rows of analyze/compare.sql.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/analyze.h"
#include "cmd/row.h"

/* More sizes than this go into a second table below. */
enum { SIZES_ACROSS = 9, MAX_LABELS = 512, MAX_SIZES = 512 };

static const struct measure {
	const char *column;
	const char *heading;
	enum out_unit unit;
} measures[] = {
	{ "hit_ratio", "Hit ratio", OUT_RATIO },
	{ "fills", "Fills (pages brought in)", OUT_COUNT },
	{ "reclaim_ns", "CPU time of reclaim, modelled", OUT_NS },
	{ "cpu_ns", "CPU time with look-ups, fills and writing back, modelled", OUT_NS },
};

struct grid {
	char *labels[MAX_LABELS];
	int64_t sizes[MAX_SIZES];
	int nr_labels, nr_sizes;
	/* [measure][label][size] */
	struct value (*values)[MAX_LABELS][MAX_SIZES];
};

static int label_index(struct grid *grid, const char *label)
{
	for (int i = grid->nr_labels - 1; i >= 0; i--)
		if (!strcmp(grid->labels[i], label))
			return i;
	if (grid->nr_labels == MAX_LABELS)
		return -E2BIG;
	grid->labels[grid->nr_labels] = strdup(label);
	return grid->labels[grid->nr_labels] ? grid->nr_labels++ : -ENOMEM;
}

/* Sizes are kept in order, so that a late one moves the others: all are known before values. */
static int size_add(struct grid *grid, int64_t size)
{
	int at = grid->nr_sizes;

	while (at && grid->sizes[at - 1] >= size)
		at--;
	if (at < grid->nr_sizes && grid->sizes[at] == size)
		return 0;
	if (grid->nr_sizes == MAX_SIZES)
		return -E2BIG;
	memmove(&grid->sizes[at + 1], &grid->sizes[at],
		(grid->nr_sizes - at) * sizeof(grid->sizes[0]));
	grid->sizes[at] = size;
	grid->nr_sizes++;
	return 0;
}

static int size_index(const struct grid *grid, int64_t size)
{
	int at = 0;

	while (at < grid->nr_sizes && grid->sizes[at] != size)
		at++;
	return at;
}

static int grid_axes(struct grid *grid, struct query *query, struct err *err)
{
	int code, index;

	while ((code = query_step(query, err)) > 0) {
		index = label_index(grid, row_value(query, "label").text);
		code = index < 0 ? index : size_add(grid, row_int(query, "memory_pages"));
		if (code)
			return err_set(err, code, "more than %d models or %d sizes to compare "
				       "(--format csv has no limit)", MAX_LABELS, MAX_SIZES);
	}
	return code;
}

static int grid_fill(struct grid *grid, struct query *query, uint64_t *nr_rows, struct err *err)
{
	int code;

	grid->values = calloc(ARRAY_SIZE(measures), sizeof(*grid->values));
	if (!grid->values)
		return -ENOMEM;
	query_reset(query);
	while ((code = query_step(query, err)) > 0) {
		int label = label_index(grid, row_value(query, "label").text);
		int size = size_index(grid, row_int(query, "memory_pages"));

		++*nr_rows;
		/* A claim of nothing shows as nothing; the coverage below says why. */
		if (!strcmp(row_value(query, "claim").text, "none"))
			continue;
		for (size_t m = 0; m < ARRAY_SIZE(measures); m++)
			grid->values[m][label][size] = row_value(query, measures[m].column);
	}
	return code;
}

static int block_print(const struct grid *grid, size_t measure, int first, int nr)
{
	struct out_column columns[1 + SIZES_ACROSS] = { { .name = "model" } };
	char titles[SIZES_ACROSS][32];
	struct out *out;

	for (int i = 0; i < nr; i++) {
		format_bytes(titles[i], sizeof(titles[i]), grid->sizes[first + i] * PAGE_BYTES);
		columns[1 + i] = (struct out_column){ .name = titles[i],
						      .unit = measures[measure].unit };
	}
	out = out_begin(stdout, OUT_TABLE, columns, 1 + nr);
	if (!out)
		return -ENOMEM;
	for (int label = 0; label < grid->nr_labels; label++) {
		struct value row[1 + SIZES_ACROSS] = { VALUE_OF_TEXT(grid->labels[label]) };

		memcpy(row + 1, &grid->values[measure][label][first], nr * sizeof(row[0]));
		out_row(out, row);
	}
	return out_end(out);
}

static int grid_print(const struct grid *grid)
{
	int code = 0;

	for (size_t m = 0; m < ARRAY_SIZE(measures); m++) {
		printf("%s%s\n", m ? "\n" : "", measures[m].heading);
		for (int first = 0; first < grid->nr_sizes && !code; first += SIZES_ACROSS) {
			int left = grid->nr_sizes - first;

			code = block_print(grid, m, first,
					   left < SIZES_ACROSS ? left : SIZES_ACROSS);
		}
	}
	return code;
}

/* How far the replayed kernel was from the recorded one, and what that means for the table. */
static int errors_print(const struct analyze_args *args, struct err *err)
{
	struct query *query;
	int code = analyze_query(args, sql_analyze_errors, &query, err), nr = 0;

	if (code)
		return code;
	while ((code = query_step(query, err)) > 0) {
		printf("%s%s at %s: fills %+.2f%% against the recording; results closer than that "
		       "are not ranked\n", nr++ ? "" : "\n", row_text(query, "label").text,
		       row_text(query, "memory_pages").text, row_value(query, "fills_error_pct").r);
	}
	query_close(query);
	if (!code && !nr && analysis_find("validate", NULL))
		printf("\nerror against the recording: n/a (pagereel analyze RUN.db validate)\n");
	return code;
}

/* The models of kernels before 6 have no readahead, and in the others it can be turned off. */
static bool reads_ahead(const char *label)
{
	/* "capture 2 linux-6.18" in a table of several captures */
	const char *model = strstr(label, "linux-");

	return model && (model == label || model[-1] == ' ') && !strstr(label, "readahead=off") &&
	       strncmp(model, "linux-2.", strlen("linux-2."));
}

/* Is there a model that reads ahead beside one that takes single pages? */
static bool is_mixed(const struct grid *grid)
{
	int nr_ahead = 0;

	for (int i = 0; i < grid->nr_labels; i++)
		nr_ahead += reads_ahead(grid->labels[i]);
	return nr_ahead && nr_ahead < grid->nr_labels;
}

static void kinds_note_print(const struct grid *grid)
{
	if (is_mixed(grid))
		printf("\nnote: the linux models with readahead bring in pages nobody asked for "
		       "yet (more hits, more fills), the textbook models and opt see single pages "
		       "on demand: compare fills or reclaim CPU within a kind\n");
}

int analyze_compare_print(const struct analyze_args *args, uint64_t *nr_rows, struct err *err)
{
	struct grid *grid = calloc(1, sizeof(*grid));
	struct query *query = NULL;
	int code = -ENOMEM;

	if (!grid)
		return code;
	code = analyze_query(args, sql_analyze_compare, &query, err);
	if (!code)
		code = grid_axes(grid, query, err);
	if (!code && grid->nr_labels)
		code = grid_fill(grid, query, nr_rows, err);
	if (!code && *nr_rows)
		code = grid_print(grid);
	if (!code && *nr_rows) {
		kinds_note_print(grid);
		code = errors_print(args, err);
	}
	query_close(query);
	for (int i = 0; i < grid->nr_labels; i++)
		free(grid->labels[i]);
	free(grid->values);
	free(grid);
	return code;
}
