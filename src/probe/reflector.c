/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/reflector.h"

#include <string.h>

void reflector_init(struct reflector *r, struct io_port *from, struct io_port *out, enum id_format format, char mark)
{
	*r = (struct reflector){
		.out = out,
		.format = format,
		.mark = mark,
		.hand_over = out->ops->forward && strcmp(out->ops->name, from->ops->name) == 0,
	};
}

static void keep(struct reflector *r, uint32_t id, uint64_t stamp)
{
	if (id >= r->ids) {
		r->beyond++;
	} else if (r->first_ticks[id]) {
		r->duplicates++;
	} else {
		r->first_ticks[id] = stamp;
		r->first++;
	}
}

static bool mark(struct reflector *r, struct io_frame *f, uint64_t stamp)
{
	uint32_t id = 0;
	enum id_status status = reflected_mark(r->format, &r->hint, f->data, f->length_bytes, r->mark, &id);

	if (status != ID_OK && status != ID_WARM_UP) {
		r->unmarked++;
		return false;
	}
	if (status == ID_OK && r->first_ticks)
		keep(r, id, stamp);
	if (r->readdress && f->length_bytes >= sizeof(r->destination_mac))
		memcpy(f->data, r->destination_mac, sizeof(r->destination_mac));
	return true;
}

static void hand_over(struct reflector *r, struct io_port *from, struct io_frame *frames, unsigned count,
		      uint64_t stamp)
{
	struct io_frame go[REFLECT_BURST];
	unsigned n = 0, went;

	for (unsigned i = 0; i < count; i++) {
		if (mark(r, &frames[i], stamp))
			go[n++] = frames[i];
		else
			io_release(from, &frames[i], 1);
	}
	went = n ? r->out->ops->forward(r->out, go, n) : 0;
	r->returned += went;
	r->refused += n - went;
}

static void copy_over(struct reflector *r, struct io_frame *frames, unsigned count, uint64_t stamp)
{
	struct io_frame to[REFLECT_BURST], *go[REFLECT_BURST];
	uint32_t longest = 0;
	unsigned n = 0, room, went;

	for (unsigned i = 0; i < count; i++) {
		if (!mark(r, &frames[i], stamp))
			continue;
		go[n++] = &frames[i];
		longest = frames[i].length_bytes > longest ? frames[i].length_bytes : longest;
	}
	room = n ? io_reserve(r->out, to, n, longest) : 0;
	for (unsigned i = 0; i < room && i < n; i++) {
		memcpy(to[i].data, go[i]->data, go[i]->length_bytes);
		to[i].length_bytes = go[i]->length_bytes;
	}
	went = room ? io_send(r->out, to, room) : 0;
	r->returned += went;
	r->refused += n - went;
}

void reflector_return(struct reflector *r, struct io_port *from, struct io_frame *frames, unsigned count,
		      uint64_t stamp)
{
	if (r->hand_over) {
		hand_over(r, from, frames, count, stamp);
		return;
	}
	copy_over(r, frames, count, stamp);
	io_release(from, frames, count);
}
