/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab/link.h"

enum { FEATURES_MOST = 128, WORDS_MOST = FEATURES_MOST / 32 };

/* What the kernel is asked with ends in an array: each with room for it. Bit i of word i / 32 is feature i. */
union feature_names {
	struct ethtool_gstrings head;
	char bytes[sizeof(struct ethtool_gstrings) + (size_t)FEATURES_MOST * ETH_GSTRING_LEN];
};

union feature_state {
	struct ethtool_gfeatures head;
	char bytes[sizeof(struct ethtool_gfeatures) + WORDS_MOST * sizeof(struct ethtool_get_features_block)];
};

union feature_change {
	struct ethtool_sfeatures head;
	char bytes[sizeof(struct ethtool_sfeatures) + WORDS_MOST * sizeof(struct ethtool_set_features_block)];
};

static const char *name_of(const union feature_names *f, uint32_t i)
{
	return (const char *)f->head.data + (size_t)i * ETH_GSTRING_LEN;
}

/* Features of rx- and tx- that change nothing about a frame, or when it is handed on. */
static bool is_harmless(const char *name)
{
	static const char *const harmless[] = {
		"tx-lockless",    "tx-nocache-copy",     "rx-fcs",           "rx-all", "rx-hashing",
		"rx-vlan-filter", "rx-vlan-stag-filter", "rx-ntuple-filter", NULL
	};

	for (const char *const *h = harmless; *h; h++)
		if (strcmp(name, *h) == 0)
			return true;
	return false;
}

static bool concerns_frames(const char *name)
{
	return (strncmp(name, "tx-", 3) == 0 || strncmp(name, "rx-", 3) == 0) && !is_harmless(name);
}

static int ethtool(int fd, const char *port, void *command)
{
	struct ifreq request = { .ifr_data = command };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", port);
	return ioctl(fd, SIOCETHTOOL, &request) < 0 ? -errno : 0;
}

static int names_read(int fd, const char *port, union feature_names *ret)
{
	union {
		struct ethtool_sset_info head;
		char bytes[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} set = { .head = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES } };
	int r = ethtool(fd, port, &set);
	uint32_t count;

	if (r < 0)
		return r;
	memcpy(&count, set.bytes + sizeof(set.head), sizeof(count));
	if (!set.head.sset_mask || count > FEATURES_MOST)
		return -EPROTO;
	memset(ret, 0, sizeof(*ret));
	ret->head.cmd = ETHTOOL_GSTRINGS;
	ret->head.string_set = ETH_SS_FEATURES;
	ret->head.len = count;
	return ethtool(fd, port, ret);
}

static int state_read(int fd, const char *port, const union feature_names *f, union feature_state *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->head.cmd = ETHTOOL_GFEATURES;
	ret->head.size = (f->head.len + 31) / 32;
	return ethtool(fd, port, ret);
}

/* Not only what is on: one that waits for another (wanted, not active) would come on later. */
static int switch_off(int fd, const char *port, const union feature_names *f, const union feature_state *state)
{
	union feature_change change;
	int r;

	memset(&change, 0, sizeof(change));
	change.head.cmd = ETHTOOL_SFEATURES;
	change.head.size = state->head.size;
	for (uint32_t i = 0; i < f->head.len; i++) {
		const struct ethtool_get_features_block *b = &state->head.features[i / 32];
		uint32_t bit = 1u << (i % 32);

		if (concerns_frames(name_of(f, i)) && (b->available & bit) && !(b->never_changed & bit))
			change.head.features[i / 32].valid |= bit;
	}
	/* Positive where the kernel chose otherwise for some: the reading afterwards tells. */
	r = ethtool(fd, port, &change);
	return r < 0 ? r : 0;
}

static bool is_on(const union feature_state *state, uint32_t i)
{
	struct ethtool_get_features_block block;

	/* By its bytes: the array is of no length to the compiler's eye. */
	memcpy(&block, state->bytes + sizeof(state->head) + i / 32 * sizeof(block), sizeof(block));
	return block.active & 1u << (i % 32);
}

static void on_list(const union feature_names *f, const union feature_state *state, char *buf, size_t size_bytes)
{
	size_t n = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < f->head.len && n < size_bytes; i++)
		if (concerns_frames(name_of(f, i)) && is_on(state, i))
			n += (size_t)snprintf(buf + n, size_bytes - n, "%s%s", n ? " " : "", name_of(f, i));
}

static int fail(const struct link_end *end, int r, const char *what, struct err *err)
{
	return err_set(err, ERR_HOST, -r, "%s: %s: cannot %s its offloads: %s", end->netns ? end->netns->name : "here",
		       end->name, what, strerror(-r));
}

int link_offloads_read(const struct link_end *end, char *buf, size_t size_bytes, struct err *err)
{
	int fd = netns_socket(end->netns, AF_INET, SOCK_DGRAM, 0, err), r;
	union feature_state state;
	union feature_names names;

	if (fd < 0)
		return fd;
	r = names_read(fd, end->name, &names);
	if (r == 0)
		r = state_read(fd, end->name, &names, &state);
	close(fd);
	if (r < 0)
		return fail(end, r, "read", err);
	on_list(&names, &state, buf, size_bytes);
	return 0;
}

int link_offloads_off(const struct link_end *end, struct err *err)
{
	int fd = netns_socket(end->netns, AF_INET, SOCK_DGRAM, 0, err), r;
	union feature_state state;
	union feature_names names;
	char on[256];

	if (fd < 0)
		return fd;
	r = names_read(fd, end->name, &names);
	if (r == 0)
		r = state_read(fd, end->name, &names, &state);
	if (r == 0)
		r = switch_off(fd, end->name, &names, &state);
	if (r == 0)
		r = state_read(fd, end->name, &names, &state);
	close(fd);
	if (r < 0)
		return fail(end, r, "switch off", err);
	on_list(&names, &state, on, sizeof(on));
	if (on[0])
		return err_set(err, ERR_HOST, ENOTSUP, "%s: %s: these offloads stay on: %s",
			       end->netns ? end->netns->name : "here", end->name, on);
	return 0;
}
