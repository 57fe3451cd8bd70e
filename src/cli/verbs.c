/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs.h"

/* One a line, so that two new ones do not meet. */
/* clang-format off */
const struct verb *const verbs[] = {
	&verb_doctor,
	&verb_plan,
	&verb_run,
	&verb_report,
	&verb_compare,
	&verb_export,
	&verb_import,
	&verb_merge,
	&verb_reflect,
	&verb_verify,
	&verb_clean,
	&verb_lint,
	&verb_far_end,
	NULL,
};
/* clang-format on */
