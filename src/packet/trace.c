/* SPDX-License-Identifier: Apache-2.0 */
#include "packet/trace.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "packet/frame.h"

#define NS_PER_S INT64_C(1000000000)

enum { PCAP_FILE_HEADER_BYTES = 24, PCAP_RECORD_HEADER_BYTES = 16 };

/* What one reading needs. */
struct reading {
	struct trace *trace;
	const char *name;
	FILE *file;
	pcap_t *pcap;
	uint64_t record_at; /* where the next record starts, if the file is a pcap (not pcapng) */
	VEC(struct trace_packet) packets;
	size_t byte_capacity;
};

/* The first four bytes of a capture file, in either byte order. */
static bool is_capture_magic(uint32_t word)
{
	static const uint32_t magics[] = { 0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0x0a0d0d0a };

	for (unsigned i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
		if (word == magics[i])
			return true;
	}
	return false;
}

static int refuse_concatenated(const struct reading *r, struct err *err)
{
	return err_set(err, ERR_USAGE, EINVAL,
		       "%s: after packet %zu the header of another capture file follows: expected one capture, not "
		       "several concatenated (join captures with `mergecap -a -w OUT A B`)",
		       r->name, r->packets.count);
}

/* libpcap could not read the next record: say why, in terms of the file. */
static int refuse_record(struct reading *r, struct err *err)
{
	size_t number = r->packets.count + 1;
	const char *reason = pcap_geterr(r->pcap);
	uint32_t word = 0;

	if (ferror(r->file))
		return err_set(err, ERR_HOST, EIO, "%s: reading packet %zu failed: %s", r->name, number, reason);
	if (fseek(r->file, (long)r->record_at, SEEK_SET) == 0 && fread(&word, sizeof(word), 1, r->file) == 1 &&
	    is_capture_magic(word))
		return refuse_concatenated(r, err);
	if (strstr(reason, "truncated") != NULL) {
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: the file is truncated in packet %zu: expected whole packets to the end (copy it "
			       "again, or keep the whole ones with `editcap -r IN OUT 1-%zu`) (%s)",
			       r->name, number, number - 1, reason);
	}
	return err_set(err, ERR_USAGE, EINVAL, "%s: packet %zu cannot be read: %s", r->name, number, reason);
}

/* libpcap reads the seconds of a pcap as signed, so that times from 2038 on come out negative. */
static int64_t seconds_of(const struct pcap_pkthdr *h)
{
	return h->ts.tv_sec < 0 && h->ts.tv_sec >= INT32_MIN ? (int64_t)(uint32_t)h->ts.tv_sec : h->ts.tv_sec;
}

/* A record is here: can it be sent as a probe? */
static int check_record(const struct reading *r, const struct pcap_pkthdr *h, struct err *err)
{
	size_t number = r->packets.count + 1;

	/* A pcap header read as a record header: magic, version, then time zone and precision, which are 0. */
	if (h->caplen == 0 && is_capture_magic((uint32_t)h->ts.tv_sec))
		return refuse_concatenated(r, err);
	if (h->caplen < h->len) {
		return err_set(
			err, ERR_USAGE, EINVAL,
			"%s: packet %zu: %u of its %u bytes were captured: expected all, as a probe is sent whole "
			"(capture again with full snapshot length, `tcpdump -s 0`)",
			r->name, number, h->caplen, h->len);
	}
	if (h->caplen > h->len) {
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: packet %zu: holds %u bytes but states a length of %u: expected the same", r->name,
			       number, h->caplen, h->len);
	}
	if (h->caplen < FRAME_MIN_BYTES || h->caplen > FRAME_MAX_BYTES) {
		return err_set(err, ERR_USAGE, EINVAL, "%s: packet %zu has %u bytes: expected %u to %u (no FCS)",
			       r->name, number, h->caplen, FRAME_MIN_BYTES, FRAME_MAX_BYTES);
	}
	if (seconds_of(h) < 0 || seconds_of(h) >= INT64_MAX / NS_PER_S || h->ts.tv_usec < 0 ||
	    h->ts.tv_usec >= NS_PER_S) {
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: packet %zu: time stamp of %lld s and %lld ns: expected seconds from 0 on and less "
			       "than 1000000000 ns",
			       r->name, number, (long long)h->ts.tv_sec, (long long)h->ts.tv_usec);
	}
	if (r->packets.count == TRACE_PACKETS_MAX) {
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: more than %u packets: expected at most that (cut it with "
			       "`editcap -r IN OUT 1-%u`)",
			       r->name, TRACE_PACKETS_MAX, TRACE_PACKETS_MAX);
	}
	return 0;
}

