// SPDX-License-Identifier: GPL-2.0-or-later
/* interrupt.c - Ctrl-C ends the running query. */
#include "cmd/interrupt.h"

/* SIGINT: interrupt; SIGUSR1, sent to this thread alone: the end. */
static void *interrupt_wait(void *arg)
{
	struct interrupt *interrupt = arg;
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	while (!sigwait(&set, &sig) && sig == SIGINT)
		store_interrupt(interrupt->store);
	return NULL;
}

int interrupt_begin(struct interrupt *interrupt, struct store *store)
{
	sigset_t set;
	int rc;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	interrupt->store = store;
	rc = pthread_sigmask(SIG_BLOCK, &set, &interrupt->old);
	if (rc)
		return -rc;
	rc = pthread_create(&interrupt->thread, NULL, interrupt_wait, interrupt);
	if (rc)
		pthread_sigmask(SIG_SETMASK, &interrupt->old, NULL);
	return -rc;
}

void interrupt_end(struct interrupt *interrupt)
{
	pthread_kill(interrupt->thread, SIGUSR1);
	pthread_join(interrupt->thread, NULL);
	pthread_sigmask(SIG_SETMASK, &interrupt->old, NULL);
}
