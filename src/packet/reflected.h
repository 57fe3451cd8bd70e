/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_PACKET_REFLECTED_H
#define TARE_PACKET_REFLECTED_H

#include <stdbool.h>
#include <stdint.h>

#include "packet/probe_id.h"

/*
 * Reflected copies of probes: the same frame, marked as the copy of the path ('P')
 * or of the bypass ('B'). An oct marker says it in its first letter; a native id in
 * the last letter of its magic ("TARP", "TARB"), its balance made good. The
 * instrument header has no place for it.
 */
#define REFLECTED_PATH   'P'
#define REFLECTED_BYPASS 'B'

bool reflected_format(enum id_format format); /* can it say which copy it is? */

/* Mark a native id, whole and with its magic. */
void reflected_mark_native(uint8_t *at, char copy);

/*
 * Mark a frame. *hint is where an id was found last, and is kept up to date. ID_OK and ID_WARM_UP: marked, and *ret_id
 * is its id. Else there is no whole marker or id in it, or (oct) one of a warm-up packet, and it is as it was.
 */
enum id_status reflected_mark(enum id_format format, uint16_t *hint, uint8_t *frame, uint32_t length_bytes, char copy,
			      uint32_t *ret_id);

struct reflected_id {
	uint32_t id;
	uint16_t tag; /* native: of the run */
	char copy;
};

/*
 * What a capture holds. ID_OK and ID_WARM_UP fill *ret; ID_UNREADABLE: a reflected copy (its `copy` is filled in) of
 * which probe cannot be told; ID_NOT_A_PROBE: no reflected copy of this format.
 */
enum id_status reflected_find(enum id_format format, const uint8_t *frame, uint32_t length_bytes,
			      struct reflected_id *ret);

#endif
