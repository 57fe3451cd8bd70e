/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_CERTIFICATES_H
#define TARE_TESTS_CERTIFICATES_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/* Keys and certificates, made for a test; PEM files. Include after cmocka.h. */

static EVP_PKEY *key_write(const char *path)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
	fclose(f);
	return key;
}

static X509 *cert_write(const char *path, EVP_PKEY *key, const char *name, X509 *issuer, EVP_PKEY *issuer_key)
{
	X509 *cert = X509_new();
	X509V3_CTX ctx;
	FILE *f = fopen(path, "w");
	X509_EXTENSION *ext;

	assert_non_null(f);
	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), issuer ? 2 : 1);
	X509_gmtime_adj(X509_getm_notBefore(cert), -60);
	X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
	X509_set_pubkey(cert, key);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1,
				   0);
	X509_set_issuer_name(cert, X509_get_subject_name(issuer ? issuer : cert));
	X509V3_set_ctx(&ctx, issuer ? issuer : cert, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, issuer ? NID_subject_alt_name : NID_basic_constraints,
				  issuer ? "IP:127.0.0.1" : "critical,CA:TRUE");
	X509_add_ext(cert, ext, -1);
	X509_EXTENSION_free(ext);
	X509_sign(cert, issuer_key, EVP_sha256());
	PEM_write_X509(f, cert);
	fclose(f);
	return cert;
}

#endif
