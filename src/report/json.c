/* SPDX-License-Identifier: Apache-2.0 */
#include "report/json.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "report/shape.h"

/* --- writing --- */

/* NULL from jansson is out of memory; json_object_set_new and json_array_append_new pass it on as an error. */

static json_t *exact_to_json(double value)
{
	if (isnan(value))
		return json_null();
	if (isinf(value))
		return json_string(value > 0 ? "lost" : "-lost");
	return json_real(value);
}

static json_t *number_to_json(double value)
{
	/* A millionth of a ns is no result: what the last bits of arithmetic do stays out of documents. */
	return exact_to_json(fabs(value) < 1e9 ? round(value * 1e6) / 1e6 : value);
}

static json_t *figure_to_json(const struct figure *f)
{
	if (f->state == FIGURE_REFUSED)
		return f->need ? json_sprintf("n<%" PRIu64, f->need) : json_null();
	return number_to_json(f->value);
}

/* Text that is not UTF-8 (a file name, a hostile plan) must not cost the document: bytes become Latin-1 characters. */
static json_t *text_to_json(const char *text)
{
	json_t *j;
	char *fixed, *to;

	if (!text)
		text = "";
	j = json_string(text);
	if (j)
		return j;
	fixed = to = malloc(2 * strlen(text) + 1);
	if (!fixed)
		return NULL;
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p < 0x80) {
			/* cppcheck-suppress uninitdata ; written here, not read */
			*to++ = (char)*p;
		} else {
			*to++ = (char)(0xc0 | (*p >> 6));
			*to++ = (char)(0x80 | (*p & 0x3f));
		}
	}
	*to = '\0';
	j = json_string(fixed);
	free(fixed);
	return j;
}

static json_t *struct_to_json(const struct shape *shape, const char *base);

