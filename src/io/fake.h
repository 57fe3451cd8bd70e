/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IO_FAKE_H
#define TARE_IO_FAKE_H

#include <stdint.h>

#include "base/err.h"
#include "io/io.h"

/*
 * A box with scripted faults, for tests: what is sent into `in` comes out of
 * `out[0]` and `out[1]`, but for what the script says. Single-threaded; nothing is
 * left to chance or time.
 */
enum fake_fault {
	FAKE_DROP,      /* no copy at this port */
	FAKE_DUPLICATE, /* two copies, one behind the other */
	FAKE_DAMAGE,    /* the byte at `argument` is inverted */
	FAKE_CUT,       /* only the first `argument` bytes come out */
	FAKE_HOLD,      /* comes out behind the copies of the next `argument` frames */
	FAKE_WAIT,      /* it and those behind it come out after `argument` more receive calls on this port */
	FAKE_FOREIGN,   /* as it is, and then `argument` bytes of 0xEE that nobody sent */
	FAKE_MISCOUNT,  /* as it is, but the port's received counter says `argument` more */
	FAKE_SWALLOW,   /* not delivered, though the port's counter says so */
};

struct fake_rule {
	uint32_t nth; /* frame sent into `in`, from 0 */
	uint8_t port; /* 0 or 1: of out */
	uint8_t fault;
	uint32_t argument;
};

struct fake_box {
	struct io_port *in, *out[2]; /* closed one by one */
};

/* `rules` (copied) in any order; several may name one frame. `frames`: most that are ever sent. */
int fake_box_open(const struct fake_rule *rules, uint32_t rule_count, uint32_t frames, uint32_t frame_bytes,
		  struct fake_box *ret_box, struct err *err);

#endif
