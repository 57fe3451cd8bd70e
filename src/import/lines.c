/* SPDX-License-Identifier: Apache-2.0 */
#include "import/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

int lines_open(struct lines *l, const char *path, struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_USAGE, errno, "%s: cannot read: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(err, ERR_USAGE, EISDIR, "%s: is a directory; expected a file", path);
	}
	*l = (struct lines){ .path = path, .fd = fd, .buffer = malloc(BUFFER_BYTES) };
	if (l->buffer)
		return 0;
	close(fd);
	return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", path);
}

int lines_open_memory(struct lines *l, const void *bytes, size_t count, const char *name, struct err *err)
{
	*l = (struct lines){ .path = name, .fd = -1, .buffer = malloc(count + 1), .to = count, .end = true };
	if (!l->buffer)
		return err_set(err, ERR_HOST, ENOMEM, "%s: out of memory", name);
	if (count)
		memcpy(l->buffer, bytes, count);
	return 0;
}

void lines_release(struct lines *l)
{
	if (l->fd >= 0 && l->buffer)
		close(l->fd);
	free(l->buffer);
	l->buffer = NULL;
}

/* More into the buffer, behind what is there. */
static int refill(struct lines *l, struct err *err)
{
	ssize_t n;

	memmove(l->buffer, l->buffer + l->from, l->to - l->from);
	l->to -= l->from;
	l->from = 0;
	do
		n = read(l->fd, l->buffer + l->to, BUFFER_BYTES - l->to);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_set(err, ERR_HOST, errno, "%s:%" PRIu64 ": cannot read on: %s", l->path, l->number + 1,
			       strerror(errno));
	l->end = n == 0;
	l->to += (size_t)n;
	return 0;
}

int lines_next(struct lines *l, const char **ret_text, size_t *ret_length, struct err *err)
{
	const char *at, *end;
	size_t length;

	while (!(end = memchr(l->buffer + l->from, '\n', l->to - l->from))) {
		if (l->to - l->from > LINES_LONGEST)
			return err_set(err, ERR_USAGE, EINVAL,
				       "%s:%" PRIu64 ": a line of over %d bytes: no text of this kind", l->path,
				       l->number + 1, LINES_LONGEST);
		if (l->end && l->from == l->to)
			return 0;
		if (l->end)
			return err_set(err, ERR_USAGE, EINVAL,
				       "%s:%" PRIu64 ": the file ends within this line: cut short? (a whole file ends "
				       "with a newline)",
				       l->path, l->number + 1);
		if (refill(l, err) < 0)
			return -EIO;
	}
	at = l->buffer + l->from;
	length = (size_t)(end - at);
	l->from += length + 1;
	l->bytes += length + 1;
	l->number++;
	if (length > LINES_LONGEST)
		return err_set(err, ERR_USAGE, EINVAL, "%s:%" PRIu64 ": a line of over %d bytes: no text of this kind",
			       l->path, l->number, LINES_LONGEST);
	if (length && at[length - 1] == '\r')
		length--;
	if (memchr(at, '\0', length))
		return err_set(err, ERR_USAGE, EINVAL, "%s:%" PRIu64 ": holds a byte 0: not a text file, or damaged",
			       l->path, l->number);
	*ret_text = at;
	*ret_length = length;
	return 1;
}
