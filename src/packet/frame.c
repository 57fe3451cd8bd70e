/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/frame.h"

#include <errno.h>
#include <string.h>

static enum frame_fault parse_udp(const uint8_t *frame, struct frame_view *v)
{
	uint32_t room = v->l3_end - v->l4_offset, length;

	if (room < FRAME_UDP_BYTES)
		return FRAME_CUT;
	length = load_be16(frame + v->l4_offset + 4);
	if (length < FRAME_UDP_BYTES || length > room)
		return FRAME_BAD_L4;
	v->payload_offset = v->l4_offset + FRAME_UDP_BYTES;
	v->payload_bytes = length - FRAME_UDP_BYTES;
	return FRAME_OK;
}

static enum frame_fault parse_tcp(const uint8_t *frame, struct frame_view *v)
{
	uint32_t room = v->l3_end - v->l4_offset, header;

	if (room < FRAME_TCP_BYTES)
		return FRAME_CUT;
	header = (uint32_t)(frame[v->l4_offset + 12] >> 4) * 4;
	if (header < FRAME_TCP_BYTES || header > room)
		return FRAME_BAD_L4;
	v->payload_offset = v->l4_offset + header;
	v->payload_bytes = room - header;
	return FRAME_OK;
}

/* `at` is where the upper layer starts, inside the datagram. */
static enum frame_fault parse_l4(const uint8_t *frame, uint32_t at, struct frame_view *v)
{
	v->payload_offset = at;
	v->payload_bytes = v->l3_end - at;
	if (v->later_fragment)
		return FRAME_OK;
	v->l4_offset = at;
	/* The UDP length of a first fragment is that of the datagram: there is nothing to hold it against. */
	if (v->any_fragment)
		return FRAME_OK;
	if (v->ip_proto == IP_PROTO_UDP)
		return parse_udp(frame, v);
	if (v->ip_proto == IP_PROTO_TCP)
		return parse_tcp(frame, v);
	return FRAME_OK;
}

static enum frame_fault parse_ipv4(const uint8_t *frame, struct frame_view *v)
{
	uint32_t room = v->length_bytes - v->l3_offset, header, total, fragment;
	const uint8_t *ip = frame + v->l3_offset;

	if (room < FRAME_IPV4_BYTES)
		return FRAME_CUT;
	header = (uint32_t)(ip[0] & 15) * 4;
	total = load_be16(ip + 2);
	if (ip[0] >> 4 != 4 || header < FRAME_IPV4_BYTES || total < header)
		return FRAME_BAD_IP;
	if (total > room)
		return FRAME_CUT;
	fragment = load_be16(ip + 6);
	v->ip_version = 4;
	v->ip_proto = ip[9];
	v->any_fragment = (fragment & 0x3fff) != 0;
	v->later_fragment = (fragment & 0x1fff) != 0;
	v->l3_end = v->l3_offset + total;
	return parse_l4(frame, v->l3_offset + header, v);
}

enum { IPV6_HOP_BY_HOP = 0, IPV6_ROUTING = 43, IPV6_FRAGMENT = 44, IPV6_AH = 51, IPV6_DESTINATION = 60 };

static enum frame_fault parse_ipv6(const uint8_t *frame, struct frame_view *v)
{
	uint32_t room = v->length_bytes - v->l3_offset, at, header;
	const uint8_t *ip = frame + v->l3_offset;

	if (room < FRAME_IPV6_BYTES)
		return FRAME_CUT;
	if (ip[0] >> 4 != 6)
		return FRAME_BAD_IP;
	if (load_be16(ip + 4) > room - FRAME_IPV6_BYTES)
		return FRAME_CUT;
	v->ip_version = 6;
	v->ip_proto = ip[6];
	at = v->l3_offset + FRAME_IPV6_BYTES;
	v->l3_end = at + load_be16(ip + 4);

