/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_GRPC_TLS_H
#define TARE_GRPC_TLS_H

#include <stdbool.h>

#include "base/err.h"

typedef struct ssl_ctx_st SSL_CTX; /* as openssl/types.h has it */

/* PEM files. A server needs cert and key; with `ca` it asks clients for a certificate of that authority (mutual TLS).
 * A client checks the server against `ca`, and shows cert and key if given. All NULL: no TLS. */
struct grpc_tls {
	const char *ca, *cert, *key;
	const char *server_name; /* client: the name the certificate must bear; NULL: the host of the address */
};

bool grpc_tls_wanted(const struct grpc_tls *tls);

/* A context that speaks TLS 1.2 or later with ALPN "h2". Errors name the file. Free with this. */
int grpc_tls_context(const struct grpc_tls *tls, bool server, SSL_CTX **ret_context, struct err *err);
void grpc_tls_context_free(SSL_CTX *context); /* NULL is fine */

#endif
