/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BASE_LOG_H
#define TARE_BASE_LOG_H

/*
 * Libraries do not print. What they have to say goes through one callback that
 * main sets once, before any thread starts (the only file-scope state here).
 * Without a callback, messages are dropped. Never called from a measured loop.
 */

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

typedef void log_fn(void *context, enum log_level level, const char *message);

void log_to(log_fn *fn, void *context);

void log_msg(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_msg(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_msg(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_msg(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_msg(LOG_DEBUG, __VA_ARGS__)

#endif
