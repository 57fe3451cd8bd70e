/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "packet/frame.h"
#include "packet/trace.h"

enum { SNAPLEN_BYTES = 262144 }; /* what tcpdump and Wireshark write */

/* Written beside its place and renamed when complete, so that nothing half-written ever bears the name. */
struct trace_writer {
	char *path, *part;
	pcap_t *pcap;
	pcap_dumper_t *dump;
	uint64_t packets;
};

static void writer_free(struct trace_writer *w)
{
	if (w->dump != NULL)
		pcap_dump_close(w->dump);
	if (w->pcap != NULL)
		pcap_close(w->pcap);
	free(w->path);
	free(w->part);
	free(w);
}

int trace_writer_open(const char *path, struct trace_writer **ret_writer, struct err *err)
{
	struct trace_writer *w = calloc(1, sizeof(*w));
	FILE *file;
	int result;

	if (w == NULL)
		return err_set(err, ERR_HOST, ENOMEM, "%s: no memory", path);
	w->path = strdup(path);
	if (w->path == NULL || asprintf(&w->part, "%s.part", path) < 0) {
		w->part = NULL;
		writer_free(w);
		return err_set(err, ERR_HOST, ENOMEM, "%s: no memory", path);
	}
	file = fopen(w->part, "wb");
	if (file == NULL) {
		result = err_set(err, ERR_HOST, errno, "%s: cannot write: %s", w->part, strerror(errno));
		writer_free(w);
		return result;
	}
	w->pcap = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, SNAPLEN_BYTES, PCAP_TSTAMP_PRECISION_NANO);
	if (w->pcap != NULL)
		w->dump = pcap_dump_fopen(w->pcap, file);
	if (w->dump == NULL) {
		result = err_set(err, ERR_HOST, EIO, "%s: cannot write: %s", w->part,
				 w->pcap != NULL ? pcap_geterr(w->pcap) : "no memory");
		fclose(file);
		unlink(w->part);
		writer_free(w);
		return result;
	}
	*ret_writer = w;
	return 0;
}

int trace_writer_put(struct trace_writer *w, int64_t time_ns, const uint8_t *frame, uint32_t length_bytes,
		     struct err *err)
{
	struct pcap_pkthdr header = { .caplen = length_bytes, .len = length_bytes };

	TARE_ASSERT(time_ns >= 0 && length_bytes >= FRAME_MIN_BYTES && length_bytes <= FRAME_MAX_BYTES);
	header.ts.tv_sec = time_ns / 1000000000;
	header.ts.tv_usec = time_ns % 1000000000; /* ns, as the file's magic says */
	errno = 0;
	pcap_dump((u_char *)w->dump, &header, frame);
	w->packets++;
	if (ferror(pcap_dump_file(w->dump))) {
		return err_set(err, ERR_HOST, errno != 0 ? errno : EIO, "%s: writing packet %llu failed: %s", w->path,
			       (unsigned long long)w->packets, strerror(errno));
	}
	return 0;
}

int trace_writer_close(struct trace_writer *w, struct err *err)
{
	int result = 0;

	if (w == NULL)
		return 0;
	errno = 0;
	if (pcap_dump_flush(w->dump) != 0 || ferror(pcap_dump_file(w->dump)) || rename(w->part, w->path) != 0) {
		result = err_set(err, ERR_HOST, errno != 0 ? errno : EIO, "%s: writing failed: %s", w->path,
				 strerror(errno != 0 ? errno : EIO));
		unlink(w->part);
	}
	writer_free(w);
	return result;
}
