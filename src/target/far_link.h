/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TARGET_FAR_LINK_H
#define TARE_TARGET_FAR_LINK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Between two tares on two machines, while one sends and the other receives: the
 * near one starts the other by ssh and speaks with it over its standard input and
 * output. No port is opened for it, and no daemon runs. Messages are "Ta", a kind,
 * a zero, a length (4 bytes, big-endian) and so many bytes; both sides have one
 * thread that reads.
 *
 *   near                           far
 *   HELLO {version, plan, hash} -> HELLO {version, hash, host facts}: hash by its own reckoning of the plan's text
 *   OPEN {interface, ...}       -> OK {}
 *   STREAM bytes                -> OK {}
 *   PING                        -> PONG 8 bytes: its TSC
 *   RUN {tag, train, ...}       -> DONE {sent, ...}, then TIMES: 8 bytes a probe
 *   STOP                           the run ends early; its DONE comes all the same
 *
 * Instead of any answer: ERROR, a text. The end of its input ends the far one, in mid-run too.
 */
enum far_kind {
	FAR_HELLO = 1,
	FAR_OPEN,
	FAR_STREAM,
	FAR_PING,
	FAR_PONG,
	FAR_RUN,
	FAR_STOP,
	FAR_DONE,
	FAR_TIMES,
	FAR_OK,
	FAR_ERROR,
	FAR_KINDS
};

enum { FAR_HEAD_BYTES = 8, FAR_MESSAGE_MOST = 1 << 28 };

struct far_message {
	enum far_kind kind;
	uint8_t *bytes; /* malloced, a zero behind them */
	size_t count;
};

/* A broken pipe is -EPIPE, not a signal. Waits as long as the other does not read, at most limit_ms. */
int far_write(int fd, enum far_kind kind, const void *bytes, size_t count, int64_t limit_ms, struct err *err);

/*
 * The next message; the caller frees ret->bytes. -EPIPE: the other end is gone; -EPROTO: what came is no message
 * (the text shows its beginning); -ETIMEDOUT; -EINTR: the flag (may be NULL) was raised, and nothing of a message is lost.
 */
int far_read(int fd, int64_t limit_ms, const atomic_bool *interrupted, struct far_message *ret, struct err *err);

/* --- the near end --- */

struct far_options {
	const char *ssh;         /* words of a command line: "ssh", "ssh -p 2222 -i key" */
	const char *destination; /* "user@host" */
	const char *command;     /* what runs there: "tare" */
	const char *version;     /* of this tare; the far one must have the same */
	const char *plan_text;
	uint64_t plan_hash;
	int64_t limit_ms; /* for its first answer, and for each later one but DONE */
	const atomic_bool *interrupted;
};

struct far_link;

/* Started, and agreed upon version and plan. Every error names the destination and what ssh and the far end said. */
int far_link_open(const struct far_options *options, struct far_link **ret, struct err *err);

int far_link_send(struct far_link *l, enum far_kind kind, const void *bytes, size_t count, struct err *err);

/* The answer, which must be of this kind. limit_ms 0: the link's own. -EINTR as far_read. */
int far_link_expect(struct far_link *l, enum far_kind kind, int64_t limit_ms, const atomic_bool *interrupted,
		    struct far_message *ret, struct err *err);

/* Ask and wait for FAR_OK, nothing in it. */
int far_link_ask(struct far_link *l, enum far_kind kind, const void *bytes, size_t count, struct err *err);

/* What the far end said in HELLO, as JSON text; borrowed. */
const char *far_link_facts(const struct far_link *l);

/* Which stream the far end has (stream hash); 0: none yet. Kept here for who sends it. */
uint64_t *far_link_stream(struct far_link *l);

void far_link_close(struct far_link *l); /* NULL is fine. The far one ends with it */

#endif
