/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "packet/int_shim.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

/* Any bytes as a shim: one fault is counted, and what was decoded encodes to the same bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint8_t again[INT_COUNT_BYTES + INT_HOPS_MAX * INT_HOP_BYTES];
	struct int_counts counts = { { 0 } };
	struct int_hop hops[INT_HOPS_MAX];
	enum int_fault fault;
	uint64_t counted = 0;
	uint32_t count;

	fault = int_shim_decode(bytes, length, hops, &count, &counts);
	for (unsigned f = 0; f < INT_FAULTS; f++)
		counted += counts.by_fault[f];
	TARE_ASSERT(counted == 1 && counts.by_fault[fault] == 1);
	if (fault == INT_OK || fault == INT_NO_STAMP) {
		size_t written_bytes = int_shim_encode(hops, count, again, sizeof(again));

		TARE_ASSERT(written_bytes > 0 && written_bytes <= length);
		TARE_ASSERT(memcmp(again, bytes, written_bytes) == 0);
	} else {
		TARE_ASSERT(count == 0);
	}
	return 0;
}
