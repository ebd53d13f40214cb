/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor.h - the diagnosis of a database (doctor_db.c). */
#ifndef PAGEREEL_CMD_DOCTOR_H
#define PAGEREEL_CMD_DOCTOR_H

#include "analyze/analyze.h"
#include "cmd/cmd.h"
#include "cmd/out.h"

struct diagnosis_options {
	enum out_format format;
	bool all; /* what found nothing or cannot know, too */
	bool no_replay;
	const char *capture; /* as typed; NULL: the first */
	bool wanted[NR_DOCTOR_RULES];
	struct doctor_settings settings[NR_DOCTOR_RULES];
};

/* The exit status: 0 healthy, 1 there are findings, others as everywhere. */
int doctor_diagnose(const struct command *self, const char *path,
		    const struct diagnosis_options *o);
/* Rules with their thresholds; the queries of the wanted ones. */
int doctor_list(const struct command *self, const struct diagnosis_options *o);
int doctor_show_sql(const struct command *self, const struct diagnosis_options *o);

#endif
