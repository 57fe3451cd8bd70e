/* SPDX-License-Identifier: Apache-2.0 */
#include "report/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/html.h"
#include "report/json.h"

static int failed(struct err *err, const char *path)
{
	return err_set(err, ERR_HOST, errno ? errno : EIO, "cannot write %s: %s", path, strerror(errno));
}

int output_file(const char *path, output_fn *write, const struct result *result, void *context, struct err *err)
{
	size_t size = strlen(path) + 16;
	char *draft = malloc(size);
	FILE *out = NULL;
	int fd, rc = 0;

	if (!draft)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory writing %s", path);
	snprintf(draft, size, "%s.XXXXXX", path);
	fd = mkstemp(draft);
	if (fd >= 0) {
		mode_t mask = umask(0);

		umask(mask);
		fchmod(fd, 0666 & ~mask);
		out = fdopen(fd, "w");
		if (!out)
			close(fd);
	}
	if (!out)
		rc = failed(err, path);
	if (rc == 0 && write(result, out, context, err) != 0)
		rc = err ? -err->code : -EIO;
	if (out && fclose(out) != 0 && rc == 0)
		rc = failed(err, path);
	if (rc == 0 && rename(draft, path) != 0)
		rc = failed(err, path);
	if (rc != 0 && fd >= 0)
		unlink(draft);
	free(draft);
	return rc;
}

int output_directory(const char *path, struct err *err)
{
	struct stat st;

	if (mkdir(path, 0777) == 0)
		return 0;
	if (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	return err_set(err, ERR_HOST, errno, "cannot make the directory %s: %s", path, strerror(errno));
}

static int html(const struct result *result, FILE *out, void *context, struct err *err)
{
	(void)context;
	return html_write(result, out, err);
}

static int json(const struct result *result, FILE *out, void *context, struct err *err)
{
	(void)context;
	return result_write_json(result, out, err);
}

int output_html(const char *path, const struct result *result, struct err *err)
{
	return output_file(path, html, result, NULL, err);
}

int output_json(const char *path, const struct result *result, struct err *err)
{
	return output_file(path, json, result, NULL, err);
}
