/* SPDX-License-Identifier: Apache-2.0 */
#include "p4rt/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { STEP_BYTES = 64 << 10 };

int file_read(const char *path, size_t limit_bytes, char **ret_bytes, size_t *ret_length, struct err *err)
{
	FILE *file = fopen(path, "rbe");
	VEC(char) v = { 0 };
	int rc = 0;

	if (!file)
		return err_set(err, ERR_USAGE, errno, "%s: %s", path, strerror(errno));
	do {
		if (vec_grow((void **)&v.items, &v.capacity, v.count + STEP_BYTES + 1, 1) < 0) {
			rc = err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path);
			break;
		}
		errno = 0;
		v.count += fread(v.items + v.count, 1, STEP_BYTES, file);
		if (ferror(file))
			rc = err_set(err, ERR_USAGE, errno ? errno : EIO, "%s: %s", path,
				     strerror(errno ? errno : EIO));
		else if (v.count > limit_bytes)
			rc = err_set(err, ERR_USAGE, EFBIG, "%s: longer than %zu bytes", path, limit_bytes);
	} while (rc == 0 && !feof(file));
	fclose(file);
	if (rc < 0) {
		free(v.items);
		return rc;
	}
	v.items[v.count] = '\0';
	*ret_bytes = v.items;
	*ret_length = v.count;
	return 0;
}
