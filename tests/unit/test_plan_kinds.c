/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "probe/control_settings.h"
#include "probe/differential_settings.h"
#include "target/target.h"

/* What the real tables must keep to, so that a plan can name each of their settings as an axis. */
static void names_are_clear(const struct setting *table)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

	for (const struct setting *s = table; s->name; s++) {
		assert_int_equal(strspn(s->name, letters), strlen(s->name));
		assert_string_not_equal(s->name, "program");
		assert_string_not_equal(s->name, "kind");
		assert_ptr_equal(setting_find(table, s->name), s);
		assert_non_null(s->help);
		assert_true(s->type != SETTING_CHOICE || s->choices != NULL);
	}
}

static void axes_are_never_of_two_sections(void **state)
{
	unsigned of_targets = 0, of_agents = 0;

	(void)state;
	names_are_clear(differential_settings);
	names_are_clear(control_settings);
	for (const struct target_ops *const *k = target_kinds; *k; k++) {
		names_are_clear((*k)->settings);
		for (const struct setting *s = (*k)->settings; s->name; s++, of_targets++)
			if (setting_find(differential_settings, s->name))
				fail_msg("'%s' is a setting of probes and of target %s", s->name, (*k)->kind);
		for (const struct setting *s = (*k)->settings; (*k)->agent && s->name; s++, of_agents++)
			if (setting_find(control_settings, s->name))
				fail_msg("'%s' is a setting of probes and of target %s", s->name, (*k)->kind);
	}
	assert_true(of_targets > 0 && of_agents > 0);
}

static void defaults_are_within_bounds(void **state)
{
	struct settings settings;
	struct arena arena;

	(void)state;
	arena_init(&arena, 0);
	assert_int_equal(settings_init(&settings, plan_settings, &arena), 0);
	assert_int_equal(settings_init(&settings, differential_settings, &arena), 0);
	assert_int_equal(settings_init(&settings, control_settings, &arena), 0);
	for (const struct target_ops *const *k = target_kinds; *k; k++)
		assert_int_equal(settings_init(&settings, (*k)->settings, &arena), 0);
	arena_release(&arena);
}

static void kinds_are_whole(void **state)
{
	unsigned count = 0;

	(void)state;
	for (const struct target_ops *const *k = target_kinds; *k; k++, count++) {
		assert_ptr_equal(target_find((*k)->kind), *k);
		assert_non_null((*k)->summary);
		assert_non_null((*k)->check);
		/* one shape or the other, or agents, beside a line or alone */
		assert_false((*k)->ports && ((*k)->line || (*k)->agent));
		assert_true((*k)->ports || (*k)->line || (*k)->agent);
		assert_int_equal((*k)->open != NULL, (*k)->ports || (*k)->line);
		assert_int_equal((*k)->open_agents != NULL, (*k)->agent != NULL);
		assert_int_equal((*k)->load_program != NULL, (*k)->agent != NULL);
		assert_non_null((*k)->close);
		assert_int_equal((*k)->knows_truth, (*k)->truth != NULL);
	}
	assert_true(count > 0);
	assert_null(target_find("no-such-kind"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(axes_are_never_of_two_sections),
		cmocka_unit_test(defaults_are_within_bounds),
		cmocka_unit_test(kinds_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
