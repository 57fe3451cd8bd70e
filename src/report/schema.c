/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "report/json.h"
#include "report/shape.h"

/* The document and the JSON Schema of the result, both from the tables in shape.c. */

static const char *type_in_words(const struct field *f)
{
	switch (f->type) {
	case FIELD_TEXT:
		return "text";
	case FIELD_TEXTS:
		return "list of text";
	case FIELD_BOOL:
		return "true or false";
	case FIELD_COUNT:
	case FIELD_COUNT32:
		return "count";
	case FIELD_INTEGER:
		return "integer";
	case FIELD_NUMBER:
	case FIELD_EXACT:
		return "number";
	case FIELD_NUMBERS:
	case FIELD_EXACTS:
		return "list of numbers";
	case FIELD_FIGURE:
		return "figure";
	case FIELD_OBJECT:
	case FIELD_LIST:
		return f->of->name;
	}
	return "";
}

static json_t *reference(const char *name)
{
	return json_pack("{s:o}", "$ref", json_sprintf("#/$defs/%s", name));
}

static json_t *field_schema(const struct field *f)
{
	json_t *j = NULL;

	switch (f->type) {
	case FIELD_TEXT:
		j = json_pack("{s:s}", "type", "string");
		break;
	case FIELD_TEXTS:
		j = json_pack("{s:s, s:{s:s}}", "type", "array", "items", "type", "string");
		break;
	case FIELD_BOOL:
		j = json_pack("{s:s}", "type", "boolean");
		break;
	case FIELD_COUNT:
		j = reference("count");
		break;
	case FIELD_COUNT32:
		j = json_pack("{s:s, s:i}", "type", "integer", "minimum", 0);
		break;
	case FIELD_INTEGER:
		j = json_pack("{s:s}", "type", "integer");
		break;
	case FIELD_NUMBER:
	case FIELD_EXACT:
		j = reference("number");
		break;
	case FIELD_NUMBERS:
	case FIELD_EXACTS:
		j = json_pack("{s:s, s:o}", "type", "array", "items", reference("number"));
		break;
	case FIELD_FIGURE:
		j = reference("figure");
		break;
	case FIELD_OBJECT:
		j = reference(f->of->name);
		break;
	case FIELD_LIST:
		j = json_pack("{s:s, s:o}", "type", "array", "items", reference(f->of->name));
		break;
	}
	if (j) {
		json_t *text = f->unit ? json_sprintf("%s (%s)", f->help, f->unit) : json_string(f->help);

		json_object_set_new(j, "description", text);
	}
	return j;
}

static json_t *shape_schema(const struct shape *shape)
{
	json_t *properties = json_object(), *required = json_array();

	for (const struct field *f = shape->fields; f->name; f++) {
		json_object_set_new(properties, f->name, field_schema(f));
		json_array_append_new(required, json_string(f->name));
	}
	return json_pack("{s:s, s:s, s:o, s:o}", "type", "object", "description", shape->help, "properties", properties,
			 "required", required);
}

int result_write_schema(FILE *out, struct err *err)
{
	json_t *root = shape_schema(&shape_result), *defs = json_object();
	int failed = 1;

	json_object_set_new(defs, "number",
			    json_pack("{s:[{s:s},{s:s},{s:[s,s]}], s:s}", "anyOf", "type", "number", "type", "null",
				      "enum", "lost", "-lost", "description",
				      "null: there is no such number; lost: infinite, it fell on a lost probe"));
	json_object_set_new(defs, "figure",
			    json_pack("{s:[{s:s},{s:s}], s:s}", "anyOf", "$ref", "#/$defs/number", "pattern",
				      "^n<[1-9][0-9]*$", "description",
				      "a number, or n<COUNT where fewer probes than COUNT were ranked"));
	json_object_set_new(defs, "count",
			    json_pack("{s:[{s:s,s:i},{s:s,s:s}], s:s}", "anyOf", "type", "integer", "minimum", 0,
				      "type", "string", "pattern", "^[0-9]+$", "description",
				      "a count; as text where it is over 2^63 - 1"));
	for (int i = 1; shapes[i]; i++)
		json_object_set_new(defs, shapes[i]->name, shape_schema(shapes[i]));
	if (root && defs) {
		json_object_set_new(root, "$schema", json_string("https://json-schema.org/draft/2020-12/schema"));
		json_object_set_new(root, "title", json_sprintf("tare result, schema %d", RESULT_SCHEMA));
		json_object_set_new(root, "$defs", json_incref(defs));
		failed = json_dumpf(root, out, JSON_INDENT(1)) != 0 || fputc('\n', out) == EOF;
	}
	json_decref(defs);
	json_decref(root);
	if (failed)
		return err_set(err, ERR_HOST, EIO, "cannot write the schema");
	return 0;
}

int result_write_schema_document(FILE *out, struct err *err)
{
	fprintf(out,
		"# The result, as JSON\n\n"
		"`tare report DIR --json` writes the whole result of a campaign, and `tare report FILE.json` draws it "
		"again.\n"
		"This is schema %d; `result.schema.json` beside this file is the same for a validator, and both are "
		"written\n"
		"by the program from the table that reads and writes the document (`src/report/shape.c`).\n\n"
		"* Times are ns, shares are per cent, wall-clock times are ns since 1970; quantities carry their own "
		"unit.\n"
		"* A *number* is null where there is none, and `\"lost\"` where it fell on a lost probe: infinite.\n"
		"* A *figure* is a number, or `\"n<368\"`: fewer probes were ranked than a finite 95 %% interval of "
		"that\n"
		"  percentile takes.\n"
		"* The schema's number is raised when a member changes its meaning or goes away; new members may "
		"appear\n"
		"  without that. A reader should ignore what it does not know.\n",
		RESULT_SCHEMA);
	for (int i = 0; shapes[i]; i++) {
		fprintf(out, "\n## %s\n\n%c%s.\n\n| member | type | unit | meaning |\n| --- | --- | --- | --- |\n",
			shapes[i]->name, shapes[i]->help[0] - 'a' + 'A', shapes[i]->help + 1);
		for (const struct field *f = shapes[i]->fields; f->name; f++)
			fprintf(out, "| `%s` | %s%s%s | %s | %s |\n", f->name, f->type == FIELD_LIST ? "list of " : "",
				type_in_words(f), f->type == FIELD_LIST ? "s" : "", f->unit ? f->unit : "", f->help);
	}
	if (fflush(out) != 0 || ferror(out))
		return err_set(err, ERR_HOST, errno ? errno : EIO, "cannot write the document: %s", strerror(errno));
	return 0;
}
