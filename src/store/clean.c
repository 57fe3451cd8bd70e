/* SPDX-License-Identifier: Apache-2.0 */
#include "store/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store_private.h"

struct cleaning {
	const char *dir;
	void (*say)(void *context, const char *what);
	void *context;
	int done;
};

static bool exists(const struct cleaning *c, const char *name)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/%s", c->dir, name);
	return access(path, F_OK) == 0;
}

static void said(struct cleaning *c, const char *name, const char *what)
{
	char text[4400];

	snprintf(text, sizeof(text), "%s/%s: %s", c->dir, name, what);
	c->say(c->context, text);
	c->done++;
}

/* Files of a store whose creation was cut off: no campaign was ever in them. */
static int remove_unfinished(struct cleaning *c, struct err *err)
{
	static const char *const names[] = { "tare.db.new", "tare.db.new-journal" };
	char path[4200];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", c->dir, names[i]);
		if (access(path, F_OK) != 0)
			continue;
		if (unlink(path) != 0)
			return err_set(err, ERR_HOST, errno, "%s: cannot remove: %s", path, strerror(errno));
		said(c, names[i], "removed (a store that was never finished)");
	}
	return 0;
}

/*
 * A journal whose first byte is zero was never begun: SQLite does not roll it back, for nothing in the database has
 * changed yet, and leaves it to the next who writes.
 */
static bool journal_is_idle(const struct cleaning *c, char *path, size_t size_bytes)
{
	char first = 1;
	int fd;

	snprintf(path, size_bytes, "%s/tare.db-journal", c->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, &first, 1) <= 0)
		first = 0; /* empty */
	close(fd);
	return first == 0;
}

/* Opening finishes or undoes what was half-way, closing folds the log away. */
static int merge_log(struct cleaning *c, struct err *err)
{
	bool log = exists(c, "tare.db-wal"), journal = exists(c, "tare.db-journal"), index = exists(c, "tare.db-shm");
	char path[4200];
	int r;

	if (!log && !journal && !index)
		return 0;
	r = store_settle(c->dir, err);
	if (r < 0)
		return r;
	if (journal_is_idle(c, path, sizeof(path)) && unlink(path) != 0)
		return err_set(err, ERR_HOST, errno, "%s: cannot remove: %s", path, strerror(errno));
	if (exists(c, "tare.db-wal") || exists(c, "tare.db-journal"))
		return err_set(err, ERR_HOST, EBUSY, "%s: another program reads tare.db; end it and try again", c->dir);
	if (log)
		said(c, "tare.db-wal", "merged into tare.db (the log of a run that was killed)");
	if (journal)
		said(c, "tare.db-journal", "rolled back (a change that was cut off)");
	if (index && !log)
		said(c, "tare.db-shm", "removed");
	return 0;
}

int store_clean(const char *dir, void (*say)(void *context, const char *what), void *context, struct err *err)
{
	struct cleaning c = { .dir = dir, .say = say, .context = context };
	struct dir_lock lock;
	bool stale;
	struct stat st;
	int r;

	if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, ENOTDIR, "%s: %s; expected the directory of a campaign", dir,
			       stat(dir, &st) != 0 ? strerror(errno) : "not a directory");
	if (!exists(&c, "tare.db") && !exists(&c, "tare.db.new"))
		return err_set(err, ERR_USAGE, ENOENT, "%s: no campaign here (no tare.db)", dir);
	stale = exists(&c, "lock");
	r = dir_lock_take(&lock, dir, err);
	if (r < 0)
		return r;
	r = remove_unfinished(&c, err);
	if (r == 0 && exists(&c, "tare.db"))
		r = merge_log(&c, err);
	if (r == 0 && stale)
		said(&c, "lock", "removed (its process is gone)");
	dir_lock_release(&lock);
	return r < 0 ? r : c.done;
}

void store_remove(const char *dir)
{
	static const char *const names[] = { "tare.db",     "tare.db-wal",         "tare.db-shm", "tare.db-journal",
					     "tare.db.new", "tare.db.new-journal", "lock" };
	char path[4096];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}
