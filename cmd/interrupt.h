/* SPDX-License-Identifier: GPL-2.0-or-later */
/* interrupt.h - Ctrl-C ends the running query, not the program: a reader of a database. */
#ifndef PAGEREEL_INTERRUPT_H
#define PAGEREEL_INTERRUPT_H

#include <pthread.h>
#include <signal.h>

#include "schema/schema.h"

struct interrupt {
	struct store *store;
	pthread_t thread;
	sigset_t old;
};

/*
 * From here to interrupt_end(), SIGINT makes the running statement of @store return -EINTR. A
 * thread waits for the signal, so no handler and no global is needed. 0 or -errno.
 */
int interrupt_begin(struct interrupt *interrupt, struct store *store);
void interrupt_end(struct interrupt *interrupt);

#endif
