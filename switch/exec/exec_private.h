/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_EXEC_EXEC_PRIVATE_H
#define TARE_SWITCH_EXEC_EXEC_PRIVATE_H

#include "exec/exec.h"

/* For the implementers of exec.h. */

/* Instructions from `at` until OP_RETURN, OP_ACCEPT or the last of *steps; used for parser, controls and actions. */
enum run_end { RUN_DONE, RUN_EXIT, RUN_TOO_LONG, RUN_PARSER_ERROR };
enum run_end exec_run(struct exec *x, struct packet *packet, uint32_t at, uint32_t *steps);

/* --- headers.c --- */
void header_set_valid(const struct program *p, uint64_t *m, uint32_t header);
void header_add(struct packet *packet, const struct program *p, uint32_t header);
void header_remove(struct packet *packet, const struct program *p, uint32_t header);
void header_copy(const struct program *p, uint64_t *m, uint32_t to, uint32_t from);
void variable_copy(const struct program *p, uint64_t *m, uint32_t to, uint32_t from);
bool variable_equal(const struct program *p, const uint64_t *m, uint32_t a, uint32_t b);
void stack_copy(const struct program *p, uint64_t *m, uint32_t to, uint32_t from);
void union_copy(const struct program *p, uint64_t *m, uint32_t to, uint32_t from);
void stack_push(const struct program *p, uint64_t *m, uint32_t stack, uint32_t by);
void stack_pop(const struct program *p, uint64_t *m, uint32_t stack, uint32_t by);
uint32_t header_bytes_now(const struct program *p, const uint64_t *m, uint32_t header); /* with its variable field */

/* --- parse.c --- */

/* False: the parser ends, packet->parser_error says why. */
bool parse_extract(const struct program *p, struct packet *packet, uint32_t header, uint64_t variable_bits);
bool parse_lookahead(const struct program *p, struct packet *packet, const struct insn *insn);
bool parse_advance(const struct program *p, struct packet *packet, uint64_t bits);
/* Where the select goes on; NOWHERE: no case matched. */
uint32_t parse_select(const struct exec *x, const uint64_t *m, uint32_t select);

/* One header's fields to bytes; returns how many. Seven bytes more may be written. */
uint32_t header_write(const struct program *p, const uint64_t *m, uint32_t header, uint8_t *bytes);

#endif
