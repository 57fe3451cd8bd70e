/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_FILE_H
#define TARE_P4RT_FILE_H

#include <stddef.h>

#include "base/err.h"

/* A whole file of at most `limit_bytes`, malloc'ed, with a zero behind it that is not counted. */
int file_read(const char *path, size_t limit_bytes, char **ret_bytes, size_t *ret_length, struct err *err);

#endif
