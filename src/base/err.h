/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BASE_ERR_H
#define TARE_BASE_ERR_H

/*
 * An error that a person must understand: what went wrong, with the value that
 * was wrong, where it stood and what was expected. Functions that can fail so
 * take a last argument `struct err *` (NULL is allowed: the message is dropped)
 * and return 0 or a negative errno. A bug is not an error: assert it.
 * A measurement fault is not an error either: count it in the result.
 */

/* Whose error it is; decides the exit status of the program. */
enum err_kind {
	ERR_NONE = 0,
	ERR_RESULT = 1,       /* it ran, but a result is invalid or a check failed */
	ERR_USAGE = 2,        /* the plan, the input or the command line is wrong */
	ERR_HOST = 3,         /* the host lacks something, or failed: disk, memory, permission */
	ERR_INTERRUPTED = 130 /* stopped by a signal */
};

struct err {
	enum err_kind kind;
	int code; /* a positive errno value */
	char message[512];
};

/*
 * Fill *e (if not NULL) and return -code, so that a failing function can end
 * with `return err_set(...)`. The first error wins in `err_wrap` chains only;
 * err_set always overwrites.
 */
int err_set(struct err *e, enum err_kind kind, int code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Put context before the message of an error that passes through: "plan.yaml: <message>". Returns -e->code. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The exit status of a program that ends with this error. 0 for NULL or no error. */
int err_exit_status(const struct err *e);

/*
 * A check that stays in release builds: a bug, not an input, makes it fail.
 * Prints the place and aborts.
 */
#define TARE_ASSERT(cond) ((cond) ? (void)0 : err_bug(__FILE__, __LINE__, #cond))

_Noreturn void err_bug(const char *file, int line, const char *condition);

#endif
