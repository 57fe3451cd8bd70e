/* SPDX-License-Identifier: Apache-2.0 */
#include "grpc/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

static int parse_unix(const char *path, struct grpc_address *a, struct err *err)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&a->addr;

	if (!*path || strlen(path) >= sizeof(un->sun_path))
		return err_set(err, ERR_USAGE, EINVAL,
			       "'%s': a socket path of 1 to %zu characters is expected after unix:", a->text,
			       sizeof(un->sun_path) - 1);
	un->sun_family = AF_UNIX;
	strcpy(un->sun_path, path);
	a->length = sizeof(*un);
	strcpy(a->host, "localhost");
	return 0;
}

int grpc_address_parse(const char *text, struct grpc_address *ret_address, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	struct grpc_address a = { 0 };
	const char *colon = strrchr(text, ':');
	const char *start = text;
	size_t length;
	int rc;

	if (strlen(text) >= sizeof(a.text))
		return err_set(err, ERR_USAGE, EINVAL, "address of %zu characters: longest is %zu", strlen(text),
			       sizeof(a.text) - 1);
	strcpy(a.text, text);
	if (strncmp(text, "unix:", 5) == 0) {
		rc = parse_unix(text + 5, &a, err);
		if (rc == 0)
			*ret_address = a;
		return rc;
	}
	if (!colon || colon == text || !colon[1])
		return err_set(err, ERR_USAGE, EINVAL,
			       "'%s' is no address; expected HOST:PORT, [IPv6]:PORT or unix:PATH", text);
	length = (size_t)(colon - text);
	if (*text == '[' && text[length - 1] == ']') {
		start++;
		length -= 2;
	}
	memcpy(a.host, start, length);
	rc = getaddrinfo(a.host, colon + 1, &hints, &found);
	if (rc != 0)
		return err_set(err, ERR_USAGE, EINVAL, "'%s': %s", text, gai_strerror(rc));
	memcpy(&a.addr, found->ai_addr, found->ai_addrlen);
	a.length = found->ai_addrlen;
	freeaddrinfo(found);
	*ret_address = a;
	return 0;
}

bool grpc_address_is_local(const struct grpc_address *address)
{
	const struct sockaddr_in *in4 = (const struct sockaddr_in *)&address->addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->addr;

	switch (address->addr.ss_family) {
	case AF_UNIX:
		return true;
	case AF_INET:
		return (ntohl(in4->sin_addr.s_addr) >> 24) == 127;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	default:
		return false;
	}
}
