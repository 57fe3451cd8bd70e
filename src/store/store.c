/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/create.h"
#include "store/schema.h"

enum { BUSY_TIMEOUT_MS = 10000 };

int64_t store_utc_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* --- errors --- */

/* What SQLite's codes mean to a person, and what to do. */
static const struct failure {
	int sqlite; /* primary result code */
	enum err_kind kind;
	int code;
	const char *says;
} failures[] = {
	{ SQLITE_FULL, ERR_HOST, ENOSPC,
	  "no space left; every restart recorded before is safe: free some and run again to resume" },
	{ SQLITE_CORRUPT, ERR_HOST, EBADMSG,
	  "the database is damaged; what can be read of it: sqlite3 tare.db .recover" },
	{ SQLITE_NOTADB, ERR_USAGE, EINVAL, "not a tare store: this is no SQLite database, or its start is damaged" },
	{ SQLITE_BUSY, ERR_HOST, EBUSY, "locked by another program (a shell of sqlite3?): end it and try again" },
	{ SQLITE_READONLY, ERR_HOST, EACCES, "no permission to write (the file, or its directory)" },
	{ SQLITE_PERM, ERR_HOST, EACCES, "no permission" },
	{ SQLITE_NOMEM, ERR_HOST, ENOMEM, "out of memory" },
};

/* The rest: SQLite tells what it was doing, and only sometimes the system's own error. */
static int fail_io(struct store *store, int extended, struct err *err, const char *doing)
{
	int code = sqlite3_system_errno(store->db);

	if (extended == SQLITE_IOERR_WRITE || extended == SQLITE_IOERR_FSYNC || extended == SQLITE_IOERR_SHMSIZE ||
	    extended == SQLITE_IOERR_TRUNCATE)
		return err_set(
			err, ERR_HOST, EIO,
			"%s: the disk refused a write, while %s (it is failing or full, or there is a limit on the "
			"size of files: ulimit -f); every restart recorded before is safe: run again to resume",
			store->path, doing);
	if (code > 0)
		return err_set(err, ERR_HOST, code, "%s: %s, while %s", store->path, strerror(code), doing);
	return err_set(err, ERR_HOST, EIO, "%s: %s, while %s", store->path, sqlite3_errmsg(store->db), doing);
}

int store_fail(struct store *store, struct err *err, const char *doing)
{
	int extended = store->db ? sqlite3_extended_errcode(store->db) : SQLITE_NOMEM;

	/* a reader that may not write cannot finish what a killed writer left */
	if (extended == SQLITE_READONLY_RECOVERY || extended == SQLITE_READONLY_CANTINIT ||
	    extended == SQLITE_READONLY_ROLLBACK ||
	    (extended == SQLITE_CANTOPEN && !store->writer && access(store->path, R_OK) == 0))
		return err_set(
			err, ERR_HOST, EACCES,
			"%s: a run that was killed left its log beside, and merging it needs permission to write "
			"there: run 'tare clean %s' as its owner, or copy the directory",
			store->path, store->dir);
	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		const struct failure *f = &failures[i];

		if (f->sqlite == (extended & 0xff))
			return err_set(err, f->kind, f->code, "%s: %s (while %s)", store->path, f->says, doing);
	}
	return fail_io(store, extended, err, doing);
}

int store_damaged(const struct store *store, struct err *err, const char *what)
{
	return err_set(err, ERR_HOST, EBADMSG, "%s: the database is damaged: %s", store->path, what);
}

int store_oom(const struct store *store, struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", store->path);
}

int store_exec(struct store *store, const char *sql, const char *doing, struct err *err)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : store_fail(store, err, doing);
}

int store_prepare(struct store *store, const char *sql, sqlite3_stmt **stmt, struct err *err)
{
	if (*stmt)
		return 0;
	if (!sql)
		return store_oom(store, err);
	if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL) == SQLITE_OK)
		return 0;
	/* a table or a column that is not there: marked as ours, but not made by us */
	if ((sqlite3_errcode(store->db) & 0xff) == SQLITE_ERROR)
		return store_damaged(store, err, sqlite3_errmsg(store->db));
	return store_fail(store, err, "reading the schema");
}

