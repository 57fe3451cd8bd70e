/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs.h"

#include <string.h>

/* One a line, so that two new ones do not meet. */
/* clang-format off */
const struct verb *const verbs[] = {
	&verb_doctor,
	&verb_plan,
	&verb_run,
	&verb_export,
	&verb_clean,
	NULL,
};
/* clang-format on */

const struct verb *verb_find(const char *name)
{
	for (const struct verb *const *v = verbs; *v; v++)
		if (strcmp((*v)->name, name) == 0)
			return *v;
	return NULL;
}