static int keep_record(struct reading *r, const struct pcap_pkthdr *h, const uint8_t *bytes)
{
	struct trace *t = r->trace;
	int64_t time_ns = seconds_of(h) * NS_PER_S + h->ts.tv_usec; /* tv_usec is ns here */
	struct trace_packet packet = { .offset_bytes = t->byte_count, .length_bytes = h->caplen };

	if (r->packets.count == 0) {
		t->first_time_ns = time_ns;
		t->shortest_bytes = h->caplen;
	}
	packet.time_ns = time_ns - t->first_time_ns;
	if (r->packets.count > 0 && packet.time_ns < r->packets.items[r->packets.count - 1].time_ns)
		t->times_back++;
	if (vec_grow((void **)&t->bytes, &r->byte_capacity, t->byte_count + h->caplen, 1) != 0 ||
	    vec_push(&r->packets, packet) != 0)
		return -ENOMEM;
	memcpy(t->bytes + t->byte_count, bytes, h->caplen);
	t->byte_count += h->caplen;
	if (h->caplen > t->longest_bytes)
		t->longest_bytes = h->caplen;
	if (h->caplen < t->shortest_bytes)
		t->shortest_bytes = h->caplen;
	return 0;
}

static int read_records(struct reading *r, struct err *err)
{
	struct pcap_pkthdr *header;
	const uint8_t *bytes;
	int result;

	if (pcap_datalink(r->pcap) != DLT_EN10MB) {
		const char *name = pcap_datalink_val_to_name(pcap_datalink(r->pcap));

		return err_set(
			err, ERR_USAGE, EINVAL,
			"%s: link type %d (%s): expected Ethernet, EN10MB (capture on one interface, not on any)",
			r->name, pcap_datalink(r->pcap), name != NULL ? name : "unknown");
	}
	r->record_at = PCAP_FILE_HEADER_BYTES;
	while ((result = pcap_next_ex(r->pcap, &header, &bytes)) == 1) {
		int failed = check_record(r, header, err);

		if (failed)
			return failed;
		if (keep_record(r, header, bytes) != 0)
			return err_set(err, ERR_HOST, ENOMEM, "%s: no memory for packet %zu", r->name,
				       r->packets.count + 1);
		r->record_at += PCAP_RECORD_HEADER_BYTES + header->caplen;
	}
	if (result != PCAP_ERROR_BREAK) /* which means: end of file */
		return refuse_record(r, err);
	if (r->packets.count == 0)
		return err_set(err, ERR_USAGE, EINVAL, "%s: no packets in this capture: expected at least 1", r->name);
	return 0;
}

/* The format that most packets speak. */
static enum id_format detect_format(const struct trace *t)
{
	uint32_t votes[ID_FORMATS] = { 0 };
	enum id_format best = ID_NONE;