	/* Each turn moves on by 8 bytes or more, so the end of the datagram bounds it. */
	for (;; at += header) {
		switch (v->ip_proto) {
		case IPV6_HOP_BY_HOP:
		case IPV6_ROUTING:
		case IPV6_DESTINATION:
		case IPV6_FRAGMENT:
		case IPV6_AH:
			break;
		default:
			return parse_l4(frame, at, v);
		}
		if (v->l3_end - at < 8)
			return FRAME_CUT;
		header = ((uint32_t)frame[at + 1] + 1) * 8;
		if (v->ip_proto == IPV6_AH)
			header = ((uint32_t)frame[at + 1] + 2) * 4;
		if (v->ip_proto == IPV6_FRAGMENT) {
			header = 8;
			v->any_fragment = (load_be16(frame + at + 2) & 0xfff9) != 0;
			v->later_fragment = (load_be16(frame + at + 2) & 0xfff8) != 0;
		}
		if (header > v->l3_end - at)
			return FRAME_CUT;
		v->ip_proto = frame[at];
		if (v->later_fragment)
			return parse_l4(frame, at + header, v);
	}
}

static enum frame_fault parse_frame(const uint8_t *frame, struct frame_view *v)
{
	uint32_t at = 12;

	if (v->length_bytes < FRAME_ETHER_BYTES)
		return FRAME_CUT;
	v->ethertype = load_be16(frame + at);
	while (v->ethertype == ETHERTYPE_VLAN || v->ethertype == ETHERTYPE_QINQ) {
		if (v->vlan_count == FRAME_VLANS_MAX)
			return FRAME_DEEP_VLANS;
		if (v->length_bytes < at + 2 + FRAME_VLAN_BYTES)
			return FRAME_CUT;
		v->vlan_tci[v->vlan_count++] = load_be16(frame + at + 2);
		at += FRAME_VLAN_BYTES;
		v->ethertype = load_be16(frame + at);
	}
	v->l3_offset = at + 2;
	v->l3_end = v->length_bytes;
	v->payload_offset = v->l3_offset;
	v->payload_bytes = v->length_bytes - v->l3_offset;
	if (v->ethertype == ETHERTYPE_IPV4)
		return parse_ipv4(frame, v);
	if (v->ethertype == ETHERTYPE_IPV6)
		return parse_ipv6(frame, v);
	return FRAME_OK;
}

enum frame_fault frame_parse(const uint8_t *frame, size_t length_bytes, struct frame_view *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->length_bytes = length_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)length_bytes;
	ret->fault = parse_frame(frame, ret);
	return ret->fault;
}

const char *frame_fault_name(enum frame_fault fault)
{
	switch (fault) {
	case FRAME_OK:
		return "ok";
	case FRAME_CUT:
		return "cut short";
	case FRAME_BAD_IP:
		return "bad IP header";
	case FRAME_BAD_L4:
		return "bad UDP or TCP header";
	case FRAME_DEEP_VLANS:
		return "too many VLAN tags";
	}
	return "?";
}

uint32_t checksum_add(const uint8_t *bytes, size_t length_bytes, uint32_t sum)
{
	uint64_t wide = sum;
	size_t i;

	for (i = 0; i + 1 < length_bytes; i += 2)
		wide += load_be16(bytes + i);
	if (i < length_bytes)
		wide += (uint32_t)bytes[i] << 8;
	while (wide >> 32)
		wide = (wide & 0xffffffff) + (wide >> 32);
	return (uint32_t)wide;
}

