/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include <jansson.h>

#include "cli/plan_check.h"
#include "target/target.h"

/* jansson hands NULL through its "new" functions, so a document is checked once, whole, at its end. */
static json_t *settings_json(const struct settings *settings)
{
	json_t *object = json_object();
	int bad = 0;

	for (const struct setting *s = settings->table; s->name; s++) {
		const struct setting_value *v = settings_get(settings, s->name);

		bad |= json_object_set_new(
			object, s->name,
			json_pack("{s:s?, s:b}", "value", v->present ? v->text : NULL, "default", !v->set));
	}
	if (bad) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *cells_json(const struct plan *plan)
{
	json_t *array = json_array();
	int bad = 0;

	for (uint32_t i = 0; i < plan->cell_count; i++) {
		const struct cell *cell = &plan->cells[i];
		json_t *values = json_object();

		for (uint32_t a = 0; a < plan->axis_count; a++)
			if (cell->values[a])
				bad |= json_object_set_new(values, plan->axes[a], json_string(cell->values[a]));
		bad |= json_array_append_new(
			array, json_pack("{s:i, s:s, s:b, s:o?, s:i, s:o}", "cell", (int)i, "label", cell->label,
					 "is_tare", cell->is_tare, "tare",
					 cell->tare == CELL_NONE ? NULL : json_integer(cell->tare), "restarts",
					 (int)(cell->is_tare ? 2 * plan->restarts : plan->restarts), "values", values));
	}
	if (bad) {
		json_decref(array);
		return NULL;
	}
	return array;
}

static json_t *turns_json(const struct plan *plan)
{
	json_t *array = json_array();
	int bad = 0;

	for (uint32_t i = 0; i < plan->turn_count; i++)
		bad |= json_array_append_new(array, json_pack("{s:i, s:i, s:i}", "block", (int)plan->turns[i].block,
							      "cell", (int)plan->turns[i].cell, "restart",
							      (int)plan->turns[i].restart));
	if (bad) {
		json_decref(array);
		return NULL;
	}
	return array;
}

int plan_json_write(FILE *out, const struct plan *plan, struct err *err)
{
	json_t *target = settings_json(&plan->target_settings), *probes = settings_json(&plan->probes);
	json_t *general = settings_json(&plan->general), *cells = cells_json(plan), *turns = turns_json(plan);
	json_t *stop = plan->stop.on ? settings_json(&plan->stopping) : json_null();
	json_t *document =
		json_pack("{s:s, s:b, s:s, s:s, s:s, s:s, s:I, s:s?, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
			  "tare.plan/1", "ok", 1, "path", plan->path, "name", plan->name, "measure",
			  measure_name(plan->measure), "target", plan->target->kind, "expected_ns",
			  (json_int_t)plan->expected_ns, "tare_program", plan->tare_program, "settings", general,
			  "stop", stop, "target_settings", target, "probes", probes, "cells", cells, "order", turns);

	if (!document)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	json_dumpf(document, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(document);
	return 0;
}

int plan_problems_json_write(FILE *out, const char *path, const struct plan_problems *problems, const struct err *why)
{
	json_t *array = json_array(), *document;

	for (uint32_t i = 0; i < problems->count; i++)
		json_array_append_new(array,
				      json_pack("{s:i, s:i, s:s}", "line", (int)problems->items[i].line, "column",
						(int)problems->items[i].column, "message", problems->items[i].message));
	document = json_pack("{s:s, s:b, s:s, s:s, s:i, s:o}", "schema", "tare.plan/1", "ok", 0, "path", path, "error",
			     why->message, "problem_count", (int)(problems->count + problems->more), "problems", array);
	if (!document)
		return -ENOMEM;
	json_dumpf(document, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(document);
	return 0;
}
