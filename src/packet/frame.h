/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PACKET_FRAME_H
#define TARE_PACKET_FRAME_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Ethernet frames: where their headers stand, their checksums, and templates of
 * a given size. A frame is its bytes from the destination address on, without
 * FCS, so the smallest on the wire ("64 bytes") has 60 here. Pure; every read
 * is bounds-checked; nothing is kept.
 */
enum {
	FRAME_MIN_BYTES = 14,
	FRAME_MAX_BYTES = 9018,
	FRAME_VLANS_MAX = 4, /* tags looked through */

	FRAME_ETHER_BYTES = 14,
	FRAME_VLAN_BYTES = 4,
	FRAME_IPV4_BYTES = 20, /* without options */
	FRAME_IPV6_BYTES = 40,
	FRAME_UDP_BYTES = 8,
	FRAME_TCP_BYTES = 20, /* without options */

	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_QINQ = 0x88a8,
	ETHERTYPE_PROBE = 0x88b5, /* IEEE local experimental 1: probes without IP */

	IP_PROTO_TCP = 6,
	IP_PROTO_UDP = 17,
	IP_PROTO_PROBE = 0xfd, /* RFC 3692 experimentation: the instrument header */
};

static inline uint16_t load_be16(const uint8_t *p)
{
	uint16_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t load_be32(const uint8_t *p)
{
	uint32_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t load_be48(const uint8_t *p)
{
	return (uint64_t)load_be16(p) << 32 | load_be32(p + 2);
}

static inline uint64_t load_be64(const uint8_t *p)
{
	return (uint64_t)load_be32(p) << 32 | load_be32(p + 4);
}

static inline void store_be16(uint8_t *p, uint16_t v)
{
	v = htobe16(v);
	__builtin_memcpy(p, &v, sizeof(v));
}

static inline void store_be32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	__builtin_memcpy(p, &v, sizeof(v));
}

static inline void store_be48(uint8_t *p, uint64_t v)
{
	store_be16(p, (uint16_t)(v >> 32));
	store_be32(p + 2, (uint32_t)v);
}

static inline void store_be64(uint8_t *p, uint64_t v)
{
	store_be32(p, (uint32_t)(v >> 32));
	store_be32(p + 4, (uint32_t)v);
}

/* Why parsing went no further. What had been found by then is in the view. */
enum frame_fault {
	FRAME_OK = 0,
	FRAME_CUT,        /* a header, or the length its IP header states, does not fit the frame */
	FRAME_BAD_IP,     /* version or header length that cannot be */
	FRAME_BAD_L4,     /* UDP length or TCP header length that cannot be */
	FRAME_DEEP_VLANS, /* more than FRAME_VLANS_MAX tags */
};

/* Offsets count from the frame's first byte; 0 means: not there. */
struct frame_view {
	enum frame_fault fault;
	uint32_t length_bytes; /* of the frame */
	uint16_t ethertype;    /* behind the tags */
	uint8_t vlan_count;
	uint16_t vlan_tci[FRAME_VLANS_MAX]; /* outermost first */
	uint8_t ip_version;                 /* 4, 6; 0: not IP */
	uint8_t ip_proto;                   /* of the upper layer, IPv6 extension headers skipped */
	bool later_fragment;                /* not the first of its datagram: no L4 header here */
	bool any_fragment;                  /* part of a datagram: L4 checksum cannot be checked */
	uint32_t l3_offset;                 /* behind Ethernet and tags */
	uint32_t l4_offset;
	uint32_t l3_end;         /* end of the IP datagram; behind it stands Ethernet padding */
	uint32_t payload_offset; /* behind UDP or TCP; else behind IP; else behind Ethernet */
	uint32_t payload_bytes;  /* without Ethernet padding */
};

/* Find the headers. Always fills *ret whole; returns ret->fault. `length_bytes` may be 0. */
enum frame_fault frame_parse(const uint8_t *frame, size_t length_bytes, struct frame_view *ret);

const char *frame_fault_name(enum frame_fault fault);

/* Ones' complement sum (RFC 1071) of big-endian words, an odd last byte padded with 0, on top of `sum`; not inverted. */
uint32_t checksum_add(const uint8_t *bytes, size_t length_bytes, uint32_t sum);

/* Fold to 16 bits and invert: what stands in a header. */
uint16_t checksum_finish(uint32_t sum);

/*
 * Set the IPv4 header and UDP or TCP checksum of a frame that frame_parse has
 * viewed without fault. A UDP/IPv4 checksum of 0 (none) stays 0 unless `force`.
 * Fragments and unknown upper layers: only the IPv4 header.
 */
void frame_set_checksums(uint8_t *frame, const struct frame_view *view, bool force);

/* Are the checksums that are there right? A frame without any: yes. */
bool frame_checksums_good(const uint8_t *frame, const struct frame_view *view);

enum frame_kind {
	FRAME_KIND_UDP4,  /* Ethernet, tags, IPv4, UDP */
	FRAME_KIND_TCP4,  /* the same with TCP: a bare ACK with data */
	FRAME_KIND_UDP6,  /* Ethernet, tags, IPv6, UDP */
	FRAME_KIND_IPV4,  /* Ethernet, tags, IPv4 with protocol 0xFD */
	FRAME_KIND_ETHER, /* Ethernet, tags, EtherType 0x88B5 */
};

/* What a built frame looks like. Start from frame_template_default. */
struct frame_template {
	enum frame_kind kind;
	uint32_t length_bytes; /* 14 to 9018, and no less than its headers */
	uint8_t destination[6], source[6];
	uint8_t vlan_count;                     /* 0 to 2; of two the outer is 0x88A8 */
	uint16_t vlan_tci[2];                   /* outermost first */
	uint32_t ipv4_source, ipv4_destination; /* host order */
	uint8_t ipv6_source[16], ipv6_destination[16];
	uint8_t ttl;
	uint16_t port_source, port_destination;
};

/* 02:00:00:00:00:01 -> 02:00:00:00:00:02, 10.0.0.1 -> 10.0.1.1 (fd00::1 -> fd00::1:1), ports 49152 -> 9, TTL 64. */
void frame_template_default(struct frame_template *ret, enum frame_kind kind, uint32_t length_bytes);

/* "UDP over IPv4", for messages. */
const char *frame_kind_name(enum frame_kind kind);

/* Bytes of the headers before the payload. */
uint32_t frame_template_headers(const struct frame_template *t);

/*
 * Write the frame: payload all zero, checksums set. `ret_bytes` has room for
 * t->length_bytes. A length that the kind cannot have: -EINVAL, with its limits.
 */
int frame_build(const struct frame_template *t, uint8_t *ret_bytes, struct err *err);

#endif