uint16_t checksum_finish(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Where the checksum of the upper layer stands and what it covers; false where there is none that can be computed. */
static bool l4_coverage(const struct frame_view *v, uint32_t *ret_field, uint32_t *ret_bytes)
{
	if (v->fault != FRAME_OK || v->l4_offset == 0 || v->any_fragment)
		return false;
	*ret_bytes = v->payload_offset - v->l4_offset + v->payload_bytes;
	if (v->ip_proto == IP_PROTO_UDP)
		*ret_field = v->l4_offset + 6;
	else if (v->ip_proto == IP_PROTO_TCP)
		*ret_field = v->l4_offset + 16;
	else
		return false;
	return true;
}

/* Sum over pseudo header and upper layer, the checksum field itself included. */
static uint32_t l4_sum(const uint8_t *frame, const struct frame_view *v, uint32_t covered_bytes)
{
	uint32_t sum = covered_bytes + v->ip_proto;
	uint32_t addresses = v->ip_version == 4 ? 12 : 8;

	sum = checksum_add(frame + v->l3_offset + addresses, v->ip_version == 4 ? 8 : 32, sum);
	return checksum_add(frame + v->l4_offset, covered_bytes, sum);
}

void frame_set_checksums(uint8_t *frame, const struct frame_view *v, bool force)
{
	uint32_t field, covered_bytes;
	uint16_t sum;

	if (v->ip_version == 4) {
		uint8_t *ip = frame + v->l3_offset;

		store_be16(ip + 10, 0);
		store_be16(ip + 10, checksum_finish(checksum_add(ip, (size_t)(ip[0] & 15) * 4, 0)));
	}
	if (!l4_coverage(v, &field, &covered_bytes))
		return;
	if (v->ip_proto == IP_PROTO_UDP && v->ip_version == 4 && !force && load_be16(frame + field) == 0)
		return;
	store_be16(frame + field, 0);
	sum = checksum_finish(l4_sum(frame, v, covered_bytes));
	if (v->ip_proto == IP_PROTO_UDP && sum == 0)
		sum = 0xffff; /* 0 would mean: none */
	store_be16(frame + field, sum);
}

bool frame_checksums_good(const uint8_t *frame, const struct frame_view *v)
{
	uint32_t field, covered_bytes;

	if (v->ip_version == 4) {
		const uint8_t *ip = frame + v->l3_offset;

		if (checksum_finish(checksum_add(ip, (size_t)(ip[0] & 15) * 4, 0)) != 0)
			return false;
	}
	if (!l4_coverage(v, &field, &covered_bytes))
		return true;
	if (v->ip_proto == IP_PROTO_UDP && load_be16(frame + field) == 0)
		return v->ip_version == 4; /* IPv6 allows no absent UDP checksum */
	return checksum_finish(l4_sum(frame, v, covered_bytes)) == 0;
}

void frame_template_default(struct frame_template *ret, enum frame_kind kind, uint32_t length_bytes)
{
	static const struct frame_template fallback = {
		.destination = { 2, 0, 0, 0, 0, 2 },
		.source = { 2, 0, 0, 0, 0, 1 },
		.ipv4_source = 0x0a000001,
		.ipv4_destination = 0x0a000101,
		.ipv6_source = { 0xfd, [15] = 1 },
		.ipv6_destination = { 0xfd, [13] = 1, [15] = 1 },
		.ttl = 64,
		.port_source = 49152,
		.port_destination = 9,
	};

	*ret = fallback;
	ret->kind = kind;
	ret->length_bytes = length_bytes;
}

uint32_t frame_template_headers(const struct frame_template *t)
{
	uint32_t ether = FRAME_ETHER_BYTES + (uint32_t)t->vlan_count * FRAME_VLAN_BYTES;

	switch (t->kind) {
	case FRAME_KIND_UDP4:
		return ether + FRAME_IPV4_BYTES + FRAME_UDP_BYTES;
	case FRAME_KIND_TCP4:
		return ether + FRAME_IPV4_BYTES + FRAME_TCP_BYTES;
	case FRAME_KIND_UDP6:
		return ether + FRAME_IPV6_BYTES + FRAME_UDP_BYTES;
	case FRAME_KIND_IPV4:
		return ether + FRAME_IPV4_BYTES;
	case FRAME_KIND_ETHER:
		break;
	}
	return ether;
}

const char *frame_kind_name(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_KIND_UDP4:
		return "UDP over IPv4";
	case FRAME_KIND_TCP4:
		return "TCP over IPv4";
	case FRAME_KIND_UDP6:
		return "UDP over IPv6";
	case FRAME_KIND_IPV4:
		return "IPv4 protocol 0xFD";
	case FRAME_KIND_ETHER:
		return "EtherType 0x88B5";
	}
	return "?";
}

