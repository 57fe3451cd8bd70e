/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_P4RT_P4INFO_SCHEMA_H
#define TARE_P4RT_P4INFO_SCHEMA_H

#include "p4rt/textproto.h"

/* Every field of p4.config.v1.P4Info but externs, whose content is any message at all. */
extern const struct textproto_message p4info_schema;

#endif
