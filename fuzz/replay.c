/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Runs a fuzz target over its corpus, in every build and without a fuzzer: each
 * file whole, and cut short at up to PREFIXES places, from a buffer of exactly
 * that size so that a sanitizer sees the first byte read too far. The argument
 * is the corpus folder; an empty one is a failure, as nothing would be tested.
 */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { PREFIXES = 64 };

static void run(const uint8_t *bytes, size_t length)
{
	uint8_t *exact = malloc(length > 0 ? length : 1);

	if (exact == NULL)
		abort();
	if (length > 0)
		memcpy(exact, bytes, length);
	LLVMFuzzerTestOneInput(exact, length);
	free(exact);
}

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	size_t length, step;
	long size = -1;

	if (file != NULL && fseek(file, 0, SEEK_END) == 0)
		size = ftell(file);
	if (size >= 0) {
		rewind(file);
		bytes = malloc((size_t)size + 1);
	}
	if (bytes == NULL || fread(bytes, 1, (size_t)size, file) != (size_t)size) {
		fprintf(stderr, "%s: cannot be read\n", path);
		if (file != NULL)
			fclose(file);
		free(bytes);
		return -1;
	}
	fclose(file);
	length = (size_t)size;
	step = length / PREFIXES + 1;
	run(bytes, length);
	for (size_t cut = 0; cut < length; cut += step)
		run(bytes, cut);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	struct dirent **names = NULL;
	int count = argc == 2 ? scandir(argv[1], &names, NULL, alphasort) : -1;
	unsigned files = 0;
	int failed = 0;

	if (count < 0) {
		fprintf(stderr, "usage: %s CORPUS (a folder that is there)\n", argv[0]);
		return 2;
	}
	for (int i = 0; i < count; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", argv[1], names[i]->d_name);
		if (names[i]->d_name[0] != '.') {
			failed |= replay(path);
			files++;
		}
		free(names[i]);
	}
	free(names);
	printf("%u files replayed\n", files);
	return failed || files == 0;
}
