/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "packet/stream_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Any bytes as a stream from another machine: refused, or frames that can all be written, and that come back the same. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint8_t frame[FRAME_MAX_BYTES], *packed;
	struct stream *s;
	size_t count;

	if (stream_unpack(bytes, length, &s, NULL) < 0)
		return 0;
	for (uint32_t i = 0; i < s->count && i < 1000; i++) {
		TARE_ASSERT(stream_fill(s, i, 1, frame) <= FRAME_MAX_BYTES);
		stream_fill_warm_up(s, i, 1, frame);
	}
	TARE_ASSERT(stream_pack(s, &packed, &count, NULL) == 0);
	TARE_ASSERT(count == length);
	free(packed);
	stream_destroy(s);
	return 0;
}
