/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_NETNS_SWITCH_BED_H
#define TESTS_NETNS_SWITCH_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "io/afpacket.h"

/* tare-switch on two cables: sw1-h1 is its port 1, sw2-h2 its port 2. TARE_SWITCH and PROGRAMS say where they are. */

enum { WAIT_MS = 5000, QUIET_MS = 100, LOG_BYTES = 65536, FRAME = 60 };

extern struct switch_bed {
	struct io_port *h1, *h2;
	pid_t pid;
	int log_fd;
	char log[LOG_BYTES];
	size_t log_bytes;
} bed;

int bed_setup(void **state);
int bed_teardown(void **state);

const char *bed_program(const char *name);
void bed_start(const char *const *args);                                     /* the last is NULL */
void bed_start_two(const char *name, const char *option, const char *value); /* both ports are open then */
int bed_stop(void);                                                          /* its status */
unsigned bed_log_has(const char *text);                                      /* how often, up to now */
void bed_wait_log(const char *text, unsigned count);

struct io_port *bed_open_port(const char *name);

/* FRAME bytes, the first of them given. */
void bed_send(struct io_port *port, const uint8_t *head, size_t head_bytes);
/* False: nothing came within the time. */
bool bed_receive(struct io_port *port, uint8_t *ret, uint32_t *ret_bytes, int wait_ms);

#endif
