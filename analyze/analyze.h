/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * analyze.h - what can be asked of a database: SQL over the version-independent views of schema/, a
 * file each. Nothing here prints.
 */
#ifndef PAGEREEL_ANALYZE_H
#define PAGEREEL_ANALYZE_H

#include "base/base.h"
#include "schema/schema.h"

/* analyze/NAME.sql as text; :capture is a capture id or NULL for all. */
extern const char sql_analyze_info[];
extern const char sql_analyze_info_events[];
extern const char sql_analyze_info_gaps[];
extern const char sql_analyze_info_streams[];
extern const char sql_analyze_info_results[];

#endif
