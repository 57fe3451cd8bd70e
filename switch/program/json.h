/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_PROGRAM_JSON_H
#define TARE_SWITCH_PROGRAM_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * Reading the compiler's JSON with errors that a person can follow: each message
 * says which object lacks what, and the P4 source line where the JSON has it.
 * `what` names the object: "action 'IngressPipe.drop'".
 */
int js_string(const json_t *object, const char *key, const char *what, const char **ret, struct err *err);
int js_uint(const json_t *object, const char *key, uint32_t most, const char *what, uint32_t *ret, struct err *err);
int js_array(const json_t *object, const char *key, const char *what, const json_t **ret, struct err *err);
int js_object(const json_t *object, const char *key, const char *what, const json_t **ret, struct err *err);
bool js_flag(const json_t *object, const char *key); /* absent: false */

/* A number in hexadecimal, "0x0a" or "-0x1", into slots of 64 bits, least significant first, two's complement when
 * negative. *ret_bits: bits of its magnitude. -EINVAL when it is none or needs more than `slots`. */
int js_hex(const char *text, uint64_t *ret, uint32_t slots, uint32_t *ret_bits, bool *ret_negative);

/* "file.p4:12" of an object with source_info, "" without; lives in the arena. */
const char *js_place(const json_t *object, struct arena *arena);

/* ERR_USAGE with the place in brackets behind the message, when the object has one. */
int js_refuse(const json_t *object, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
