/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SNAP_BYTES = 65535, LINK_ETHERNET = 1, NS_A_S = 1000000000 };

struct record {
	FILE *file;
	bool failed;
};

int record_open(const char *path, struct record **ret_record, struct err *err)
{
	static const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint32_t zone, accuracy, snap_bytes, link;
	} head = { 0xa1b23c4d, 2, 4, 0, 0, SNAP_BYTES, LINK_ETHERNET };
	struct record *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	r->file = fopen(path, "wbe");
	if (!r->file || fwrite(&head, sizeof(head), 1, r->file) != 1) {
		int code = errno;

		record_close(r);
		return err_set(err, ERR_HOST, code, "%s: cannot write: %s", path, strerror(code));
	}
	*ret_record = r;
	return 0;
}

bool record_put(struct record *r, int64_t time_ns, const uint8_t *frame, uint32_t length_bytes)
{
	uint32_t head[4] = { (uint32_t)(time_ns / NS_A_S), (uint32_t)(time_ns % NS_A_S), length_bytes, length_bytes };

	if (!r->failed)
		r->failed = fwrite(head, sizeof(head), 1, r->file) != 1 ||
			    fwrite(frame, 1, length_bytes, r->file) != length_bytes;
	return !r->failed;
}

void record_flush(struct record *r)
{
	if (!r->failed)
		r->failed = fflush(r->file) != 0;
}

void record_close(struct record *r)
{
	if (!r)
		return;
	if (r->file)
		fclose(r->file);
	free(r);
}
