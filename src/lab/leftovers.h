/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_LEFTOVERS_H
#define TARE_LAB_LEFTOVERS_H

#include "base/err.h"

/*
 * What a killed tare left of its lab: processes marked with TARE_LAB, then the
 * cables and namespaces named tare-PID-SERIAL-ROLE, then locks. A lab is dead
 * when nobody holds its lock, or, where it has none, when its process is gone.
 * The living are left alone.
 */
typedef void lab_say_fn(void *context, const char *what); /* one thing that was done */

/* How many things were done, or -errno with a message. */
int lab_clean(lab_say_fn *say, void *context, struct err *err);

#endif
