/* SPDX-License-Identifier: Apache-2.0 */
#include "observe/hostfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_at(const char *root, const char *path)
{
	char whole[4096];

	if ((size_t)snprintf(whole, sizeof(whole), "%s%s", root, path) >= sizeof(whole))
		return NULL;
	return fopen(whole, "re");
}

bool hostfile_read(const char *root, const char *path, char *buf, size_t size_bytes)
{
	FILE *f = open_at(root, path);
	size_t n = 0;

	buf[0] = '\0';
	if (!f)
		return false;
	n = fread(buf, 1, size_bytes - 1, f);
	fclose(f);
	/* Some files end in a NUL (device tree), most in a newline. */
	while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == '\0' || buf[n - 1] == ' '))
		n--;
	buf[n] = '\0';
	return n > 0;
}

bool hostfile_field(const char *root, const char *path, const char *key, char *buf, size_t size_bytes)
{
	FILE *f = open_at(root, path);
	size_t key_length = strlen(key), capacity = 0;
	char *line = NULL;
	bool found = false;

	buf[0] = '\0';
	while (f && !found && getline(&line, &capacity, f) > 0) {
		const char *colon = strchr(line, ':');

		if (!colon || strncmp(line, key, key_length) != 0 ||
		    line + key_length + strspn(line + key_length, " \t") != colon)
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		snprintf(buf, size_bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
		found = buf[0] != '\0';
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

bool hostfile_has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *p = list; (p = strstr(p, word)) != NULL; p += length)
		if ((p == list || p[-1] == ' ') && (p[length] == ' ' || p[length] == '\0'))
			return true;
	return false;
}
