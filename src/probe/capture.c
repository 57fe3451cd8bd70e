/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/capture.h"

#include <errno.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SNAP_BYTES = 512, BUFFER_BYTES = 32 << 20, TIMEOUT_MS = 10, POLL_MS = 20 };

struct capture {
	pcap_t *pcap;
	char interface[IF_NAMESIZE];
	const char *clock;
	enum id_format format;
	struct capture_event *events;
	uint32_t most;
	uint32_t count; /* by the thread; read by others through `seen` */
	uint64_t overflow;
	struct pcap_stat before;
	pthread_t thread;
	bool running;
	atomic_bool stop;
	atomic_uint seen;
	atomic_int failure; /* of the thread: a positive errno */
};

/* Clocks in order of preference, by the words of plans. */
static const struct clock {
	const char *word, *says;
	int type;
} clocks[] = {
	{ "adapter_unsynced", "adapter_unsynced", PCAP_TSTAMP_ADAPTER_UNSYNCED },
	{ "adapter", "adapter", PCAP_TSTAMP_ADAPTER },
	{ "kernel", "kernel, software", PCAP_TSTAMP_HOST },
};

static void take(u_char *user, const struct pcap_pkthdr *h, const u_char *frame)
{
	struct capture *c = (struct capture *)user;
	struct reflected_id id = { 0 };
	enum id_status status;

	if (c->count == c->most) {
		c->overflow++;
		return;
	}
	status = reflected_find(c->format, frame, h->caplen, &id);
	c->events[c->count++] = (struct capture_event){
		.stamp_ns = (int64_t)h->ts.tv_sec * 1000000000 + h->ts.tv_usec,
		.id = id.id,
		.tag = id.tag,
		.copy = status == ID_NOT_A_PROBE ? 0 : id.copy,
		.status = (uint8_t)status,
	};
	atomic_store_explicit(&c->seen, c->count, memory_order_release);
}

static void *take_all(void *context)
{
	struct capture *c = context;
	struct pollfd fd = { .fd = pcap_get_selectable_fd(c->pcap), .events = POLLIN };

	while (!atomic_load_explicit(&c->stop, memory_order_acquire)) {
		int r = pcap_dispatch(c->pcap, -1, take, (u_char *)c);

		if (r < 0) {
			atomic_store(&c->failure, if_nametoindex(c->interface) ? ENETDOWN : ENODEV);
			break;
		}
		if (r == 0)
			poll(&fd, 1, POLL_MS);
	}
	return NULL;
}

static bool has_type(const int *types, int count, int type)
{
	for (int i = 0; i < count; i++)
		if (types[i] == type)
			return true;
	/* an interface that lists none has the kernel's only */
	return type == PCAP_TSTAMP_HOST;
}

static int choose_clock(struct capture *c, const char *want, struct err *err)
{
	const size_t all = sizeof(clocks) / sizeof(clocks[0]);
	int *types = NULL, count = pcap_list_tstamp_types(c->pcap, &types);
	size_t i = 0;

	while (i < all && ((want && strcmp(want, clocks[i].word) != 0) || !has_type(types, count, clocks[i].type)))
		i++;
	if (i < all) {
		c->clock = clocks[i].says;
		if (count > 0)
			pcap_set_tstamp_type(c->pcap, clocks[i].type);
	} else {
		err_set(err, ERR_HOST, ENOTSUP, "capture %s: the plan says that its clock is %s, but it offers %s%s%s",
			c->interface, want,
			has_type(types, count, PCAP_TSTAMP_ADAPTER_UNSYNCED) ? "adapter_unsynced, " : "",
			has_type(types, count, PCAP_TSTAMP_ADAPTER) ? "adapter, " : "", "the kernel's software stamps");
	}
	if (count > 0)
		pcap_free_tstamp_types(types);
	return i < all ? 0 : -ENOTSUP;
}

