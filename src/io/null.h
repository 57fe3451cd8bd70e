/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_IO_NULL_H
#define TARE_IO_NULL_H

#include <stdint.h>

#include "base/err.h"
#include "io/io.h"

/*
 * A port that takes every frame and delivers none. Measures what the engine
 * costs by itself, and is the smallest backend to copy from.
 */
int null_port_open(uint32_t frame_bytes, struct io_port **ret_port, struct err *err);

#endif
