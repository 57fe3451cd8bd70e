/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/err.h"
#include "packet/frame.h"
#include "packet/int_md.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { ROOM = INT_MD_SHIM_BYTES + 255 * 4 };

static void counted_once(const struct int_md_counts *counts, enum int_md_fault fault)
{
	uint64_t sum = 0;

	for (unsigned f = 0; f < INT_MD_FAULTS; f++)
		sum += counts->by_fault[f];
	TARE_ASSERT(sum == 1 && counts->by_fault[fault] == 1);
}

/* Any bytes as a stack and as a report: one fault is counted, and what was decoded encodes to the same hops. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct int_md_counts counts = { { 0 } };
	uint8_t again[ROOM];
	struct int_md md, back;
	struct int_report report;
	enum int_md_fault fault = int_md_decode(bytes, length, &md, &counts);

	counted_once(&counts, fault);
	if (fault == INT_MD_OK || fault == INT_MD_NO_STAMP) {
		size_t written = int_md_encode(&md, again, sizeof(again));

		TARE_ASSERT(written == md.length_bytes && written <= length);
		TARE_ASSERT(int_md_decode(again, written, &back, NULL) == fault);
		TARE_ASSERT(back.hop_count == md.hop_count && memcmp(back.hops, md.hops, sizeof(md.hops)) == 0);
	} else {
		TARE_ASSERT(md.hop_count == 0);
	}
	counts = (struct int_md_counts){ { 0 } };
	fault = int_report_decode(bytes, length, &report, &counts);
	counted_once(&counts, fault);
	if (fault == INT_MD_OK || fault == INT_MD_NO_STAMP) {
		TARE_ASSERT(report.md.hop_count >= 1 && report.md.hop_count <= INT_MD_HOPS_MAX);
		TARE_ASSERT(report.inner_offset_bytes + report.inner_length_bytes <= length);
	}
	return 0;
}
