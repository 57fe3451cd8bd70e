/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_CPUS_H
#define TARE_LAB_CPUS_H

#include <sched.h>
#include <stddef.h>

#include "base/err.h"

/* Sets of CPUs as the kernel writes them: "0-3,6". */
enum { CPUS_TEXT_BYTES = 128 };

/* ERR_USAGE: not such a list, empty, or a number that no set holds; `what` begins the message. */
int cpus_parse(const char *what, const char *text, cpu_set_t *ret, struct err *err);

/* As much as fits, whole ranges; "none" for an empty set. Returns buf. */
const char *cpus_text(const cpu_set_t *cpus, char *buf, size_t size_bytes);

/* Those this process may use. */
int cpus_allowed(cpu_set_t *ret, struct err *err);

#endif
