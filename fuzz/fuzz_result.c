/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>

#include "report/html.h"
#include "report/json.h"
#include "report/terminal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* A saved result is somebody else's file: whatever it holds is refused with a message, or can be drawn. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct terminal_style style = { .width = 72, .utf8 = true };
	struct result *result;
	struct err err = { 0 };
	FILE *out;

	if (result_load_text((const char *)bytes, length, "fuzz", &result, &err) != 0) {
		TARE_ASSERT(err.kind != ERR_NONE && err.message[0]);
		return 0;
	}
	out = fopen("/dev/null", "w");
	if (out) {
		TARE_ASSERT(terminal_write(result, out, &style, TERMINAL_CELLS | TERMINAL_BUDGET, &err) == 0);
		TARE_ASSERT(html_write(result, out, &err) == 0);
		TARE_ASSERT(result_write_json(result, out, &err) == 0);
		fclose(out);
	}
	result_destroy(result);
	return 0;
}
