/* SPDX-License-Identifier: Apache-2.0 */
#include "switch_frames.h"

void put(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = bytes; i > 0; i--, value >>= 8)
		at[i - 1] = (uint8_t)value;
}

static void ipv4_checksum(uint8_t *ip)
{
	uint32_t sum = 0;

	put(ip + 10, 0, 2);
	for (unsigned i = 0; i < IPV4; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put(ip + 10, (uint16_t)~sum, 2);
}

void make_frame(uint8_t *frame, uint32_t length_bytes, uint32_t destination, uint8_t protocol)
{
	uint8_t *ip = frame + ETHERNET;

	put(frame, 0x020000000001, 6);
	put(frame + 6, 0x020000000002, 6);
	put(frame + 12, 0x0800, 2);
	put(ip, 0x4500, 2);
	put(ip + 2, length_bytes - ETHERNET, 2);
	ip[8] = 64;
	ip[9] = protocol;
	put(ip + 12, 0xc0a80001, 4);
	put(ip + 16, destination, 4);
	ipv4_checksum(ip);
	put(frame + ETHERNET + IPV4, 1234, 2);
	put(frame + ETHERNET + IPV4 + 2, 4321, 2);
}