/* --- opening --- */

static int pragma_number(struct store *store, const char *sql, int64_t *ret, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r = store_prepare(store, sql, &stmt, err);

	if (r == 0 && sqlite3_step(stmt) == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	else if (r == 0)
		r = store_fail(store, err, "opening it");
	sqlite3_finalize(stmt);
	return r;
}

int store_check_identity(struct store *store, struct err *err)
{
	int64_t application = 0, schema = 0;
	int r;

	r = pragma_number(store, "PRAGMA application_id", &application, err);
	if (r == 0)
		r = pragma_number(store, "PRAGMA user_version", &schema, err);
	if (r < 0)
		return r;
	if (application != STORE_APPLICATION_ID)
		return err_set(err, ERR_USAGE, EINVAL,
			       "%s: not a tare store: an SQLite database of another program (application id %" PRId64
			       ", expected %d)",
			       store->path, application, STORE_APPLICATION_ID);
	if (schema > STORE_SCHEMA)
		return err_set(err, ERR_USAGE, ENOTSUP,
			       "%s: written by a newer tare (schema %" PRId64
			       "; this one knows up to %d): use that one",
			       store->path, schema, STORE_SCHEMA);
	if (schema < 1)
		return store_damaged(store, err, "it has no schema number");
	store->schema = (int)schema;
	return 0;
}

/*
 * The header says how many pages there are; fewer bytes than that, and no log that may
 * hold the rest, is a file cut short. SQLite itself would notice only when it meets the gap.
 */
static int check_length(struct store *store, struct err *err)
{
	unsigned char head[100] = { 0 };
	char *wal = NULL;
	struct stat file, log;
	ssize_t n = 0;
	int fd, r = 0;

	fd = open(store->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_HOST, errno, "%s: cannot open: %s", store->path, strerror(errno));
	if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
		r = err_set(err, ERR_USAGE, EINVAL, "%s: not a tare store: not a regular file", store->path);
	else if ((n = pread(fd, head, sizeof(head), 0)) < 0)
		r = err_set(err, ERR_HOST, errno, "%s: cannot read: %s", store->path, strerror(errno));
	else if (n < (ssize_t)sizeof(head))
		r = err_set(err, ERR_USAGE, EINVAL, "%s: not a tare store: %s", store->path,
			    n == 0 ? "the file is empty" : "too short for a database");
	close(fd);
	if (r == 0 && memcmp(head, "SQLite format 3", 16) == 0) {
		uint64_t page = (uint64_t)head[16] << 8 | head[17];
		uint64_t pages = (uint64_t)head[28] << 24 | head[29] << 16 | head[30] << 8 | head[31];

		page = page == 1 ? 65536 : page;
		if (asprintf(&wal, "%s-wal", store->path) < 0)
			return store_oom(store, err);
		if ((uint64_t)file.st_size < page * pages && (stat(wal, &log) != 0 || log.st_size == 0))
			r = err_set(err, ERR_HOST, EBADMSG,
				    "%s: cut short: %" PRIu64 " bytes of %" PRIu64
				    "; what can be read of it: sqlite3 tare.db .recover",
				    store->path, (uint64_t)file.st_size, page * pages);
		free(wal);
	}
	return r;
}

static struct store *store_alloc(const char *dir)
{
	struct store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->lock.fd = -1;
	arena_init(&s->arena, 0);
	s->dir = strdup(dir);
	if (!s->dir || asprintf(&s->path, "%s/tare.db", dir) < 0) {
		s->path = NULL;
		store_close(s);
		return NULL;
	}
	return s;
}

static void disconnect_db(struct store *s)
{
	store_abandon_restart(s);
	sqlite3_finalize(s->insert_run);
	sqlite3_finalize(s->insert_pair);
	sqlite3_finalize(s->select_pairs);
	sqlite3_finalize(s->insert_conditions);
	sqlite3_finalize(s->insert_transit);
	sqlite3_finalize(s->select_conditions);
	sqlite3_finalize(s->select_transits);
	sqlite3_finalize(s->insert_value);
	sqlite3_finalize(s->select_values);
	sqlite3_finalize(s->insert_second_clock);
	sqlite3_finalize(s->insert_second);
	sqlite3_finalize(s->select_second_clock);
	sqlite3_finalize(s->select_second);
	s->insert_run = s->insert_pair = s->select_pairs = NULL;
	s->insert_conditions = s->insert_transit = s->select_conditions = s->select_transits = NULL;
	s->insert_value = s->select_values = NULL;
	s->insert_second_clock = s->insert_second = s->select_second_clock = s->select_second = NULL;
	/* One plain file again. Refused while a report reads, or on a full disk: then the log stays, and nothing is lost. */
	if (s->writer && s->db) {
		sqlite3_busy_timeout(s->db, 0);
		sqlite3_exec(s->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
	}
	sqlite3_close(s->db);
	s->db = NULL;
}

static int connect_db(struct store *s, int flags, struct err *err)
{
	int r = check_length(s, err);

	if (r < 0)
		return r;
	if (sqlite3_open_v2(s->path, &s->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL) != SQLITE_OK)
		return store_fail(s, err, "opening it");
	sqlite3_busy_timeout(s->db, BUSY_TIMEOUT_MS);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	r = store_exec(s, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY",
		       "opening it", err);
	return r < 0 ? r : store_check_identity(s, err);
}

/*
 * With write access where we have it (SQLite falls back to none): a killed writer may
 * have left a transaction half-way, which the next to open must finish or undo.
 */
int store_open_read(const char *dir, struct store **ret_store, struct err *err)
{
	struct store *s;
	struct stat st;
	int r;

	if (stat(dir, &st) != 0)
		return err_set(err, ERR_USAGE, errno, "%s: %s; expected the directory of a campaign", dir,
			       strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, ENOTDIR,
			       "%s: not a directory; expected the directory of a campaign (which holds tare.db)", dir);
	s = store_alloc(dir);
	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", dir);
	if (access(s->path, F_OK) != 0)
		r = err_set(err, errno == ENOENT ? ERR_USAGE : ERR_HOST, errno, "%s: %s", s->path,
			    errno == ENOENT ? "no such file; expected a directory made by 'tare run'"
					    : strerror(errno));
	else
		r = connect_db(s, SQLITE_OPEN_READWRITE, err);
	if (r == 0)
		r = store_exec(s, "PRAGMA query_only=ON", "opening it", err);
	if (r < 0) {
		store_close(s);
		return r;
	}
	*ret_store = s;
	return 0;
}

int store_open_image(const void *data, size_t size_bytes, struct store **ret_store, struct err *err)
{
	struct store *s = store_alloc("memory");
	unsigned char *copy;
	int r;

	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "memory: out of memory");
	copy = sqlite3_malloc64(size_bytes + 1);
	if (!copy ||
	    sqlite3_open_v2(":memory:", &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
		sqlite3_free(copy);
		store_close(s);
		return err_set(err, ERR_HOST, ENOMEM, "memory: out of memory");
	}
	if (size_bytes)
		memcpy(copy, data, size_bytes);
	/* takes the copy, even on failure */
	r = sqlite3_deserialize(s->db, "main", copy, (sqlite3_int64)size_bytes, (sqlite3_int64)size_bytes,
				SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
	r = r == SQLITE_OK ? store_exec(s, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON", "opening it", err)
			   : store_fail(s, err, "opening it");
	if (r == 0)
		r = store_check_identity(s, err);
	if (r < 0) {
		store_close(s);
		return r;
	}
	*ret_store = s;
	return 0;
}

/* Which turns have run? */
static int load_turns(struct store *s, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int r, step;

	r = store_prepare(s, "SELECT turn, max(failure IS NULL) FROM restart GROUP BY turn", &stmt, err);
	if (r < 0)
		return r;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		int64_t turn = sqlite3_column_int64(stmt, 0);

		if (turn < 0 || turn >= s->turn_count) {
			r = store_damaged(s, err, "a restart belongs to no turn");
			break;
		}
		s->turn_state[turn] = sqlite3_column_int(stmt, 1) ? STORE_TURN_DONE : STORE_TURN_FAILED;
	}
	if (r == 0 && step != SQLITE_DONE)
		r = store_fail(s, err, "reading what is done");
	sqlite3_finalize(stmt);
	return r;
}

static int make_directory(const char *dir, bool *ret_made, struct err *err)
{
	struct stat st;

	*ret_made = mkdir(dir, 0777) == 0;
	if (*ret_made)
		return 0;
	if (errno != EEXIST)
		return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_USAGE : ERR_HOST, errno,
			       "%s: cannot create the directory: %s", dir, strerror(errno));
	if (stat(dir, &st) != 0)
		return err_set(err, ERR_HOST, errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, ENOTDIR, "%s: exists and is not a directory; choose another", dir);
	return 0;
}

/* The lock is held; the file is there. */
static int open_for_writing(struct store *s, const struct plan *plan, struct err *err)
{
	int r = connect_db(s, SQLITE_OPEN_READWRITE, err);

	/*
	 * FULL: a commit is on the disk before it counts, even if the power fails. The log is merged into
	 * the database only every 64 MB or so: between restarts, and not in the way of the next.
	 */
	if (r == 0)
		r = store_exec(s,
			       "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
			       "PRAGMA wal_autocheckpoint=4096; PRAGMA cache_size=-16384",
			       "opening it for writing", err);
	if (r == 0)
		r = store_match_plan(s, plan, err);
	if (r == 0)
		r = store_upgrade(s, err);
	if (r < 0)
		return r;
	s->turn_count = plan->turn_count;
	s->turn_state = calloc(plan->turn_count ? plan->turn_count : 1, 1);
	return s->turn_state ? load_turns(s, err) : store_oom(s, err);
}

/* A campaign that has not recorded anything yet is no loss: its place may be taken by the plan as it is now. */
static bool holds_no_restart(struct store *s)
{
	int64_t count = 1;

	return pragma_number(s, "SELECT count(*) FROM restart", &count, NULL) == 0 && count == 0;
}

/* A report holds it open: then its log cannot be folded away, and must not meet another tare.db. */
static bool log_is_there(const struct store *s)
{
	char *log = sqlite3_mprintf("%s-wal", s->path);
	bool there = !log || access(log, F_OK) == 0;

	sqlite3_free(log);
	return there;
}

int store_open_write(const char *dir, const struct plan *plan, struct store **ret_store, struct err *err)
{
	struct store *s;
	bool made = false;
	int r;

	r = make_directory(dir, &made, err);
	if (r < 0)
		return r;
	s = store_alloc(dir);
	if (!s) {
		if (made)
			rmdir(dir);
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", dir);
	}
	s->writer = true;
	r = dir_lock_take(&s->lock, dir, err);
	if (r == 0 && access(s->path, F_OK) != 0)
		r = store_create_file(s, plan, err);
	if (r == 0)
		r = open_for_writing(s, plan, err);
	if (r == -EEXIST && holds_no_restart(s)) {
		disconnect_db(s);
		r = log_is_there(s) ? r : store_create_file(s, plan, err);
		if (r == 0)
			r = open_for_writing(s, plan, err);
	}
	if (r < 0) {
		store_close(s);
		if (made)
			rmdir(dir); /* refuses unless empty */
		return r;
	}
	*ret_store = s;
	return 0;
}

int store_write_fast(struct store *s, struct err *err)
{
	TARE_ASSERT(s->writer && !s->in_restart);
	return store_exec(s,
			  "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
			  "PRAGMA cache_size=-65536",
			  "opening it for writing", err);
}

int store_settle(const char *dir, struct err *err)
{
	struct store *s = store_alloc(dir);
	int r;

	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", dir);
	s->writer = true;
	r = connect_db(s, SQLITE_OPEN_READWRITE, err);
	store_close(s);
	return r;
}

const char *store_path(const struct store *store)
{
	return store->path;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	disconnect_db(store);
	dir_lock_release(&store->lock);
	arena_release(&store->arena);
	free(store->turn_state);
	free(store->dir);
	free(store->path);
	free(store);
}
