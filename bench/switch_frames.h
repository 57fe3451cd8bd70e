/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_BENCH_SWITCH_FRAMES_H
#define TARE_BENCH_SWITCH_FRAMES_H

#include <stdint.h>

/* Frames for the programs of p4/v1model. */
enum { ETHERNET = 14, IPV4 = 20, UDP = 17, PROBE = 0xfd };

void put(uint8_t *at, uint64_t value, unsigned bytes); /* big-endian */

/* Ethernet, IPv4 from 192.168.0.1 to `destination`, two port numbers; what is behind stays as it is. */
void make_frame(uint8_t *frame, uint32_t length_bytes, uint32_t destination, uint8_t protocol);

#endif
