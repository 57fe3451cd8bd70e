/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exec/exec.h"

static void value_text(const uint64_t *slots, uint32_t count, char *ret, size_t size_bytes)
{
	size_t n;

	if (count == 1) {
		snprintf(ret, size_bytes, "%" PRIu64, slots[0]);
		return;
	}
	n = (size_t)snprintf(ret, size_bytes, "0x%" PRIx64, slots[count - 1]);
	for (uint32_t i = count - 1; i > 0 && n < size_bytes; i--)
		n += (size_t)snprintf(ret + n, size_bytes - n, "%016" PRIx64, slots[i - 1]);
}

void message_format(const struct p4_message *message, const uint64_t *memory, char *ret, size_t size_bytes)
{
	uint32_t value = 0;
	size_t n = 0;

	for (const char *p = message->format; *p && n + 1 < size_bytes;) {
		if (p[0] != '{' || p[1] != '}' || value == message->count) {
			ret[n++] = *p++;
			continue;
		}
		value_text(memory + message->slots[value], message->slot_counts[value], ret + n, size_bytes - n);
		n += strlen(ret + n);
		value++;
		p += 2;
	}
	ret[n] = '\0';
}
