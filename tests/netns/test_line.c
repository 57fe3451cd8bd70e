/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lab/leftovers.h"
#include "lab/lock.h"
#include "lab/topology.h"
#include "own_host.h"

enum { FRAME_MOST = 65536 + 64, LIMIT_MS = 10000 };

static struct lab_line *line_open(uint32_t switches, uint32_t mtu_bytes)
{
	struct lab_line_options options = { .switches = switches, .mtu_bytes = mtu_bytes };
	struct lab_line *line = NULL;
	struct err err = { 0 };

	if (lab_line_open(&options, &line, &err) < 0)
		fail_msg("%s", err.message);
	return line;
}

static int packet_socket(const struct link_end *end)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = (int)end->index };
	struct err err = { 0 };
	int fd = netns_socket(end->netns, AF_PACKET, SOCK_RAW, 0, &err), one = 1;

	if (fd < 0)
		fail_msg("%s", err.message);
	assert_int_equal(setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* The switches of a line, as one thread that hands every frame on as it is, and looks at it. */
struct wires {
	pthread_t thread;
	int stop[2];
	struct pollfd port[2 * LAB_SWITCHES_MOST + 1];
	unsigned count;
	unsigned frames, ipv6, arp, other, longest;
};

static void frame_account(struct wires *w, const uint8_t *frame, unsigned length)
{
	unsigned type = (unsigned)frame[12] << 8 | frame[13];

	w->frames++;
	w->ipv6 += type == ETH_P_IPV6;
	w->arp += type == ETH_P_ARP;
	w->other += type != ETH_P_IPV6 && type != ETH_P_ARP && type != ETH_P_IP && type != 0x88b5;
	w->longest = length > w->longest ? length : w->longest;
}

static void *wires_run(void *context)
{
	static uint8_t frame[FRAME_MOST];
	struct wires *w = context;

	for (;;) {
		poll(w->port, w->count + 1, -1);
		if (w->port[w->count].revents)
			return NULL;
		for (unsigned i = 0; i < w->count; i++) {
			ssize_t got = w->port[i].revents ? recv(w->port[i].fd, frame, sizeof(frame), MSG_DONTWAIT) : 0;

			if (got < ETH_HLEN)
				continue;
			frame_account(w, frame, (unsigned)got);
			if (send(w->port[i ^ 1].fd, frame, (size_t)got, 0) != got)
				w->other++;
		}
	}
}

static void wires_start(struct wires *w, struct lab_line *line)
{
	memset(w, 0, sizeof(*w));
	assert_int_equal(pipe(w->stop), 0);
	for (uint32_t s = 0; s < line->switch_count; s++)
		for (unsigned i = 0; i < 2; i++)
			w->port[w->count++] =
				(struct pollfd){ .fd = packet_socket(&line->switches[s].port[i]), .events = POLLIN };
	w->port[w->count] = (struct pollfd){ .fd = w->stop[0], .events = POLLIN };
	assert_int_equal(pthread_create(&w->thread, NULL, wires_run, w), 0);
}

static void wires_stop(struct wires *w)
{
	assert_int_equal(write(w->stop[1], "", 1), 1);
	pthread_join(w->thread, NULL);
	for (unsigned i = 0; i <= w->count; i++)
		close(w->port[i].fd);
	close(w->stop[1]);
}

static void frame_fill(uint8_t *frame, unsigned length, unsigned seed, const struct lab_line *line)
{
	memcpy(frame, line->b.port.mac, 6);
	memcpy(frame + 6, line->a.port.mac, 6);
	frame[12] = 0x88;
	frame[13] = 0xb5;
	for (unsigned i = 14; i < length; i++)
		frame[i] = (uint8_t)(seed + i * 7);
}

static ssize_t receive(int fd, void *buf, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, LIMIT_MS) == 1 ? recv(fd, buf, size, 0) : -1;
}

static void frames_pass_end_to_end(void **state)
{
	static uint8_t out[FRAME_MOST], in[FRAME_MOST];
	struct lab_line *line = line_open(3, 9000);
	int a = packet_socket(&line->a.port), b = packet_socket(&line->b.port);
	struct wires w;

	(void)state;
	wires_start(&w, line);
	for (unsigned i = 0, length = 60; length <= 9014; i++, length += 37) {
		frame_fill(out, length, i, line);
		assert_int_equal(send(a, out, length, 0), length);
		assert_int_equal(receive(b, in, sizeof(in)), length);
		assert_memory_equal(in, out, length);
		assert_int_equal(send(b, out, length, 0), length);
		assert_int_equal(receive(a, in, sizeof(in)), length);
		assert_memory_equal(in, out, length);
	}
	assert_int_equal(send(a, out, 9019 + 14, 0), -1); /* over the MTU */
	wires_stop(&w);
	assert_int_equal(w.frames, 3 * 2 * 243);
	assert_int_equal(w.ipv6 + w.arp + w.other, 0); /* nothing but ours, from the first frame on */
	close(a);
	close(b);
	lab_line_close(line);
}

