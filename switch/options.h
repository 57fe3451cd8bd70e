/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_SWITCH_OPTIONS_H
#define TARE_SWITCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "grpc/tls.h"
#include "plane.h"
#include "truth.h"

/*
 * The command line of tare-switch: simple_switch_grpc's, so that one can be
 * started for the other, and some of our own. Options of the target may stand
 * behind `--`, as there, or before it.
 */
struct options {
	const char *json; /* NULL: --no-p4 */
	struct plane_port ports[V1MODEL_PORTS];
	uint32_t port_count;
	uint64_t device_id;
	bool no_p4;

	bool log_console;
	const char *log_file;
	enum log_level log_level;
	bool log_off;
	const char *pcap_directory;

	const char *grpc_address;
	bool grpc_ssl, grpc_client_auth;
	struct grpc_tls tls;
	uint32_t cpu_port, drop_port; /* NOWHERE; 0 */
	uint32_t priorities;

	uint32_t threads;
	bool busy_poll, wall_clock;
	struct truth truth;
	const char *clock_record; /* file to tell the clock in; NULL: none */

	/* given, accepted, and without effect: said in the log */
	const char *ignored[16];
	uint32_t ignored_count;
};

enum options_request { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_VERSION, OPTIONS_JSON_VERSION };

/* Texts point into argv. A wrong line is an ERR_USAGE that names the option, its value and what was expected. */
int options_read(int argc, char **argv, struct options *ret, enum options_request *ret_request, struct err *err);
void options_help(FILE *out);

#endif
