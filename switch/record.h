/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_RECORD_H
#define TARE_SWITCH_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * A pcap file that grows while the switch runs: Ethernet, nanoseconds, complete
 * up to the last flush at any time. (The writer of packet/ makes whole files, and
 * brings libpcap and all that it stands on.)
 */
struct record;

int record_open(const char *path, struct record **ret_record, struct err *err);
/* False: the file cannot be written (a full disk); nothing more will be. */
bool record_put(struct record *record, int64_t time_ns, const uint8_t *frame, uint32_t length_bytes);
void record_flush(struct record *record);
void record_close(struct record *record); /* NULL is fine */

#endif
