/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_OUTPUT_H
#define TARE_REPORT_OUTPUT_H

#include <stdio.h>

#include "report/result.h"

/*
 * Files that appear whole or not at all: written beside their place under another
 * name, then renamed. A failure leaves what was there before.
 */
typedef int output_fn(const struct result *result, FILE *out, void *context, struct err *err);

int output_file(const char *path, output_fn *write, const struct result *result, void *context, struct err *err);

/* The directory, made if it is not there (its parent must be). */
int output_directory(const char *path, struct err *err);

/* html_write and result_write_json to a file. */
int output_html(const char *path, const struct result *result, struct err *err);
int output_json(const char *path, const struct result *result, struct err *err);

#endif
