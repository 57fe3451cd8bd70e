/* SPDX-License-Identifier: Apache-2.0 */
#include "import/ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "packet/trace.h"

static int make(struct import_ids *ids, uint32_t count, uint32_t id_count)
{
	*ids = (struct import_ids){
		.count = count,
		.id_count = id_count,
		.state = calloc(count ? count : 1, 1),
		.probe_of = calloc(id_count ? id_count : 1, sizeof(uint32_t)),
	};
	if (ids->state && ids->probe_of)
		return 0;
	import_ids_release(ids);
	return -ENOMEM;
}

void import_ids_release(struct import_ids *ids)
{
	free(ids->state);
	free(ids->probe_of);
	*ids = (struct import_ids){ 0 };
}

static int trace_fits(const struct trace *trace, uint32_t *ret_largest, struct err *err)
{
	uint32_t largest = 0;

	if (trace->packet_count > IMPORT_PROBES_MOST)
		return err_set(err, ERR_USAGE, EINVAL, "%s: %u packets; at most %d fit in a run that is imported",
			       trace->path, trace->packet_count, IMPORT_PROBES_MOST);
	for (uint32_t i = 0; i < trace->packet_count; i++) {
		const struct trace_packet *p = &trace->packets[i];

		if (p->id_status != ID_OK)
			continue;
		if (p->id > IMPORT_ID_MOST)
			return err_set(err, ERR_USAGE, EINVAL, "%s: packet %u: id %u; expected at most %d", trace->path,
				       i + 1, p->id, IMPORT_ID_MOST);
		if (p->id > largest)
			largest = p->id;
	}
	*ret_largest = largest;
	return 0;
}

static void take_trace(struct import_ids *ids, const struct trace *trace)
{
	for (uint32_t i = 0; i < trace->packet_count; i++) {
		const struct trace_packet *p = &trace->packets[i];

		if (p->id_status != ID_OK) {
			ids->state[i] = IMPORT_ID_UNREADABLE;
			ids->unreadable++;
			continue;
		}
		ids->state[i] = p->id_shared ? IMPORT_ID_SHARED : IMPORT_ID_OWN;
		ids->shared += p->id_shared;
		if (!ids->probe_of[p->id])
			ids->probe_of[p->id] = i + 1;
	}
	ids->exact = true;
}

int import_ids_from_trace(const char *path, struct import_ids *ret, struct err *err)
{
	struct trace *trace = NULL;
	uint32_t largest = 0;
	int r = trace_load(path, ID_OCT, &trace, err);

	if (r < 0)
		return r;
	r = trace_fits(trace, &largest, err);
	if (r == 0) {
		if (make(ret, trace->packet_count, largest + 1) < 0)
			r = err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path);
		else
			take_trace(ret, trace);
	}
	trace_destroy(trace);
	return r;
}

int import_seen_add(struct import_seen *seen, uint32_t id)
{
	uint8_t bit = (uint8_t)(1u << id % 8);

	TARE_ASSERT(id <= IMPORT_ID_MOST);
	if (id >= seen->id_count) {
		uint32_t room = id + 1 > 2 * seen->id_count ? (id | 0xffff) + 1 : 2 * seen->id_count;
		uint8_t *bits = realloc(seen->bits, room / 8 + 1);

		if (!bits)
			return -ENOMEM;
		memset(bits + seen->id_count / 8, 0, room / 8 + 1 - seen->id_count / 8);
		seen->bits = bits;
		seen->id_count = room;
	}
	seen->count += !(seen->bits[id / 8] & bit);
	seen->bits[id / 8] |= bit;
	return 0;
}

void import_seen_release(struct import_seen *seen)
{
	free(seen->bits);
	*seen = (struct import_seen){ 0 };
}

int import_ids_from_seen(const struct import_seen *seen, uint32_t sent, struct import_ids *ret, struct err *err)
{
	uint32_t count = sent ? sent : seen->count, next = 0;

	if (count < seen->count)
		return err_set(err, ERR_USAGE, EINVAL,
			       "%u probes are said to have been sent, but %u ids were seen; expected more", sent,
			       seen->count);
	if (count > IMPORT_PROBES_MOST)
		return err_set(err, ERR_USAGE, EINVAL, "%u probes in a run; at most %d fit in one that is imported",
			       count, IMPORT_PROBES_MOST);
	if (make(ret, count, seen->id_count) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory for %u probes", count);
	for (uint32_t id = 0; id < seen->id_count; id++)
		if (seen->bits[id / 8] & 1u << id % 8)
			ret->probe_of[id] = ++next;
	for (; next < count; next++, ret->unreadable++)
		ret->state[next] = IMPORT_ID_UNREADABLE;
	return 0;
}
