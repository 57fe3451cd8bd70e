/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_CAMPAIGN_SECOND_H
#define TARE_CAMPAIGN_SECOND_H

#include "base/settings.h"
#include "packet/stream.h"
#include "probe/capture.h"
#include "store/store.h"

/* The second clock of a differential restart: the port that copies go on through, and the capture behind it. */
struct second {
	char reflect_name[128], capture_name[64];
	struct io_port *reflect; /* NULL: the plan has none */
	struct capture *capture; /* NULL: captured elsewhere, or nowhere */
	const struct stream *stream;
	struct second_record record; /* of the run that ended last */
	struct second_pair *rows;
};

/* Before there is a store: are the ports there, and has the capture the clock that the plan says? Opens and closes it. */
int second_check(const struct settings *probes, const struct settings *target, struct err *err);

/* All zero where the plan has none. The caller closes, also after a failure. */
int second_open(struct second *s, const struct settings *probes, const struct stream *stream, struct err *err);
void second_close(struct second *s);

/* Around a run. `tag`: of its native ids; `sent`: probes; `frames`: with their warm-up trains. */
int second_begin(struct second *s, struct err *err);
int second_end(struct second *s, uint16_t tag, uint32_t sent, uint64_t frames, struct err *err);

/* Beside the run put last. */
int second_put(const struct second *s, struct store *store, struct err *err);

#endif
