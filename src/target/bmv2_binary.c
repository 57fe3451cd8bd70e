/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab/process.h"
#include "target/bmv2_private.h"

enum { VERSION_WAIT_MS = 3000 };

static bool executable(const char *path)
{
	return access(path, X_OK) == 0;
}

bool binary_in_path(const char *name, char *ret, size_t size)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (n && (size_t)snprintf(ret, size, "%.*s/%s", (int)n, path, name) < size && executable(ret))
			return true;
		path += n;
		path += *path == ':';
	}
	return false;
}

/* Beside this program (installed), or where the build leaves it. */
static bool beside_us(const char *name, char *ret, size_t size)
{
	static const char *const places[] = { "", "../", "../../switch/", "../switch/", "switch/" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return false;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return false;
	slash[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if ((size_t)snprintf(ret, size, "%s%s%s", self, places[i], name) < size && executable(ret))
			return true;
	return false;
}

int switch_binary_find(const char *wanted, struct switch_binary *ret, struct err *err)
{
	bool any = strcmp(wanted, "auto") == 0;
	struct switch_binary b = { .version = "" };

	if (strchr(wanted, '/')) {
		if (!executable(wanted))
			return err_set(err, ERR_HOST, errno, "switch: '%s': %s; expected a program to execute", wanted,
				       strerror(errno));
		snprintf(b.path, sizeof(b.path), "%s", wanted);
		*ret = b;
		return 0;
	}
	if ((any && binary_in_path("simple_switch_grpc", b.path, sizeof(b.path))) ||
	    ((any || strcmp(wanted, "tare-switch") == 0) && beside_us("tare-switch", b.path, sizeof(b.path))) ||
	    binary_in_path(any ? "tare-switch" : wanted, b.path, sizeof(b.path))) {
		*ret = b;
		return 0;
	}
	if (any)
		return err_set(err, ERR_HOST, ENOENT,
			       "no switch to measure: neither simple_switch_grpc nor tare-switch is in PATH, nor is "
			       "tare-switch beside this program");
	return err_set(err, ERR_HOST, ENOENT,
		       "switch: '%s' is not in PATH; expected auto, simple_switch_grpc, "
		       "tare-switch or a path with a '/'",
		       wanted);
}

void switch_binary_ask_version(struct switch_binary *b)
{
	const char *const argv[] = { b->path, "--version", NULL };
	const struct process_options options = { .name = "switch", .argv = argv };
	struct process *p = NULL;
	struct pollfd ended;
	char lines[512];

	if (process_start(&options, &p, NULL) < 0)
		return;
	ended = (struct pollfd){ .fd = process_fd(p), .events = POLLIN };
	if (poll(&ended, 1, VERSION_WAIT_MS) > 0) {
		process_last_lines(p, 1, lines, sizeof(lines));
		lines[strcspn(lines, "\n")] = '\0';
		snprintf(b->version, sizeof(b->version), "%.*s", (int)sizeof(b->version) - 1, lines);
	}
	process_stop(p, 0);
}

int words_split(char *line, const char **ret_words, int most)
{
	int count = 0;

	for (char *save = NULL, *word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (count == most)
			return -E2BIG;
		ret_words[count++] = word;
	}
	return count;
}