static json_t *list_to_json(const struct field *f, const char *base)
{
	json_t *list = json_array();
	uint32_t count;

	memcpy(&count, base + f->count_offset, sizeof(count));
	for (uint32_t i = 0; list && i < count; i++) {
		json_t *item;

		if (f->type == FIELD_TEXTS) {
			item = text_to_json((*(const char ***)(base + f->offset))[i]);
		} else if (f->type == FIELD_NUMBERS) {
			double v = (*(double **)(base + f->offset))[i];

			item = number_to_json(isfinite(v) ? round(v * 1000) / 1000 : v);
		} else if (f->type == FIELD_EXACTS) {
			item = exact_to_json((*(double **)(base + f->offset))[i]);
		} else {
			item = struct_to_json(f->of, *(const char **)(base + f->offset) + i * f->of->size_bytes);
		}
		if (json_array_append_new(list, item) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *field_to_json(const struct field *f, const char *base)
{
	const char *at = base + f->offset;

	switch (f->type) {
	case FIELD_TEXT:
		return text_to_json(*(const char *const *)at);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	case FIELD_COUNT: {
		uint64_t v = *(const uint64_t *)at;

		/* JSON integers end at 2^63 here; only a seed can be larger, and it stays exact as text. */
		return v > INT64_MAX ? json_sprintf("%" PRIu64, v) : json_integer((json_int_t)v);
	}
	case FIELD_COUNT32:
		return json_integer(*(const uint32_t *)at);
	case FIELD_INTEGER:
		return json_integer(*(const int64_t *)at);
	case FIELD_NUMBER:
		return number_to_json(*(const double *)at);
	case FIELD_EXACT:
		return exact_to_json(*(const double *)at);
	case FIELD_FIGURE:
		return figure_to_json((const struct figure *)at);
	case FIELD_OBJECT:
		return struct_to_json(f->of, at);
	case FIELD_TEXTS:
	case FIELD_NUMBERS:
	case FIELD_EXACTS:
	case FIELD_LIST:
		return list_to_json(f, base);
	}
	return NULL;
}

static json_t *struct_to_json(const struct shape *shape, const char *base)
{
	json_t *object = json_object();

	for (const struct field *f = shape->fields; object && f->name; f++) {
		if (json_object_set_new(object, f->name, field_to_json(f, base)) != 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

int result_write_json(const struct result *result, FILE *out, struct err *err)
{
	json_t *root = struct_to_json(&shape_result, (const char *)result);
	int failed;

	if (!root)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory writing the result as JSON");
	failed = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12)) != 0 || fputc('\n', out) == EOF ||
		 fflush(out) != 0;
	json_decref(root);
	if (failed)
		return err_set(err, ERR_HOST, errno ? errno : EIO, "cannot write the result: %s", strerror(errno));
	return 0;
}

/* --- reading --- */

struct reader {
	struct arena *arena;
	char path[256]; /* of the member being read, for messages */
	struct err *err;
};

static int mistyped(struct reader *r, const char *expected)
{
	return err_set(r->err, ERR_USAGE, EINVAL, "%s is not %s", r->path[0] ? r->path : "the document", expected);
}

static int exhausted(struct reader *r)
{
	return err_set(r->err, ERR_HOST, ENOMEM, "out of memory reading the result");
}

static int read_struct(struct reader *r, const struct shape *shape, const json_t *object, char *base);

static int read_number(struct reader *r, const json_t *j, double *ret)
{
	if (json_is_null(j))
		*ret = NAN;
	else if (json_is_number(j))
		*ret = json_number_value(j);
	else if (json_is_string(j) && strcmp(json_string_value(j), "lost") == 0)
		*ret = INFINITY;
	else if (json_is_string(j) && strcmp(json_string_value(j), "-lost") == 0)
		*ret = -INFINITY;
	else
		return mistyped(r, "a number, null or \"lost\"");
	return 0;
}

static int read_figure(struct reader *r, const json_t *j, struct figure *ret)
{
	const char *text = json_string_value(j);
	char *end;
	unsigned long long need;
	double value = NAN;

	if (text && strncmp(text, "n<", 2) == 0) {
		errno = 0;
		need = strtoull(text + 2, &end, 10);
		if (text[2] < '0' || text[2] > '9' || *end || errno || need == 0)
			return mistyped(r, "a number, null, \"lost\" or \"n<COUNT\"");
		*ret = figure_refused(0, need);
		return 0;
	}
	if (read_number(r, j, &value) != 0)
		return -EINVAL;
	if (isnan(value))
		*ret = figure_refused(0, 0);
	else
		*ret = (struct figure){ .state = isinf(value) ? FIGURE_LOST : FIGURE_NUMBER, .value = value };
	return 0;
}

static int read_integer(struct reader *r, const json_t *j, int64_t low, int64_t high, int64_t *ret)
{
	int64_t v = json_is_integer(j) ? json_integer_value(j) : 0;

	if (!json_is_integer(j) || v < low || v > high)
		return mistyped(r, low < 0 ? "an integer" : "a count");
	*ret = v;
	return 0;
}

static int read_count(struct reader *r, const json_t *j, uint64_t *ret)
{
	int64_t v = 0;
	char *end;

	if (json_is_string(j)) {
		const char *text = json_string_value(j);

		errno = 0;
		*ret = strtoull(text, &end, 10);
		return *text < '0' || *text > '9' || *end || errno ? mistyped(r, "a count") : 0;
	}
	if (read_integer(r, j, 0, INT64_MAX, &v) != 0)
		return -EINVAL;
	*ret = (uint64_t)v;
	return 0;
}

static int read_list(struct reader *r, const struct field *f, const json_t *j, char *base)
{
	size_t size = f->type == FIELD_LIST    ? f->of->size_bytes
		      : f->type == FIELD_TEXTS ? sizeof(char *)
					       : sizeof(double);
	size_t count = json_array_size(j), length = strlen(r->path);
	uint32_t count32 = (uint32_t)count;
	char *items;
	int rc = 0;

	if (!json_is_array(j))
		return mistyped(r, "a list");
	items = count <= UINT32_MAX ? arena_array(r->arena, count ? count : 1, size) : NULL;
	if (!items)
		return exhausted(r);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		const json_t *item = json_array_get(j, i);

		snprintf(r->path + length, sizeof(r->path) - length, "[%zu]", i);
		if (f->type == FIELD_LIST) {
			rc = read_struct(r, f->of, item, items + i * size);
		} else if (f->type == FIELD_NUMBERS || f->type == FIELD_EXACTS) {
			rc = read_number(r, item, (double *)items + i);
		} else if (!json_is_string(item)) {
			rc = mistyped(r, "text");
		} else {
			char *copy = arena_strdup(r->arena, json_string_value(item));

			((const char **)items)[i] = copy;
			rc = copy ? 0 : exhausted(r);
		}
	}
	r->path[length] = '\0';
	*(char **)(base + f->offset) = items;
	memcpy(base + f->count_offset, &count32, sizeof(count32));
	return rc;
}

static int read_field(struct reader *r, const struct field *f, const json_t *j, char *base)
{
	char *at = base + f->offset;
	int64_t v;

	switch (f->type) {
	case FIELD_TEXT:
		if (!json_is_string(j))
			return mistyped(r, "text");
		*(const char **)at = arena_strdup(r->arena, json_string_value(j));
		return *(const char **)at ? 0 : exhausted(r);
	case FIELD_BOOL:
		if (!json_is_boolean(j))
			return mistyped(r, "true or false");
		*(bool *)at = json_is_true(j);
		return 0;
	case FIELD_COUNT:
		return read_count(r, j, (uint64_t *)at);
	case FIELD_COUNT32:
		if (read_integer(r, j, 0, UINT32_MAX, &v) != 0)
			return -EINVAL;
		*(uint32_t *)at = (uint32_t)v;
		return 0;
	case FIELD_INTEGER:
		return read_integer(r, j, INT64_MIN, INT64_MAX, (int64_t *)at);
	case FIELD_NUMBER:
	case FIELD_EXACT:
		return read_number(r, j, (double *)at);
	case FIELD_FIGURE:
		return read_figure(r, j, (struct figure *)at);
	case FIELD_OBJECT:
		return read_struct(r, f->of, j, at);
	case FIELD_TEXTS:
	case FIELD_NUMBERS:
	case FIELD_EXACTS:
	case FIELD_LIST:
		return read_list(r, f, j, base);
	}
	return -EINVAL;
}

/* What a member that is missing looks like. */
static void set_absent(const struct field *f, char *base)
{
	if (f->type == FIELD_TEXT)
		*(const char **)(base + f->offset) = "";
	else if (f->type == FIELD_NUMBER || f->type == FIELD_EXACT)
		*(double *)(base + f->offset) = NAN;
	else if (f->type == FIELD_OBJECT)
		for (const struct field *sub = f->of->fields; sub->name; sub++)
			set_absent(sub, base + f->offset);
}

static int read_struct(struct reader *r, const struct shape *shape, const json_t *object, char *base)
{
	size_t length = strlen(r->path);
	int rc = 0;

	if (!json_is_object(object))
		return mistyped(r, "an object");
	for (const struct field *f = shape->fields; rc == 0 && f->name; f++) {
		const json_t *j = json_object_get(object, f->name);

		if (!j) {
			set_absent(f, base);
			continue;
		}
		snprintf(r->path + length, sizeof(r->path) - length, "%s%s", length ? "." : "", f->name);
		rc = read_field(r, f, j, base);
	}
	r->path[length] = '\0';
	return rc;
}

static int check_ratios(const struct result *result, struct err *err)
{
	for (uint32_t i = 0; i < result->ratio_count; i++) {
		const struct ratio_result *q = &result->ratios[i];

		if (q->cell >= result->cell_count || q->base >= result->cell_count)
			return err_set(err, ERR_USAGE, EINVAL, "ratios[%u] is of cells %u and %u, but there are %u", i,
				       q->cell, q->base, result->cell_count);
		/* a result from before there were families has none */
		if (result->family_count && q->family >= result->family_count)
			return err_set(err, ERR_USAGE, EINVAL, "ratios[%u].family is %u, but there are %u families", i,
				       q->family, result->family_count);
	}
	return 0;
}

static int check_searches(const struct result *result, struct err *err)
{
	for (uint32_t i = 0; i < result->search_count; i++)
		if (result->searches[i].cell >= result->cell_count)
			return err_set(err, ERR_USAGE, EINVAL, "searches[%u].cell is %u, but there are %u cells", i,
				       result->searches[i].cell, result->cell_count);
	return 0;
}

/* Members that must agree with each other before a renderer may index by them. */
static int check_whole(const struct result *result, struct err *err)
{
	for (uint32_t i = 0; i < result->restart_count; i++)
		if (result->restarts[i].cell >= result->cell_count)
			return err_set(err, ERR_USAGE, EINVAL, "restarts[%u].cell is %u, but there are %u cells", i,
				       result->restarts[i].cell, result->cell_count);
	for (uint32_t i = 0; i < result->block_count; i++)
		if (result->blocks[i].cell >= result->cell_count)
			return err_set(err, ERR_USAGE, EINVAL, "blocks[%u].cell is %u, but there are %u cells", i,
				       result->blocks[i].cell, result->cell_count);
	return check_ratios(result, err) < 0 ? -EINVAL : check_searches(result, err);
}

static int check_quantities(const json_t *cell, size_t of, struct err *err)
{
	const json_t *quantities = json_object_get(cell, "quantities"), *q;
	size_t i;

	json_array_foreach(quantities, i, q)
	{
		if (json_array_size(json_object_get(q, "restart_orders")) !=
		    json_array_size(json_object_get(q, "restart_values")))
			return err_set(err, ERR_USAGE, EINVAL,
				       "cells[%zu].quantities[%zu].restart_orders and restart_values differ in length",
				       of, i);
	}
	return 0;
}

/* Lists of one cell share a count in the struct; in the document each has its own length. */
static int check_lists(const json_t *root, struct err *err)
{
	static const char *const groups[][4] = { { "ecdf_p", "ecdf_ns", "ecdf_low_ns", "ecdf_high_ns" },
						 { "packet_id", "packet_ns", "packet_ns", "packet_ns" } };
	const json_t *cells = json_object_get(root, "cells"), *cell;
	size_t i;

	json_array_foreach(cells, i, cell)
	{
		for (size_t g = 0; g < 2; g++)
			for (size_t m = 1; m < 4; m++) {
				const char *first = groups[g][0], *other = groups[g][m];

				if (json_array_size(json_object_get(cell, first)) !=
				    json_array_size(json_object_get(cell, other)))
					return err_set(err, ERR_USAGE, EINVAL, "cells[%zu].%s and %s differ in length",
						       i, first, other);
			}
		if (check_quantities(cell, i, err) != 0)
			return -EINVAL;
		if (json_array_size(json_object_get(cell, "values")) > json_array_size(json_object_get(root, "axes")))
			return err_set(err, ERR_USAGE, EINVAL, "cells[%zu].values is longer than axes", i);
	}
	return 0;
}

static int load(const json_t *root, struct result **ret_result, struct err *err)
{
	const json_t *schema = json_object_get(root, "schema");
	struct result *result;
	struct reader r = { .err = err };
	int rc;

	if (!json_is_integer(schema))
		return err_set(err, ERR_USAGE, EINVAL, "not a result of tare: it has no \"schema\" number");
	if (json_integer_value(schema) < 1 || json_integer_value(schema) > RESULT_SCHEMA)
		return err_set(err, ERR_USAGE, EINVAL, "result schema %lld; this version of tare reads 1 to %d",
			       (long long)json_integer_value(schema), RESULT_SCHEMA);
	rc = check_lists(root, err);
	if (rc != 0)
		return rc;
	result = calloc(1, sizeof(*result));
	if (!result)
		return exhausted(&r);
	arena_init(&result->arena, (size_t)1 << 30);
	r.arena = &result->arena;
	rc = read_struct(&r, &shape_result, root, (char *)result);
	if (rc == 0)
		rc = check_whole(result, err);
	if (rc != 0) {
		result_destroy(result);
		return rc;
	}
	*ret_result = result;
	return 0;
}

static int load_parsed(json_t *root, const json_error_t *at, const char *path, struct result **ret_result,
		       struct err *err)
{
	int rc;

	if (!root)
		return err_set(err, ERR_USAGE, EINVAL, "%s:%d:%d: not JSON: %s", path, at->line, at->column, at->text);
	rc = load(root, ret_result, err);
	json_decref(root);
	return rc ? err_wrap(err, "%s", path) : 0;
}

int result_load_text(const char *text, size_t length, const char *path, struct result **ret_result, struct err *err)
{
	json_error_t at;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);

	return load_parsed(root, &at, path, ret_result, err);
}

int result_load(const char *path, struct result **ret_result, struct err *err)
{
	json_error_t at;
	FILE *f = fopen(path, "rb");
	json_t *root;

	if (!f)
		return err_set(err, ERR_USAGE, errno, "%s: %s", path, strerror(errno));
	root = json_loadf(f, JSON_REJECT_DUPLICATES, &at);
	fclose(f);
	return load_parsed(root, &at, path, ret_result, err);
}
