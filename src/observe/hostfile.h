/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_OBSERVE_HOSTFILE_H
#define TARE_OBSERVE_HOSTFILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Small files of /proc and /sys. `root` goes before the path: "" for this host, a
 * folder for a host that a test made up. Contents come without the newline at
 * their end; false and an empty buffer where the file is not there, or is empty.
 */
bool hostfile_read(const char *root, const char *path, char *buf, size_t size_bytes);

/* The value after the colon of the first "key : value" line, as in /proc/cpuinfo and /proc/meminfo. */
bool hostfile_field(const char *root, const char *path, const char *key, char *buf, size_t size_bytes);

/* Is `word` one of the words of `list`, which spaces part? */
bool hostfile_has_word(const char *list, const char *word);

#endif
