/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_STORE_CLEAN_H
#define TARE_STORE_CLEAN_H

#include "base/err.h"

/*
 * Put a campaign's directory in order after a run that was killed: merge what its
 * log holds into tare.db, remove the files that only a running tare needs. Each
 * thing done is said; nothing that was recorded is touched. Returns how many
 * things were done (0: it was clean), or -errno: -EBUSY while a tare writes there.
 */
int store_clean(const char *dir, void (*say)(void *context, const char *what), void *context, struct err *err);

#endif
