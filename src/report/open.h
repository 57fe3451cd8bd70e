/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_OPEN_H
#define TARE_REPORT_OPEN_H

#include "report/result.h"

/* The result of a campaign's directory, computed from its store; or, of a file, the result saved in it as JSON. */
int result_open(const char *path, struct result **ret_result, struct err *err);

#endif
