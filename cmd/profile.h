/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile.h - cost profiles: kept, stored, loaded, and fitted to what was recorded. */
#ifndef PAGEREEL_CMD_PROFILE_H
#define PAGEREEL_CMD_PROFILE_H

#include "cmd/out.h"
#include "replay/fit.h"
#include "replay/replay.h"
#include "schema/schema.h"

/* A profile that owns its entries and texts. Zeroed is empty; profile_release(). */
struct profile {
	struct cost_profile cost;	/* what replay takes */
	struct cost_entry *entries;
	size_t room;
	char name[64];
	struct fit fit;			/* how it came about; nr_samples 0: not fitted */
	char method[120];
};

int profile_copy(struct profile *profile, const struct cost_profile *from, struct err *err);
/* Adds the entry of @operation, or replaces it. 0 or -ENOMEM. */
int profile_set(struct profile *profile, const char *operation, double ns, double stderr_ns,
		const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Names it PREFIX-HASH after what is in it: equal names, equal prices. */
void profile_name(struct profile *profile, const char *prefix);
void profile_release(struct profile *profile);

int profile_store(struct store *store, const struct profile *profile, struct err *err);
/*
 * @text: the name of a built-in profile, of one in @store, or a database with one (FILE, or
 * FILE:NAME if it has several). -ENOENT, -EINVAL with the names there are.
 */
int profile_load(struct profile *profile, struct store *store, const char *text, struct err *err);

/* ---- fitting --------------------------------------------------------------------------------- */

/* The operations of an episode of reclaim, in the order in which they keep prices. */
enum reclaim_term {
	TERM_PAGE, TERM_CALL, TERM_BATCH, TERM_FOLIO, TERM_NODE, TERM_SCAN, TERM_REFILL,
	TERM_ROTATE, TERM_ACTIVATE, TERM_SHRINK, TERM_OBJECT, TERM_WRITE_OUT, NR_TERMS
};

extern const char *const reclaim_terms[NR_TERMS];	/* "reclaim.page", ... */

/* A piece of reclaim that was timed: what was done, and what of that was recorded as it was. */
struct episode {
	uint32_t pid;
	uint64_t start_ns, end_ns;
	double spent_ns;	/* CPU time, or wall time where that is unknown */
	double count[NR_TERMS];
	double nr_vmscan, nr_page;	/* events recorded inside */
};

struct episodes {
	struct episode *episode;
	size_t nr, room;
	size_t nr_wall;			/* of them, with wall time in place of CPU time */
	bool has_scans, has_deletes;	/* recorded: so 0 counts are known to be 0 */
};

/* Adds those of a capture, of its limited memcg's tasks if it has one. */
int episodes_load(struct episodes *episodes, struct store *store, int64_t capture_id,
		  struct err *err);
void episodes_release(struct episodes *episodes);

/*
 * Prices of @episodes' operations, corrected for the recording by the prices "trace.vmscan" and
 * "trace.page" of @profile, put into it in place of what it had.
 */
int profile_fit(struct profile *profile, const struct episodes *episodes, struct err *err);

/* Its own price, or one that was kept? */
bool profile_is_fitted(const struct profile *profile, int term);

/* A row per operation on stdout. */
int profile_print(const struct profile *profile, enum out_format format);
/* Some sentences about how it was fitted, for people. */
void profile_tell(FILE *out, const struct profile *profile, const struct episodes *episodes);

#endif
