/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/second_match.h"

#include <errno.h>
#include <stdlib.h>

int second_match_init(struct second_match *m, uint32_t probes, struct err *err)
{
	size_t n = probes ? probes : 1;

	*m = (struct second_match){ .count = probes, .first_ns = SECOND_NONE };
	for (int c = 0; c < 2; c++) {
		m->stamp_ns[c] = malloc(n * sizeof(int64_t));
		for (uint32_t i = 0; m->stamp_ns[c] && i < probes; i++)
			m->stamp_ns[c][i] = SECOND_NONE;
	}
	if (m->stamp_ns[0] && m->stamp_ns[1])
		return 0;
	second_match_release(m);
	return err_set(err, ERR_HOST, ENOMEM, "out of memory for the second clock of %u probes", probes);
}

void second_match_release(struct second_match *m)
{
	free(m->stamp_ns[0]);
	free(m->stamp_ns[1]);
	*m = (struct second_match){ 0 };
}

void second_match_take(struct second_match *m, uint32_t probe, enum second_copy copy, int64_t stamp_ns)
{
	m->clock.frames++;
	if (probe < m->count && m->stamp_ns[copy][probe] == SECOND_NONE) {
		m->stamp_ns[copy][probe] = stamp_ns;
		if (m->first_ns == SECOND_NONE || stamp_ns < m->first_ns)
			m->first_ns = stamp_ns;
	} else if (probe < m->count) {
		m->clock.duplicates++;
	} else if (probe == SECOND_UNREADABLE) {
		m->clock.unreadable++;
	} else {
		m->clock.foreign++;
	}
}

uint32_t second_match_finish(struct second_match *m, struct second_pair *ret_rows)
{
	uint32_t rows = 0;

	for (uint32_t i = 0; i < m->count; i++) {
		int64_t path = m->stamp_ns[SECOND_PATH][i], bypass = m->stamp_ns[SECOND_BYPASS][i];

		if (path != SECOND_NONE && bypass != SECOND_NONE)
			ret_rows[rows++] = (struct second_pair){ i, path - bypass, bypass - m->first_ns };
		m->clock.path_missing += path == SECOND_NONE && bypass != SECOND_NONE;
		m->clock.bypass_missing += path != SECOND_NONE && bypass == SECOND_NONE;
		m->clock.neither += path == SECOND_NONE && bypass == SECOND_NONE;
	}
	m->clock.pairs = rows;
	return rows;
}
