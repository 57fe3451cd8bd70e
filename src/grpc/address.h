/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_GRPC_ADDRESS_H
#define TARE_GRPC_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/err.h"

/*
 * Where a server listens or a client connects: "127.0.0.1:9559", "[::1]:9559",
 * "localhost:9559" or "unix:/path". Names are resolved once, blocking.
 */
struct grpc_address {
	struct sockaddr_storage addr;
	socklen_t length;
	char text[128]; /* as given */
	char host[128]; /* host part, for TLS names and :authority; "localhost" for unix */
};

int grpc_address_parse(const char *text, struct grpc_address *ret_address, struct err *err);
bool grpc_address_is_local(const struct grpc_address *address); /* loopback or unix */

#endif
