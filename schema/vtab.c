// SPDX-License-Identifier: GPL-2.0-or-later
/* vtab.c - the plumbing between SQLite and a virtual table: see vtab.h. */
#include <errno.h>
#include <string.h>

#include "schema/vtab.h"

int vtab_make(sqlite3 *db, const char *sql, size_t bytes, sqlite3_vtab **vtab)
{
	int rc = sql ? sqlite3_declare_vtab(db, sql) : SQLITE_NOMEM;

	if (rc != SQLITE_OK)
		return rc;
	*vtab = sqlite3_malloc64(bytes);
	if (!*vtab)
		return SQLITE_NOMEM;
	memset(*vtab, 0, bytes);
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	return SQLITE_OK;
}

int vtab_free(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}

/* 0: not for us. */
static char constraint_letter(const struct vtab_table *table, int column, int op)
{
	if (op == SQLITE_INDEX_CONSTRAINT_EQ) {
		if (column < 0 || column >= (int)strlen(table->letters))
			return 0;
		return table->letters[column] == '.' ? 0 : table->letters[column];
	}
	if (column != VTAB_TS_NS)
		return 0;
	if (op == SQLITE_INDEX_CONSTRAINT_GE || op == SQLITE_INDEX_CONSTRAINT_GT)
		return '>';
	return op == SQLITE_INDEX_CONSTRAINT_LE || op == SQLITE_INDEX_CONSTRAINT_LT ? '<' : 0;
}

/* A beginning of capture_id, ts_ns, cpu; without capture_id if there is but one, or by time. */
static bool is_our_order(const struct vtab_table *table, const sqlite3_index_info *info,
			 bool one_capture, bool *by_time)
{
	int next = VTAB_CAPTURE_ID;

	if (!info->nOrderBy)
		return false;
	if (info->aOrderBy[0].iColumn == VTAB_TS_NS && (one_capture || table->any_time_order)) {
		*by_time = !one_capture;
		next = VTAB_TS_NS;
	}
	for (int i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].desc || info->aOrderBy[i].iColumn != next++)
			return false;
	return next <= VTAB_CPU + 1;
}

static double share_of(const struct vtab_table *table, char letter)
{
	if (letter == 't')
		return table->time_share;
	return letter == '<' || letter == '>' ? 1.0 / 3 : 1.0 / 4;
}

int vtab_plan(const struct vtab_table *table, sqlite3_index_info *info)
{
	char letters[64];
	bool one_capture = false, by_time = false;
	double rows = table->rows;
	int nr = 0;

	for (int i = 0; i < info->nConstraint && nr < (int)sizeof(letters) - 1; i++) {
		char letter = constraint_letter(table, info->aConstraint[i].iColumn,
						info->aConstraint[i].op);

		if (!letter || !info->aConstraint[i].usable)
			continue;
		info->aConstraintUsage[i].argvIndex = nr + 1;
		letters[nr++] = letter;
		one_capture |= letter == 'c';
		rows *= share_of(table, letter);
	}
	letters[nr] = '\0';
	info->orderByConsumed = is_our_order(table, info, one_capture, &by_time);
	info->idxNum = info->orderByConsumed && by_time ? VTAB_BY_TIME : 0;
	info->idxStr = sqlite3_mprintf("%s", letters);
	info->needToFreeIdxStr = 1;
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
	info->estimatedCost = rows < table->least_cost ? table->least_cost : rows;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

void vtab_narrow(int64_t *low, int64_t *high, int64_t from, int64_t to)
{
	if (from > *low)
		*low = from;
	if (to < *high)
		*high = to;
}

bool vtab_range_apply(struct vtab_range *range, char letter, sqlite3_value *arg)
{
	int64_t v;

	if (sqlite3_value_type(arg) == SQLITE_NULL)
		return false;
	if (sqlite3_value_type(arg) != SQLITE_INTEGER)
		return true;
	v = sqlite3_value_int64(arg);
	switch (letter) {
	case 'c':
		if (v < 0 || (range->capture_id >= 0 && range->capture_id != v))
			return false;
		range->capture_id = v;
		break;
	case 't':
		vtab_narrow(&range->from_ns, &range->to_ns, v, v);
		break;
	case '>':
		vtab_narrow(&range->from_ns, &range->to_ns, v, INT64_MAX);
		break;
	case '<':
		vtab_narrow(&range->from_ns, &range->to_ns, INT64_MIN, v);
		break;
	}
	return true;
}

int vtab_fail(sqlite3_vtab *vtab, const char *name, int code, const struct err *err)
{
	sqlite3_free(vtab->zErrMsg);
	vtab->zErrMsg = sqlite3_mprintf("%s: %s", name, err->text);
	switch (code) {
	case -EINTR:
		return SQLITE_INTERRUPT;
	case -ENOMEM:
		return SQLITE_NOMEM;
	case -EBADMSG:
		return SQLITE_CORRUPT_VTAB;
	default:
		return SQLITE_ERROR;
	}
}
