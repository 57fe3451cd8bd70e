/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PROBE_FAR_END_H
#define TARE_PROBE_FAR_END_H

#include "base/err.h"

/*
 * The far end of a measurement on two machines (target/far_link.h): sends what
 * the near one asks for, and ends when its input does. Whatever goes wrong is
 * told to the near end, which says it to the user. 0: the near end has gone.
 */
int far_serve(int in_fd, int out_fd, const char *version, struct err *err);

#endif