	for (uint32_t i = 0; i < t->packet_count; i++) {
		struct id_found found;

		id_detect(t->bytes + t->packets[i].offset_bytes, t->packets[i].length_bytes, &found);
		votes[found.format] += found.status == ID_OK;
	}
	votes[ID_NONE] = 0;
	for (unsigned f = 0; f < ID_FORMATS; f++) {
		if (votes[f] > votes[best])
			best = (enum id_format)f;
	}
	return best;
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Mark packets whose id is not theirs alone. */
static int mark_shared(struct trace *t)
{
	uint64_t *keys; /* id and packet */
	uint32_t count = 0;

	TARE_ASSERT(t->packet_count > 0);
	keys = malloc((size_t)t->packet_count * sizeof(*keys));
	if (keys == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->packet_count; i++) {
		if (t->packets[i].id_status == ID_OK)
			keys[count++] = (uint64_t)t->packets[i].id << 32 | i;
	}
	qsort(keys, count, sizeof(*keys), by_id);
	for (uint32_t i = 0; i < count; i++) {
		bool shared = (i > 0 && keys[i] >> 32 == keys[i - 1] >> 32) ||
			      (i + 1 < count && keys[i] >> 32 == keys[i + 1] >> 32);

		t->packets[(uint32_t)keys[i]].id_shared = shared;
		t->ids_shared += shared;
	}
	t->ids_good = count - t->ids_shared;
	t->ids_unreadable = t->packet_count - count;
	free(keys);
	return 0;
}

static int read_ids(struct trace *t, enum id_format format)
{
	t->format = format != ID_FORMATS ? format : detect_format(t);
	for (uint32_t i = 0; i < t->packet_count; i++) {
		struct trace_packet *p = &t->packets[i];
		struct id_found found;

		id_find(t->format, t->bytes + p->offset_bytes, p->length_bytes, &found);
		p->id = found.id;
		p->id_offset_bytes = found.offset_bytes;
		p->id_status = (uint8_t)(found.status == ID_WARM_UP ? ID_UNREADABLE : found.status);
	}
	return mark_shared(t);
}

/* Takes the file. */
static int read_capture(FILE *file, const char *name, enum id_format format, struct trace **ret_trace, struct err *err)
{
	struct reading r = { .name = name, .file = file };
	char reason[PCAP_ERRBUF_SIZE] = "";
	int result;

	r.trace = calloc(1, sizeof(*r.trace));
	if (r.trace == NULL || (r.trace->path = strdup(name)) == NULL) {
		result = err_set(err, ERR_HOST, ENOMEM, "%s: no memory", name);
		goto failed;
	}
	r.pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, reason);
	if (r.pcap == NULL) {
		result = err_set(err, ERR_USAGE, EINVAL, "%s: not a capture file: expected pcap or pcapng (%s)", name,
				 reason);
		goto failed;
	}
	result = read_records(&r, err);
	r.trace->packets = r.packets.items;
	r.trace->packet_count = (uint32_t)r.packets.count;
	if (result == 0 && read_ids(r.trace, format) != 0)
		result = err_set(err, ERR_HOST, ENOMEM, "%s: no memory for %u ids", name, r.trace->packet_count);
	if (result != 0)
		goto failed;
	pcap_close(r.pcap); /* closes the file */
	*ret_trace = r.trace;
	return 0;

failed:
	if (r.pcap != NULL)
		pcap_close(r.pcap);
	else
		fclose(file);
	trace_destroy(r.trace);
	return result;
}

int trace_load(const char *path, enum id_format format, struct trace **ret_trace, struct err *err)
{
	FILE *file = fopen(path, "rb");
	struct stat status;

	if (file == NULL) {
		return err_set(err, errno == EACCES ? ERR_HOST : ERR_USAGE, errno, "%s: cannot open this trace: %s",
			       path, strerror(errno));
	}
	if (fstat(fileno(file), &status) == 0 && S_ISDIR(status.st_mode)) {
		fclose(file);
		return err_set(err, ERR_USAGE, EISDIR, "%s: is a directory: expected a pcap or pcapng file", path);
	}
	if (S_ISREG(status.st_mode) && status.st_size == 0) {
		fclose(file);
		return err_set(err, ERR_USAGE, EINVAL, "%s: empty file: expected a pcap or pcapng capture", path);
	}
	return read_capture(file, path, format, ret_trace, err);
}

int trace_parse(const uint8_t *bytes, size_t length_bytes, const char *name, enum id_format format,
		struct trace **ret_trace, struct err *err)
{
	FILE *file;

	if (length_bytes == 0)
		return err_set(err, ERR_USAGE, EINVAL, "%s: empty file: expected a pcap or pcapng capture", name);
	file = fmemopen((void *)(uintptr_t)bytes, length_bytes, "rb");
	if (file == NULL)
		return err_set(err, ERR_HOST, errno, "%s: cannot read from memory: %s", name, strerror(errno));
	return read_capture(file, name, format, ret_trace, err);
}

void trace_destroy(struct trace *trace)
{
	if (trace == NULL)
		return;
	free(trace->path);
	free(trace->bytes);
	free(trace->packets);
	free(trace);
}
