/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/measure.h"

#include <stddef.h>

static const struct measure_ops *const all[] = {
	&measure_differential, &measure_transit,   &measure_telemetry,
	&measure_control,      &measure_resources, &measure_calibrate,
};

const struct measure_ops *measure_find_ops(enum measure measure)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->measure == measure)
			return all[i];
	return NULL;
}