static uint8_t *put_ether(const struct frame_template *t, uint8_t *at)
{
	static const uint16_t ethertypes[] = {
		[FRAME_KIND_UDP4] = ETHERTYPE_IPV4,   [FRAME_KIND_TCP4] = ETHERTYPE_IPV4,
		[FRAME_KIND_UDP6] = ETHERTYPE_IPV6,   [FRAME_KIND_IPV4] = ETHERTYPE_IPV4,
		[FRAME_KIND_ETHER] = ETHERTYPE_PROBE,
	};

	memcpy(at, t->destination, 6);
	memcpy(at + 6, t->source, 6);
	at += 12;
	for (unsigned i = 0; i < t->vlan_count; i++, at += FRAME_VLAN_BYTES) {
		store_be16(at, i + 1 < t->vlan_count ? ETHERTYPE_QINQ : ETHERTYPE_VLAN);
		store_be16(at + 2, t->vlan_tci[i]);
	}
	store_be16(at, ethertypes[t->kind]);
	return at + 2;
}

/* `bytes`: of what follows the IP header. */
static uint8_t *put_ip(const struct frame_template *t, uint8_t *at, uint32_t bytes)
{
	static const uint8_t protos[] = {
		[FRAME_KIND_UDP4] = IP_PROTO_UDP,
		[FRAME_KIND_TCP4] = IP_PROTO_TCP,
		[FRAME_KIND_IPV4] = IP_PROTO_PROBE,
	};

	if (t->kind != FRAME_KIND_UDP6) {
		at[0] = 0x45;
		store_be16(at + 2, (uint16_t)(FRAME_IPV4_BYTES + bytes));
		at[8] = t->ttl;
		at[9] = protos[t->kind];
		store_be32(at + 12, t->ipv4_source);
		store_be32(at + 16, t->ipv4_destination);
		return at + FRAME_IPV4_BYTES;
	}
	at[0] = 0x60;
	store_be16(at + 4, (uint16_t)bytes);
	at[6] = IP_PROTO_UDP;
	at[7] = t->ttl;
	memcpy(at + 8, t->ipv6_source, 16);
	memcpy(at + 24, t->ipv6_destination, 16);
	return at + FRAME_IPV6_BYTES;
}

/* `bytes`: of UDP header and payload. */
static void put_l4(const struct frame_template *t, uint8_t *at, uint32_t bytes)
{
	if (t->kind == FRAME_KIND_IPV4)
		return;
	store_be16(at, t->port_source);
	store_be16(at + 2, t->port_destination);
	if (t->kind == FRAME_KIND_TCP4) {
		at[12] = FRAME_TCP_BYTES / 4 << 4;
		at[13] = 0x10;              /* ACK */
		store_be16(at + 14, 65535); /* window */
	} else {
		store_be16(at + 4, (uint16_t)bytes);
	}
}

int frame_build(const struct frame_template *t, uint8_t *ret_bytes, struct err *err)
{
	uint32_t headers = frame_template_headers(t), behind_ip;
	struct frame_view view;
	uint8_t *at;

	TARE_ASSERT(t->vlan_count <= 2);
	if (t->length_bytes < headers || t->length_bytes > FRAME_MAX_BYTES) {
		return err_set(err, ERR_USAGE, EINVAL,
			       "frame size %u B: expected %u to %u B for %s with %u VLAN tags (without the FCS)",
			       t->length_bytes, headers, FRAME_MAX_BYTES, frame_kind_name(t->kind), t->vlan_count);
	}
	memset(ret_bytes, 0, t->length_bytes);
	at = put_ether(t, ret_bytes);
	if (t->kind == FRAME_KIND_ETHER)
		return 0;
	behind_ip = t->length_bytes - (uint32_t)(at - ret_bytes) -
		    (t->kind == FRAME_KIND_UDP6 ? FRAME_IPV6_BYTES : FRAME_IPV4_BYTES);
	put_l4(t, put_ip(t, at, behind_ip), behind_ip);
	frame_parse(ret_bytes, t->length_bytes, &view);
	TARE_ASSERT(view.fault == FRAME_OK);
	frame_set_checksums(ret_bytes, &view, true);
	return 0;
}
