/* SPDX-License-Identifier: Apache-2.0 */
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

/* By fields: what lies between them is not theirs. */
static bool same_hop(const struct int_md_hop *a, const struct int_md_hop *b)
{
	return a->has == b->has && a->node_id == b->node_id && a->ingress_interface == b->ingress_interface &&
	       a->egress_interface == b->egress_interface && a->latency_ns == b->latency_ns &&
	       a->queue_id == b->queue_id && a->queue_occupancy == b->queue_occupancy && a->in_ns == b->in_ns &&
	       a->out_ns == b->out_ns && a->ingress_interface2 == b->ingress_interface2 &&
	       a->egress_interface2 == b->egress_interface2 && a->utilisation == b->utilisation &&
	       a->buffer_id == b->buffer_id && a->buffer_occupancy == b->buffer_occupancy;
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
		TARE_ASSERT(back.hop_count == md.hop_count);
		for (uint32_t i = 0; i < INT_MD_HOPS_MAX; i++)
			TARE_ASSERT(same_hop(&back.hops[i], &md.hops[i]));
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
