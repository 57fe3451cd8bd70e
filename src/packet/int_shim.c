/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/int_shim.h"

#include "packet/frame.h"

static enum int_fault decode(const uint8_t *bytes, size_t length_bytes, struct int_hop *hops, uint32_t *ret_count)
{
	enum int_fault fault = INT_OK;
	uint32_t count;

	if (length_bytes < INT_COUNT_BYTES)
		return INT_CUT;
	count = bytes[0];
	if (count == 0)
		return INT_EMPTY;
	if (count > INT_HOPS_MAX)
		return INT_TOO_MANY;
	if (length_bytes - INT_COUNT_BYTES < (size_t)count * INT_HOP_BYTES)
		return INT_CUT;
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *at = bytes + INT_COUNT_BYTES + (size_t)i * INT_HOP_BYTES;
		struct int_hop *hop = &hops[count - 1 - i]; /* the newest stands first */

		hop->switch_id = at[0];
		hop->ingress_us = load_be48(at + 1);
		hop->egress_us = load_be48(at + 7);
		if (hop->ingress_us == 0 || hop->egress_us == 0)
			fault = INT_NO_STAMP;
	}
	*ret_count = count;
	return fault;
}

enum int_fault int_shim_decode(const uint8_t *bytes, size_t length_bytes, struct int_hop ret_hops[INT_HOPS_MAX],
			       uint32_t *ret_count, struct int_counts *counts)
{
	enum int_fault fault;

	*ret_count = 0;
	fault = decode(bytes, length_bytes, ret_hops, ret_count);
	if (counts != NULL)
		counts->by_fault[fault]++;
	return fault;
}

size_t int_shim_encode(const struct int_hop *hops, uint32_t count, uint8_t *ret_bytes, size_t room_bytes)
{
	size_t need = INT_COUNT_BYTES + (size_t)count * INT_HOP_BYTES;

	if (count == 0 || count > INT_HOPS_MAX || room_bytes < need)
		return 0;
	ret_bytes[0] = (uint8_t)count;
	for (uint32_t i = 0; i < count; i++) {
		uint8_t *at = ret_bytes + INT_COUNT_BYTES + (size_t)i * INT_HOP_BYTES;
		const struct int_hop *hop = &hops[count - 1 - i];

		at[0] = hop->switch_id;
		store_be48(at + 1, hop->ingress_us);
		store_be48(at + 7, hop->egress_us);
	}
	return need;
}

const char *int_fault_name(enum int_fault fault)
{
	static const char *const names[INT_FAULTS] = {
		[INT_OK] = "good",
		[INT_CUT] = "cut short",
		[INT_EMPTY] = "no hop",
		[INT_TOO_MANY] = "too many hops",
		[INT_NO_STAMP] = "zero stamp",
	};

	return (unsigned)fault < INT_FAULTS ? names[fault] : "?";
}
