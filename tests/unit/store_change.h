/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TARE_TESTS_STORE_CHANGE_H
#define TARE_TESTS_STORE_CHANGE_H

#include <sqlite3.h>
#include <stdio.h>

/* What no tare does to the store in this directory. */
static inline void change_store(const char *directory, const char *sql)
{
	sqlite3 *db = NULL;
	char path[128];

	snprintf(path, sizeof(path), "%s/tare.db", directory);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

#endif
