/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CLI_RUN_SIGNALS_H
#define TARE_CLI_RUN_SIGNALS_H

#include <stdatomic.h>

/*
 * Ctrl-C for verbs that run campaigns: the first raises the flag, and the
 * campaign ends within moments; a second quits at once. Signals that were
 * ignored when we started (nohup) stay so.
 */
const atomic_bool *run_signals_catch(void);

unsigned run_terminal_width(int fd); /* 80 where it is no terminal */

#endif
