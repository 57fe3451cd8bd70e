/* SPDX-License-Identifier: Apache-2.0 */
#include "mailbox.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { LINE = 64 };

struct mailbox {
	uint8_t *bytes;
	size_t mask;
	int fd;
	_Alignas(2 * LINE) _Atomic uint64_t put;   /* bytes ever put; written by the one who puts */
	_Alignas(2 * LINE) _Atomic uint64_t taken; /* written by the one who takes */
};

struct mailbox *mailbox_create(size_t capacity_bytes)
{
	struct mailbox *box = aligned_alloc((size_t)2 * LINE, sizeof(*box));

	if (!box)
		return NULL;
	memset(box, 0, sizeof(*box));
	box->bytes = malloc(capacity_bytes);
	box->mask = capacity_bytes - 1;
	box->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!box->bytes || box->fd < 0) {
		mailbox_destroy(box);
		return NULL;
	}
	return box;
}

void mailbox_destroy(struct mailbox *box)
{
	if (!box)
		return;
	if (box->fd >= 0)
		close(box->fd);
	free(box->bytes);
	free(box);
}

int mailbox_fd(const struct mailbox *box)
{
	return box->fd;
}

static void copy_in(struct mailbox *box, uint64_t at, const void *from, size_t count)
{
	size_t offset = at & box->mask, first = box->mask + 1 - offset;

	if (first > count)
		first = count;
	memcpy(box->bytes + offset, from, first);
	memcpy(box->bytes, (const uint8_t *)from + first, count - first);
}

static void copy_out(const struct mailbox *box, uint64_t at, void *to, size_t count)
{
	size_t offset = at & box->mask, first = box->mask + 1 - offset;

	if (first > count)
		first = count;
	memcpy(to, box->bytes + offset, first);
	memcpy((uint8_t *)to + first, box->bytes, count - first);
}

bool mailbox_put(struct mailbox *box, const void *head, size_t head_bytes, const void *body, size_t body_bytes)
{
	uint64_t at = atomic_load_explicit(&box->put, memory_order_relaxed), one = 1;
	uint32_t length = (uint32_t)(head_bytes + body_bytes);

	if (length > MAILBOX_LETTER_BYTES ||
	    at + sizeof(length) + length - atomic_load_explicit(&box->taken, memory_order_acquire) > box->mask + 1)
		return false;
	copy_in(box, at, &length, sizeof(length));
	copy_in(box, at + sizeof(length), head, head_bytes);
	if (body_bytes)
		copy_in(box, at + sizeof(length) + head_bytes, body, body_bytes);
	atomic_store_explicit(&box->put, at + sizeof(length) + length, memory_order_release);
	return write(box->fd, &one, sizeof(one)) >= 0 || true; /* a full counter has woken the other side long since */
}

size_t mailbox_take(struct mailbox *box, void *ret_letter)
{
	uint64_t at = atomic_load_explicit(&box->taken, memory_order_relaxed);
	uint32_t length;

	if (at == atomic_load_explicit(&box->put, memory_order_acquire))
		return 0;
	copy_out(box, at, &length, sizeof(length));
	copy_out(box, at + sizeof(length), ret_letter, length);
	atomic_store_explicit(&box->taken, at + sizeof(length) + length, memory_order_release);
	return length;
}

void mailbox_clear_event(struct mailbox *box)
{
	uint64_t count;

	if (read(box->fd, &count, sizeof(count)) < 0)
		return; /* nothing was set */
}
