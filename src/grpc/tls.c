/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <string.h>

static const unsigned char alpn_h2[] = { 2, 'h', '2' };

bool grpc_tls_wanted(const struct grpc_tls *tls)
{
	return tls->ca || tls->cert || tls->key;
}

static int alpn_choose(SSL *ssl, const unsigned char **out, unsigned char *out_length, const unsigned char *in,
		       unsigned in_length, void *context)
{
	(void)ssl;
	(void)context;
	if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_length, alpn_h2, sizeof(alpn_h2), in,
				  in_length) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	return SSL_TLSEXT_ERR_OK;
}

static int bad_file(const char *what, const char *path, struct err *err)
{
	unsigned long code = ERR_peek_error(); /* the first is the cause */
	const char *reason = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code))
			     : code                 ? ERR_reason_error_string(code)
						    : NULL;

	ERR_clear_error();
	return err_set(err, ERR_USAGE, EINVAL, "TLS %s %s: %s", what, path, reason ? reason : "cannot be read");
}

static int load_files(SSL_CTX *ctx, const struct grpc_tls *tls, struct err *err)
{
	if (tls->cert && SSL_CTX_use_certificate_chain_file(ctx, tls->cert) != 1)
		return bad_file("certificate", tls->cert, err);
	if (tls->key && SSL_CTX_use_PrivateKey_file(ctx, tls->key, SSL_FILETYPE_PEM) != 1)
		return bad_file("key", tls->key, err);
	if (tls->key && SSL_CTX_check_private_key(ctx) != 1)
		return bad_file("key does not belong to the certificate:", tls->key, err);
	if (tls->ca && SSL_CTX_load_verify_locations(ctx, tls->ca, NULL) != 1)
		return bad_file("authority", tls->ca, err);
	return 0;
}

int grpc_tls_context(const struct grpc_tls *tls, bool server, SSL_CTX **ret_context, struct err *err)
{
	SSL_CTX *ctx;
	int rc;

	ERR_clear_error();
	if ((tls->cert == NULL) != (tls->key == NULL) || (server && !tls->cert))
		return err_set(err, ERR_USAGE, EINVAL, "TLS: a certificate and its key belong together; %s is missing",
			       tls->cert ? "the key" : "the certificate");
	ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
	if (!ctx)
		return err_set(err, ERR_HOST, ENOMEM, "TLS: out of memory");
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_mode(ctx,
			 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_AUTO_RETRY);
	rc = load_files(ctx, tls, err);
	if (rc < 0) {
		SSL_CTX_free(ctx);
		return rc;
	}
	if (server) {
		SSL_CTX_set_alpn_select_cb(ctx, alpn_choose, NULL);
		if (tls->ca)
			SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	} else {
		SSL_CTX_set_alpn_protos(ctx, alpn_h2, sizeof(alpn_h2));
		SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	}
	*ret_context = ctx;
	return 0;
}

void grpc_tls_context_free(SSL_CTX *context)
{
	SSL_CTX_free(context);
}
