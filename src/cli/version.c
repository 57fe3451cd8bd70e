/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include "observe/build.h"

static void line(void *context, const char *name, const char *value)
{
	fprintf(context, "%-8s %s\n", name, value);
}

void version_write(FILE *out)
{
	line(out, "tare", build_version());
	build_libraries(line, out);
	line(out, "build", build_flags());
}
