// SPDX-License-Identifier: GPL-2.0-or-later
/* err.c - error texts and their exit status. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/base.h"

static bool err_open(const struct err *err)
{
	return err && !err->text[0];
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err_open(err)) {
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return code;
}

int err_sys(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;
	size_t used;

	if (err_open(err)) {
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
		used = strlen(err->text);
		snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(-code));
	}
	return code;
}

int err_exit_status(int code)
{
	switch (-code) {
	case 0:
		return 0;
	case EINVAL:
		return 2;
	case EBADMSG:
	case ENODATA:
		return 3;
	case ENOSPC:
	case EFBIG:
		return 5;
	case EINTR:
		return 130;
	default:
		return code > 0 ? 0 : 4;
	}
}
