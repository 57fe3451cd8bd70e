/* SPDX-License-Identifier: Apache-2.0 */
#include "report/open.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "report/json.h"

int result_open(const char *path, struct result **ret_result, struct err *err)
{
	struct store *store;
	struct stat st;
	int rc;

	if (stat(path, &st) != 0)
		return err_set(err, ERR_USAGE, errno,
			       "%s: %s; expected a campaign's directory or a result saved as JSON", path,
			       strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return result_load(path, ret_result, err);
	rc = store_open_read(path, &store, err);
	if (rc != 0)
		return rc;
	rc = result_build(store, ret_result, err);
	store_close(store);
	return rc;
}
