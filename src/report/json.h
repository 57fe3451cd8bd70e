/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_REPORT_JSON_H
#define TARE_REPORT_JSON_H

#include <stdio.h>

#include "report/result.h"

/*
 * A result as JSON and back, from the tables of report/shape.h. The first member
 * of every document is "schema": this version reads its own schema and older
 * ones; a newer one is refused (ERR_USAGE). Members it does not know are
 * ignored, members that are missing stay absent: a document is not trusted, and
 * a wrong type is an error that names the member's path.
 */
int result_write_json(const struct result *result, FILE *out, struct err *err);

int result_load(const char *path, struct result **ret_result, struct err *err);
int result_load_text(const char *text, size_t length, const char *path, struct result **ret_result, struct err *err);

/* docs/result.schema.json (JSON Schema 2020-12) and docs/result-schema.md, from the same tables. */
int result_write_schema(FILE *out, struct err *err);
int result_write_schema_document(FILE *out, struct err *err);

#endif
