/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan/plan.h"

static int file_error(struct err *err, const char *path, int code)
{
	bool theirs = code == ENOENT || code == EACCES || code == ENOTDIR || code == EISDIR || code == ELOOP ||
		      code == ENAMETOOLONG;

	return err_set(err, theirs ? ERR_USAGE : ERR_HOST, code, "%s: cannot read the plan: %s", path, strerror(code));
}

/* The whole file on the heap, one byte over the limit at most. */
static int file_read(int fd, const char *path, char **ret_text, size_t *ret_length, struct err *err)
{
	size_t capacity = PLAN_BYTES_MOST + 1, length = 0;
	char *text = malloc(capacity);
	ssize_t n = 1;

	if (!text)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path);
	while (n > 0 && length < capacity) {
		n = read(fd, text + length, capacity - length);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			break;
		else
			length += (size_t)n;
	}
	if (n < 0) {
		int code = errno;

		free(text);
		return file_error(err, path, code);
	}
	*ret_text = text;
	*ret_length = length;
	return 0;
}

int plan_load_pilot(const char *path, const struct plan_pilot *pilot, struct plan **ret_plan,
		    struct plan_problems *ret_problems, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char *text = NULL, *directory;
	struct stat st;
	size_t length = 0;
	int fd, rc;

	memset(ret_problems, 0, sizeof(*ret_problems));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return file_error(err, path, errno);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(err, ERR_USAGE, EISDIR, "%s: is a directory; expected a plan file", path);
	}
	rc = file_read(fd, path, &text, &length, err);
	close(fd);
	if (rc < 0)
		return rc;
	directory = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	if (directory)
		rc = plan_parse_pilot(text, length, path, directory, pilot, ret_plan, ret_problems, err);
	else
		rc = err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path);
	free(directory);
	free(text);
	return rc;
}

int plan_load(const char *path, struct plan **ret_plan, struct plan_problems *ret_problems, struct err *err)
{
	return plan_load_pilot(path, NULL, ret_plan, ret_problems, err);
}