static int activate(struct capture *c, struct err *err)
{
	int r;

	pcap_set_snaplen(c->pcap, SNAP_BYTES);
	pcap_set_promisc(c->pcap, 1);
	pcap_set_timeout(c->pcap, TIMEOUT_MS);
	pcap_set_buffer_size(c->pcap, BUFFER_BYTES);
	if (pcap_set_tstamp_precision(c->pcap, PCAP_TSTAMP_PRECISION_NANO) != 0)
		return err_set(err, ERR_HOST, ENOTSUP, "capture %s: it has no stamps in ns", c->interface);
	r = pcap_activate(c->pcap);
	if (r < 0)
		return err_set(err, ERR_HOST, r == PCAP_ERROR_PERM_DENIED ? EPERM : EIO, "capture %s: %s", c->interface,
			       r == PCAP_ERROR_PERM_DENIED ? "not permitted (it takes CAP_NET_RAW)"
							   : pcap_geterr(c->pcap));
	if (pcap_datalink(c->pcap) != DLT_EN10MB)
		return err_set(err, ERR_HOST, ENOTSUP, "capture %s: it is no Ethernet interface", c->interface);
	pcap_setdirection(c->pcap, PCAP_D_IN);
	pcap_setnonblock(c->pcap, 1, (char[PCAP_ERRBUF_SIZE]){ 0 });
	return 0;
}

int capture_open(const char *interface, enum id_format format, const char *clock, uint32_t events_most,
		 struct capture **ret, struct err *err)
{
	char reason[PCAP_ERRBUF_SIZE] = "";
	struct capture *c;
	int r = 0;

	if (strlen(interface) >= IF_NAMESIZE || if_nametoindex(interface) == 0)
		return err_set(err, ERR_HOST, ENODEV, "capture: there is no interface '%s' here (ip link shows them)",
			       interface);
	c = calloc(1, sizeof(*c));
	if (c)
		c->events = calloc(events_most ? events_most : 1, sizeof(*c->events));
	if (!c || !c->events) {
		free(c);
		return err_set(err, ERR_HOST, ENOMEM, "capture %s: no memory for %u frames", interface, events_most);
	}
	snprintf(c->interface, sizeof(c->interface), "%s", interface);
	c->format = format;
	c->most = events_most;
	c->pcap = pcap_create(interface, reason);
	if (!c->pcap)
		r = err_set(err, ERR_HOST, EIO, "capture %s: %s", interface, reason);
	if (r == 0)
		r = choose_clock(c, clock, err);
	if (r == 0)
		r = activate(c, err);
	if (r < 0)
		capture_close(c);
	else
		*ret = c;
	return r;
}

static void end_thread(struct capture *c)
{
	if (!c->running)
		return;
	atomic_store_explicit(&c->stop, true, memory_order_release);
	pthread_join(c->thread, NULL);
	c->running = false;
}

void capture_close(struct capture *c)
{
	if (!c)
		return;
	end_thread(c);
	if (c->pcap)
		pcap_close(c->pcap);
	free(c->events);
	free(c);
}

const char *capture_clock(const struct capture *c)
{
	return c->clock;
}

int capture_start(struct capture *c, struct err *err)
{
	int r;

	TARE_ASSERT(!c->running);
	/* what is left of the run before */
	c->count = c->most;
	while (pcap_dispatch(c->pcap, -1, take, (u_char *)c) > 0)
		;
	c->count = 0;
	c->overflow = 0;
	atomic_store(&c->seen, 0);
	atomic_store(&c->stop, false);
	atomic_store(&c->failure, 0);
	pcap_stats(c->pcap, &c->before);
	r = pthread_create(&c->thread, NULL, take_all, c);
	if (r != 0)
		return err_set(err, ERR_HOST, r, "capture %s: cannot start a thread: %s", c->interface, strerror(r));
	c->running = true;
	return 0;
}

int capture_stop(struct capture *c, uint64_t expected, int64_t patience_ns, const struct capture_event **ret_events,
		 uint32_t *ret_count, uint64_t *ret_dropped, struct err *err)
{
	const struct timespec step = { .tv_nsec = 5000000 };
	struct pcap_stat after = { 0 };
	uint32_t seen = 0, now;
	int failure;

	for (int64_t quiet_ns = 0; quiet_ns < patience_ns; quiet_ns += step.tv_nsec) {
		now = atomic_load_explicit(&c->seen, memory_order_acquire);
		if (now >= expected || atomic_load(&c->failure))
			break;
		if (now != seen)
			quiet_ns = 0;
		seen = now;
		nanosleep(&step, NULL);
	}
	end_thread(c);
	failure = atomic_load(&c->failure);
	if (failure)
		return err_set(err, ERR_HOST, failure, "capture %s: the interface %s during the run", c->interface,
			       failure == ENODEV ? "vanished" : "went down");
	*ret_events = c->events;
	*ret_count = c->count;
	*ret_dropped = c->overflow;
	if (pcap_stats(c->pcap, &after) == 0)
		*ret_dropped += after.ps_drop - c->before.ps_drop;
	return 0;
}