static struct sockaddr_in address_of(const struct lab_host *h, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr.s_addr = htonl(h->ipv4) };
}

static int bound(const struct lab_host *h, int type)
{
	struct sockaddr_in at = address_of(h, 7000);
	struct err err = { 0 };
	int fd = netns_socket(&h->netns, AF_INET, type, 0, &err);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* A stream of the kernel's own: with any offload on, frames longer than the MTU or without checksums would be seen. */
static void kernel_streams_are_plain_frames(void **state)
{
	static uint8_t out[200000], in[200000];
	struct lab_line *line = line_open(3, 0);
	int listening = bound(&line->b, SOCK_STREAM), client = bound(&line->a, SOCK_STREAM), server;
	struct sockaddr_in to = address_of(&line->b, 7000);
	size_t sent = 0, received = 0;
	struct wires w;

	(void)state;
	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (uint8_t)(i * 31 >> 3);
	wires_start(&w, line);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&to, sizeof(to)), 0);
	server = accept(listening, NULL, NULL);
	assert_true(server >= 0);
	while (received < sizeof(in)) {
		ssize_t n = sent < sizeof(out) ? send(client, out + sent, sizeof(out) - sent, MSG_DONTWAIT) : 0;

		sent += n > 0 ? (size_t)n : 0;
		n = receive(server, in + received, sizeof(in) - received);
		assert_true(n > 0);
		received += (size_t)n;
	}
	assert_memory_equal(in, out, sizeof(in));
	wires_stop(&w);
	assert_true(w.frames > 3 * sizeof(out) / 1500);
	assert_int_equal(w.longest, 1514);
	assert_int_equal(w.ipv6 + w.arp + w.other, 0);
	close(server);
	close(client);
	close(listening);
	lab_line_close(line);
}

static void offloads_are_off_on_every_end(void **state)
{
	struct lab_line *line = line_open(2, 0);
	struct link_end x = { .netns = &line->a.netns, .name = "x", .mac = { 2 } };
	struct link_end y = { .netns = &line->b.netns, .name = "y", .mac = { 2, 1 } };
	const struct link_end *ends[] = { &line->a.port,
					  &line->b.port,
					  &line->switches[0].port[0],
					  &line->switches[0].port[1],
					  &line->switches[1].port[0],
					  &line->switches[1].port[1] };
	struct err err = { 0 };
	char on[1024];

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(link_offloads_read(ends[i], on, sizeof(on), &err), 0);
		assert_string_equal(on, "");
	}
	/* they are on where nobody switched them off */
	assert_int_equal(link_create(&x, &y, 1500, &err), 0);
	assert_int_equal(link_offloads_read(&x, on, sizeof(on), &err), 0);
	assert_non_null(strstr(on, "tx-tcp-segmentation"));
	assert_non_null(strstr(on, "rx-checksum"));
	assert_int_equal(link_offloads_off(&x, &err), 0);
	assert_int_equal(link_offloads_read(&x, on, sizeof(on), &err), 0);
	assert_string_equal(on, "");
	lab_line_close(line);
}

static void read_inside(const struct netns *ns, const char *path, char *buf, size_t size)
{
	struct err err = { 0 };
	int back, fd;
	ssize_t n;

	assert_int_equal(netns_enter(ns, &back, &err), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, size - 1);
	netns_leave(back);
	close(fd);
	assert_true(n >= 0);
	buf[n] = '\0';
}

/* Columns of /proc/net/arp: address, type, flags (0x6: complete and permanent), hardware address. */
static void addresses_follow_from_the_place(void **state)
{
	struct lab_line *line = line_open(2, 1600);
	char text[1024];
	struct ifreq request = { .ifr_name = "p2" };
	struct err err = { 0 };
	int fd;

	(void)state;
	read_inside(&line->a.netns, "/proc/thread-self/net/arp", text, sizeof(text));
	assert_non_null(strstr(text, "10.0.2.1         0x1         0x6         02:54:00:00:00:02     *        eth0"));
	read_inside(&line->b.netns, "/proc/thread-self/net/arp", text, sizeof(text));
	assert_non_null(strstr(text, "10.0.1.1         0x1         0x6         02:54:00:00:00:01     *        eth0"));
	read_inside(&line->a.netns, "/proc/thread-self/net/if_inet6", text, sizeof(text));
	assert_string_equal(text, "");
	read_inside(&line->switches[1].netns, "/proc/thread-self/net/if_inet6", text, sizeof(text));
	assert_string_equal(text, "");
	fd = netns_socket(&line->switches[1].netns, AF_INET, SOCK_DGRAM, 0, &err);
	assert_int_equal(ioctl(fd, SIOCGIFHWADDR, &request), 0);
	assert_memory_equal(request.ifr_hwaddr.sa_data, ((uint8_t[]){ 2, 0x54, 0, 1, 2, 2 }), 6);
	assert_int_equal(ioctl(fd, SIOCGIFMTU, &request), 0);
	assert_int_equal(request.ifr_mtu, 1600);
	assert_int_equal(ioctl(fd, SIOCGIFADDR, &request), -1); /* a switch's port has none */
	close(fd);
	lab_line_close(line);
}

