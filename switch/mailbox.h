/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_MAILBOX_H
#define TARE_SWITCH_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Letters from one thread to another, whole and in order; a full box refuses.
 * One thread puts, one takes. `fd` (an eventfd) becomes readable when there is
 * something to take.
 */
struct mailbox;

enum { MAILBOX_LETTER_BYTES = 70000 }; /* the longest */

struct mailbox *mailbox_create(size_t capacity_bytes); /* a power of two; NULL: no memory, or no eventfd */
void mailbox_destroy(struct mailbox *box);             /* NULL is fine */
int mailbox_fd(const struct mailbox *box);

/* A letter of two parts, put one behind the other. False: no room. */
bool mailbox_put(struct mailbox *box, const void *head, size_t head_bytes, const void *body, size_t body_bytes);

/* The next letter, into MAILBOX_LETTER_BYTES; its length, 0: none. */
size_t mailbox_take(struct mailbox *box, void *ret_letter);
void mailbox_clear_event(struct mailbox *box); /* before taking until there is none */

#endif
