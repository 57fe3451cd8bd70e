/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_HTML_H
#define TARE_REPORT_HTML_H

#include <stdio.h>

#include "report/result.h"

/*
 * The report as one HTML file that needs nothing else: style and figures are
 * inside, there is no script, and nothing is loaded. Light or dark as the reader's
 * system has it. Well-formed XML, whatever the plan and the target call their things.
 */
int html_write(const struct result *result, FILE *out, struct err *err);

#endif
