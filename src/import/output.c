/* SPDX-License-Identifier: Apache-2.0 */
#include "import/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/lock.h"

static void forget(struct import_output *o)
{
	free(o->dir);
	free(o->fresh);
	*o = (struct import_output){ 0 };
}

/* What a killed import left. */
static int sweep(const char *fresh, struct err *err)
{
	struct dir_lock lock = { .fd = -1 };
	struct stat st;
	int r;

	if (lstat(fresh, &st) != 0)
		return 0;
	r = dir_lock_take(&lock, fresh, err);
	if (r < 0)
		return r;
	dir_lock_release(&lock);
	store_remove(fresh);
	if (lstat(fresh, &st) == 0)
		return err_set(err, ERR_USAGE, EEXIST,
			       "%s: is in the way, and not what a killed import leaves: remove it", fresh);
	return 0;
}

int import_output_open(struct import_output *o, const char *dir, const struct plan *plan, struct err *err)
{
	size_t length = strlen(dir);
	struct stat st;
	int r;

	*o = (struct import_output){ 0 };
	while (length > 1 && dir[length - 1] == '/')
		length--;
	o->dir = strndup(dir, length);
	if (!o->dir || asprintf(&o->fresh, "%s.importing", o->dir) < 0) {
		o->fresh = NULL;
		forget(o);
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", dir);
	}
	if (lstat(o->dir, &st) == 0)
		r = err_set(err, ERR_USAGE, EEXIST, "%s: exists; choose another directory with -o, or remove it",
			    o->dir);
	else
		r = sweep(o->fresh, err);
	if (r == 0)
		r = store_open_write(o->fresh, plan, &o->store, err);
	if (r == 0)
		r = store_write_fast(o->store, err);
	if (r < 0 && o->store)
		import_output_abandon(o);
	else if (r < 0)
		forget(o);
	return r;
}

/* The bytes before the name: what has the name is whole, also after a power failure. */
static int sync_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = fd < 0 ? -errno : 0;

	if (fd >= 0 && fsync(fd) != 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	return r;
}

int import_output_commit(struct import_output *o, struct err *err)
{
	char *file = NULL;
	int r = asprintf(&file, "%s/tare.db", o->fresh) < 0 ? -ENOMEM : 0;

	store_close(o->store);
	o->store = NULL;
	if (r == 0)
		r = sync_file(file);
	/* refuses what came to be there meanwhile, unless it is an empty directory */
	if (r == 0 && rename(o->fresh, o->dir) != 0)
		r = -errno;
	if (r < 0)
		err_set(err, ERR_HOST, -r, "%s: cannot put the campaign there: %s", o->dir, strerror(-r));
	free(file);
	import_output_abandon(o);
	return r;
}

void import_output_abandon(struct import_output *o)
{
	if (!o->fresh)
		return;
	store_close(o->store);
	store_remove(o->fresh);
	forget(o);
}
