/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PACKET_STREAM_WIRE_H
#define TARE_PACKET_STREAM_WIRE_H

#include "packet/stream.h"

/*
 * A stream as bytes, for whoever sends it from another machine: packets and
 * intended times, all that stream_fill needs. What comes back sends the same
 * frames; it cannot look ids up (no reader belongs to it). Big-endian; version 1.
 */

/* *ret is malloced. 0 or -ENOMEM. */
int stream_pack(const struct stream *s, uint8_t **ret, size_t *ret_bytes, struct err *err);

/* -EINVAL: not such bytes, says where. On success the caller owns *ret_stream (stream_destroy). */
int stream_unpack(const uint8_t *bytes, size_t count, struct stream **ret_stream, struct err *err);

#endif
