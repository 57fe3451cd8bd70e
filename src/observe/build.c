/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/build.h"

#include <jansson.h>
#include <sqlite3.h>
#include <yaml.h>

const char *build_version(void)
{
	return TARE_VERSION;
}

const char *build_flags(void)
{
	return TARE_BUILD_FLAGS;
}

void build_libraries(void (*fn)(void *context, const char *name, const char *version), void *context)
{
	fn(context, "yaml", yaml_get_version_string());
	fn(context, "sqlite", sqlite3_libversion());
	fn(context, "jansson", jansson_version_str());
	fn(context, "dpdk", TARE_DPDK_VERSION);
}
