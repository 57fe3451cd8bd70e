/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_PLANE_H
#define TARE_SWITCH_PLANE_H

#include "exec/v1model.h"
#include "tables/quiesce.h"
#include "truth.h"

/*
 * The data plane: threads that take frames from ports, run the program and send
 * what comes of them. It never waits for the control thread. What it has for it
 * (packets to the CPU port, digests, log messages) lies in mailboxes.
 *
 * Ports are shared out among the threads; each has the queues of all ports for
 * itself. With one thread (the default) the order of packets is BMv2's.
 */
struct plane;

struct plane_port {
	uint32_t number;
	const char *interface;
};

struct plane_config {
	const struct plane_port *ports;
	uint32_t port_count;
	uint32_t threads;           /* at most PLANE_THREADS_MOST; 0: 1 */
	uint32_t cpu_port;          /* NOWHERE: none */
	uint32_t drop_port;         /* 0: 511 */
	uint32_t queue_packets;     /* 0: 64 */
	uint32_t priorities;        /* 0: 1 */
	bool busy_poll;             /* never sleep */
	const char *pcap_directory; /* NULL: no recording */
	const struct switch_clock *clock;
	struct quiesce *quiesce;
};

enum { PLANE_THREADS_MOST = 16 };

/* Starts the threads, which open the ports; those that are not there are waited for. Errors: ERR_HOST. */
int plane_create(const struct plane_config *config, struct plane **ret_plane, struct err *err);
void plane_stop(struct plane *plane);    /* ends the threads */
void plane_destroy(struct plane *plane); /* stops first; NULL is fine */

/* --- in the control thread --- */

/* From now on this program runs; packets on their way end in the old one. On failure (memory) the old one goes on. */
int plane_commit(struct plane *plane, const struct program *program, struct state *state, struct err *err);

/* A frame for the program from the CPU port. False: there is no room, or no CPU port. */
bool plane_packet_out(struct plane *plane, const uint8_t *frame, size_t length_bytes);

struct plane_handlers {
	void (*packet_in)(void *context, const uint8_t *frame, size_t length_bytes);
	/* Only of the program that was committed last. */
	void (*digest)(void *context, uint32_t list, const uint64_t *memory);
	void (*log)(void *context, const char *text);
	void *context;
};

/* Of each thread: readable when there is something; plane_drain hands it out. */
int plane_event_fd(const struct plane *plane, uint32_t thread);
void plane_drain(struct plane *plane, uint32_t thread, const struct plane_handlers *handlers);

/* Sums of all threads and programs, once they are stopped. */
void plane_counters(const struct plane *plane, struct v1model_counters *ret);

#endif