static void what_is_gone_or_down_is_named(void **state)
{
	struct lab_line *line = line_open(2, 0);
	struct ifreq request = { .ifr_name = "p1" };
	struct err err = { 0 };
	int fd;

	(void)state;
	assert_int_equal(lab_line_check(line, &err), 0);
	fd = netns_socket(&line->switches[0].netns, AF_INET, SOCK_DGRAM, 0, &err);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &request), 0); /* no flags: down */
	close(fd);
	assert_int_equal(lab_line_check(line, &err), -ENETDOWN);
	assert_int_equal(link_wait_up(&line->switches[0].port[0], 50, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.message, "-s1: p1: not up after 50 ms"));
	assert_int_equal(link_delete(&line->switches[1].port[1], &err), 0);
	assert_int_equal(link_delete(&line->switches[1].port[1], &err), 0);
	assert_int_equal(link_check(&line->b.port, &err), -ENODEV);
	assert_int_equal(link_check(&line->switches[1].port[1], &err), -ENODEV);
	assert_non_null(strstr(err.message, "-s2: p2: the interface is gone"));
	lab_line_close(line); /* and that is no obstacle */
}

static unsigned fds(void)
{
	return own_host_count("/proc/self/fd");
}

static void no_trace(void)
{
	assert_int_equal(own_host_count(NETNS_FOLDER), 0);
	assert_int_equal(own_host_count(LAB_LOCKS), 0);
	assert_int_equal(own_host_interfaces(), 0);
}

static void nothing_is_left(void **state)
{
	unsigned before = fds();

	(void)state;
	for (uint32_t n = 1; n <= LAB_SWITCHES_MOST; n += 7) {
		struct lab_line *line = line_open(n, 0);

		assert_int_equal(own_host_count(NETNS_FOLDER), n + 2);
		assert_int_equal(own_host_count(LAB_LOCKS), 1);
		assert_int_equal(own_host_interfaces(), 0);
		lab_line_close(line);
		no_trace();
	}
	lab_line_close(NULL);
	assert_int_equal(fds(), before);
}

/* Whichever name is taken: a message that says so, and of the half-built line nothing stays. */
static void a_taken_name_is_said(void **state)
{
	static const char *const roles[] = { "a", "s1", "s3", "b" };
	unsigned before = fds();
	struct lab_line *line = NULL;
	struct err err = { 0 };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		char name[NETNS_NAME_BYTES];
		struct netns taken;

		snprintf(name, sizeof(name), "tare-%d-9-%s", (int)getpid(), roles[i]);
		assert_int_equal(netns_create(name, &taken, &err), 0);
		assert_int_equal(lab_line_open(&(struct lab_line_options){ .switches = 3, .serial = 9 }, &line, &err),
				 -EEXIST);
		assert_int_equal(err.kind, ERR_HOST);
		assert_non_null(strstr(err.message, name));
		assert_non_null(strstr(err.message, "the name is taken"));
		assert_int_equal(own_host_count(NETNS_FOLDER), 1);
		netns_destroy(&taken);
		no_trace();
	}
	assert_null(line);
	assert_int_equal(fds(), before);
}

static void one_label_one_line(void **state)
{
	struct lab_line *line = line_open(1, 0), *other = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(lab_line_open(&(struct lab_line_options){ .switches = 1 }, &other, &err), -EEXIST);
	assert_non_null(strstr(err.message, "stands already"));
	assert_int_equal(lab_line_check(line, &err), 0);
	assert_int_equal(lab_line_open(&(struct lab_line_options){ .switches = 8, .serial = 1 }, &other, &err), 0);
	lab_line_close(line);
	assert_int_equal(lab_line_check(other, &err), 0);
	lab_line_close(other);
	no_trace();
}

static void lengths_out_of_range_are_refused(void **state)
{
	struct lab_line *line = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(lab_line_open(&(struct lab_line_options){ .switches = 0 }, &line, &err), -EINVAL);
	assert_int_equal(lab_line_open(&(struct lab_line_options){ .switches = 9 }, &line, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_USAGE);
	assert_string_equal(err.message, "a line of 9 switches: expected 1 to 8");
	assert_true(lab_line_open(&(struct lab_line_options){ .switches = 2, .mtu_bytes = 10000000 }, &line, &err) < 0);
	assert_non_null(strstr(err.message, "MTU 10000000"));
	no_trace();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_pass_end_to_end),
		cmocka_unit_test(kernel_streams_are_plain_frames),
		cmocka_unit_test(offloads_are_off_on_every_end),
		cmocka_unit_test(addresses_follow_from_the_place),
		cmocka_unit_test(what_is_gone_or_down_is_named),
		cmocka_unit_test(nothing_is_left),
		cmocka_unit_test(a_taken_name_is_said),
		cmocka_unit_test(one_label_one_line),
		cmocka_unit_test(lengths_out_of_range_are_refused),
	};

	if (!own_host_enter())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
