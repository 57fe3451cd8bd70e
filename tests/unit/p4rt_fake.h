/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_P4RT_FAKE_H
#define TARE_TESTS_P4RT_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "grpc/loop.h"
#include "grpc/server.h"

/*
 * A P4Runtime server of one device that does as it is told, faults included. It
 * lives in the test's loop. Table entries are kept as they came and given back as
 * they were; inserting one twice is ALREADY_EXISTS, by its bytes; modify and delete go
 * by the key.
 */
enum fake_arbitration {
	FAKE_ELECTS, /* the highest election id is primary, as the specification has it */
	FAKE_REFUSES,
	FAKE_SILENT,
	FAKE_BABBLES, /* bytes that are no message */
};

enum fake_answer {
	FAKE_ANSWERS,
	FAKE_NEVER,
	FAKE_GARBAGE,       /* an answer that is no protobuf, status OK */
	FAKE_EMPTY,         /* status OK, no answer */
	FAKE_STATUS,        /* .status, without details */
	FAKE_DETAILS,       /* UNKNOWN, each update's own status: every third one RESOURCE_EXHAUSTED */
	FAKE_FEWER_DETAILS, /* the same, one of them missing */
	FAKE_BAD_DETAILS,   /* the same, cut short */
	FAKE_HALF,          /* reads: half of the entries, then the stream ends as UNAVAILABLE */
};

struct fake {
	struct loop *loop;
	struct grpc_server *server;
	char address[64];
	enum fake_arbitration arbitration;
	enum fake_answer write, read, pipeline;
	int status;
	int64_t delay_ns;      /* before each write's answer */
	unsigned die_at_write; /* the server goes away when this one comes; 0: never */
	int64_t revive_ns;     /* and is back so long later; 0: never */
	struct grpc_tls tls;
	size_t room;           /* entries; more are RESOURCE_EXHAUSTED; 0: without end */
	unsigned forget_every; /* each so manieth insert is answered well and not kept; 0: none */

	unsigned inserts, writes, updates, in_flight, most_in_flight, streams;
	struct {
		uint8_t **items; /* each: length, then the bytes of p4.v1.TableEntry */
		size_t count, capacity;
	} entries;
	uint8_t *config; /* p4.v1.ForwardingPipelineConfig, as it was set */
	size_t config_bytes;
	struct grpc_call *stream; /* the last one opened, or NULL */
	uint64_t primary_low;
	struct loop_deferred die;
	struct loop_timer revive;
	uint8_t last_packet[64];
	size_t last_packet_bytes;
};

void fake_start(struct fake *fake, struct loop *loop); /* at fake->address; one is made up when it is "" */
void fake_stop(struct fake *fake);                     /* as if it died; fake_start may follow */
void fake_release(struct fake *fake);
void fake_end_stream(struct fake *fake);                     /* mastership is gone, the connection stays */
void fake_demote(struct fake *fake);                         /* another client took over */
void fake_packet_in(struct fake *fake, const char *payload); /* with metadata 1 = 5 */

#endif
