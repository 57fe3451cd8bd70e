/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_LAB_TOPOLOGY_H
#define TARE_LAB_TOPOLOGY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "lab/link.h"
#include "lab/netns.h"
#include "lab/process.h"

/*
 * A line of switches with a host at each end, one namespace each, cables between:
 *
 *     host a --- 1 switch 1 2 --- 1 switch 2 2 --- ... --- host b
 *
 * One switch between two hosts is the line of one. Everything follows from the
 * place in the line, the same in every restart:
 *
 *     host a   eth0  02:54:00:00:00:01  10.0.1.1/16
 *     host b   eth0  02:54:00:00:00:02  10.0.2.1/16
 *     switch s p1    02:54:00:01:0s:01  port 1, towards a; no address
 *              p2    02:54:00:01:0s:02  port 2, towards b
 *
 * Each host has the other as a permanent neighbour. Frames pass when
 * lab_line_open is back: links are up, IPv6 is off, so are offloads, read back.
 * Nothing starts in the switches' namespaces: that is the target's part.
 */
enum { LAB_SWITCHES_MOST = 8, LAB_LABEL_BYTES = 32, LAB_MTU_BYTES = 1500 };

struct lab_line_options {
	uint32_t switches; /* 1 to LAB_SWITCHES_MOST */
	uint32_t serial;   /* tells the lines of one process apart: tare-PID-SERIAL */
	pid_t owner;       /* the PID of the label, a parent that this process dies with; 0: this process */
	/*
	 * 0: LAB_MTU_BYTES. A program that makes frames longer needs room for it; far more than needed costs
	 * receivers ring slots (libpcap sizes them by it).
	 */
	uint32_t mtu_bytes;
};

struct lab_host {
	struct netns netns; /* tare-PID-SERIAL-a, -b */
	struct link_end port;
	uint32_t ipv4; /* host byte order */
};

struct lab_switch {
	struct netns netns;      /* tare-PID-SERIAL-s1, ... */
	struct link_end port[2]; /* number 1 towards a, number 2 towards b */
	struct process *process; /* the target's; lab_line_close stops it when it is still there */
};

struct lab_line {
	char label[LAB_LABEL_BYTES]; /* "tare-PID-SERIAL" */
	uint32_t switch_count;
	uint32_t mtu_bytes;
	struct lab_host a, b;
	struct lab_switch switches[LAB_SWITCHES_MOST];
	int lock_fd; /* held while the line lives: tells `tare clean` to keep off */
};

/* netns_permit first. On failure nothing is left. A name is taken: -EEXIST. */
int lab_line_open(const struct lab_line_options *options, struct lab_line **ret, struct err *err);

/* All cables are there and up: 0; else the first that is not, by name (-ENODEV, -ENETDOWN). */
int lab_line_check(const struct lab_line *line, struct err *err);

/* Processes, cables, namespaces, lock. NULL and half-built are fine. */
void lab_line_close(struct lab_line *line);

/* Can this host do all that? Tried in a child, nothing stays. 0 and how, in words, or the reason. */
int lab_try(char *ret_how, size_t size_bytes, struct err *err);

#endif
