// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * live_command.c - the command of a live capture: forked before threads are there, held at a gate
 * until everything is set up, and reaped.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/live.h"

void live_command_init(struct live_command *c)
{
	*c = (struct live_command){ .gate_fd = -1, .exec_fd = -1 };
}

static void child_run(char *const *argv, const sigset_t *signals, int gate, int report)
{
	char byte;
	int code;

	if (read(gate, &byte, 1) != 1)
		_exit(127);	/* the capture did not come about */
	pthread_sigmask(SIG_SETMASK, signals, NULL);
	execvp(argv[0], argv);
	code = errno;
	if (write(report, &code, sizeof(code)) != sizeof(code))
		_exit(1);
	_exit(code == ENOENT ? 127 : 126);
}

int live_command_fork(struct live_command *c, char *const *argv, const sigset_t *signals,
		      struct err *err)
{
	int gate[2], report[2], code = 0;
	pid_t child;

	if (pipe2(gate, O_CLOEXEC))
		return err_sys(err, -errno, "cannot make a pipe");
	c->gate_fd = gate[1];
	if (pipe2(report, O_CLOEXEC)) {
		code = err_sys(err, -errno, "cannot make a pipe");
		close(gate[0]);
		return code;
	}
	c->exec_fd = report[0];
	child = fork();
	if (child < 0)
		code = err_sys(err, -errno, "cannot start '%s'", argv[0]);
	if (!child) {
		close(gate[1]);
		child_run(argv, signals, gate[0], report[1]);
	}
	close(gate[0]);
	close(report[1]);
	c->pid = child > 0 ? child : 0;
	return code;
}

void live_command_go(struct live_command *c)
{
	if (c->gate_fd < 0)
		return;
	if (write(c->gate_fd, "", 1) != 1)
		kill(c->pid, SIGTERM);
	close(c->gate_fd);
	c->gate_fd = -1;
}

void live_command_reap(struct live_command *c, struct live_result *result)
{
	int status;

	if (c->pid > 0 && waitpid(c->pid, &status, WNOHANG) == c->pid) {
		result->command_status = status;
		c->pid = 0;
		if (read(c->exec_fd, &result->exec_error, sizeof(int)) != sizeof(int))
			result->exec_error = 0;
	}
}

void live_command_stop(struct live_command *c, struct live_result *result)
{
	if (!c->pid)
		return;
	if (c->gate_fd >= 0) {	/* it has not begun: end of file sends it home */
		close(c->gate_fd);
		c->gate_fd = -1;
		waitpid(c->pid, NULL, 0);
		c->pid = 0;
		result->has_command = false;
		return;
	}
	kill(c->pid, SIGTERM);
	for (int i = 0; i < 100 && c->pid; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		live_command_reap(c, result);
	}
}

void live_command_release(struct live_command *c)
{
	if (c->gate_fd >= 0)	/* there was no child to close it for */
		close(c->gate_fd);
	if (c->exec_fd >= 0)
		close(c->exec_fd);
	live_command_init(c);
}
