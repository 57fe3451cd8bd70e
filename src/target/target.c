/* SPDX-License-Identifier: Apache-2.0 */
#include "target/target.h"

#include <string.h>

#include "target/bmv2.h"
#include "target/card.h"
#include "target/p4rt.h"
#include "target/pipeline.h"
#include "target/wire.h"

const struct target_ops *const target_kinds[] = {
	&target_card, &target_pipeline, &target_bmv2, &target_wire, &target_p4rt, NULL,
};

const struct target_ops *target_find(const char *kind)
{
	for (const struct target_ops *const *k = target_kinds; *k; k++)
		if (strcmp((*k)->kind, kind) == 0)
			return *k;
	return NULL;
}
