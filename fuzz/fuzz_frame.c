/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "packet/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Any bytes as a frame: offsets lie inside it and in order, and sums that are set are right. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct frame_view v, again;
	uint8_t *copy;

	frame_parse(bytes, length, &v);
	TARE_ASSERT(v.length_bytes == length);
	TARE_ASSERT(v.l3_offset <= length && v.l3_end <= length && v.l4_offset <= v.l3_end);
	TARE_ASSERT(v.payload_offset + v.payload_bytes <= length);
	TARE_ASSERT(v.l4_offset == 0 || v.l4_offset <= v.payload_offset);
	frame_checksums_good(bytes, &v);
	if (v.fault != FRAME_OK)
		return 0;
	copy = malloc(length);
	TARE_ASSERT(copy != NULL);
	memcpy(copy, bytes, length);
	frame_set_checksums(copy, &v, true);
	TARE_ASSERT(frame_checksums_good(copy, &v));
	frame_parse(copy, length, &again);
	TARE_ASSERT(memcmp(&v, &again, sizeof(v)) == 0);
	free(copy);
	return 0;
}
