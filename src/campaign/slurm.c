/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign/slurm.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/store.h"

enum { WORDS_MOST = 64, LOOK_MS = 200 };

extern char **environ;

const char *slurm_array_text(const bool *wanted, uint32_t count, char *buf, size_t size_bytes)
{
	size_t n = 0;

	buf[0] = '\0';
	for (uint32_t first = 0; first < count && n < size_bytes; first++) {
		uint32_t last = first;

		if (!wanted[first])
			continue;
		while (last + 1 < count && wanted[last + 1])
			last++;
		n += (size_t)snprintf(buf + n, size_bytes - n, last > first ? "%s%" PRIu32 "-%" PRIu32 : "%s%" PRIu32,
				      n ? "," : "", first, last);
		first = last;
	}
	return buf;
}

/* --- which blocks are whole --- */

static char *part_dir(const struct slurm_run *run, uint32_t block)
{
	char *dir = NULL;

	return asprintf(&dir, "%s/part-%" PRIu32, run->dir, block) < 0 ? NULL : dir;
}

static uint32_t turns_of_block(const struct plan *plan, uint32_t block)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < plan->turn_count; t++)
		n += plan->turns[t].block == block;
	return n;
}

/* Every turn of the block is done, and the plan is this one. Anything else is not whole. */
static bool part_is_whole(const struct slurm_run *run, uint32_t block)
{
	char *dir = part_dir(run, block);
	struct stored_campaign c = { 0 };
	struct store *s = NULL;
	struct arena arena;
	bool whole = false;

	arena_init(&arena, 0);
	if (dir && store_open_read(dir, &s, NULL) == 0 && store_read_campaign(s, &arena, &c, NULL) == 0)
		whole = c.plan_hash == run->plan->text_hash && c.turns_done == turns_of_block(run->plan, block);
	store_close(s);
	arena_release(&arena);
	free(dir);
	return whole;
}

/* --- one array of jobs --- */

struct array {
	pid_t pid; /* of sbatch, which waits for the array */
	int in, out;
	char job[32];
};

static int no_sbatch(struct err *err, int code)
{
	return err_set(
		err, ERR_HOST, code,
		"cannot run sbatch: %s; --slurm needs Slurm's client programs in PATH (Debian: slurm-client) and a "
		"cluster that they reach",
		strerror(code));
}

/* sbatch's words; further ones are split at blanks. They point into `text` and the caller's strings. */
static void words_fill(const char **words, const char *const *fixed, char *text)
{
	unsigned n = 0;

	while (fixed[n]) {
		words[n] = fixed[n];
		n++;
	}
	for (char *save = NULL, *word = text ? strtok_r(text, " ", &save) : NULL; word && n < WORDS_MOST - 1;
	     word = strtok_r(NULL, " ", &save))
		words[n++] = word;
	words[n] = NULL;
}

static int start(struct array *a, const char *const *words, struct err *err)
{
	int in[2], out[2], code;
	posix_spawn_file_actions_t actions;

	if (pipe(in) != 0)
		return err_set(err, ERR_HOST, errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe(out) != 0) {
		code = errno;
		close(in[0]);
		close(in[1]);
		return err_set(err, ERR_HOST, code, "cannot make a pipe: %s", strerror(code));
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	for (int i = 0; i < 2; i++) {
		posix_spawn_file_actions_addclose(&actions, in[i]);
		posix_spawn_file_actions_addclose(&actions, out[i]);
	}
	/* argv is not written to */
	code = posix_spawnp(&a->pid, words[0], &actions, NULL, (char *const *)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	a->in = in[1];
	a->out = out[0];
	if (code != 0) {
		close(a->in);
		close(a->out);
		return no_sbatch(err, code);
	}
	return 0;
}

/* What a word of a shell script must not be broken by. */
static void quote(FILE *out, const char *text)
{
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else
			fputc(*text, out);
	}
	fputc('\'', out);
}

/* The script of every job; Slurm says which block it is. */
static int hand_over_script(const struct slurm_run *run, int fd)
{
	char *plan = realpath(run->plan->path, NULL), *dir = realpath(run->dir, NULL);
	FILE *out = plan && dir ? fdopen(fd, "w") : NULL;
	bool good = out != NULL;

	if (out) {
		fputs("#!/bin/sh\nexec ", out);
		quote(out, run->tare);
		fputs(" run -q --retry-failed --blocks \"$SLURM_ARRAY_TASK_ID..$SLURM_ARRAY_TASK_ID\"", out);
		for (const char *const *word = run->arguments; word && *word; word++) {
			fputc(' ', out);
			quote(out, *word);
		}
		fputs(" -o ", out);
		quote(out, dir);
		fputs("/part-\"$SLURM_ARRAY_TASK_ID\" ", out);
		quote(out, plan);
		fputc('\n', out);
		good = fclose(out) == 0;
	} else {
		close(fd);
	}
	free(plan);
	free(dir);
	return good ? 0 : -EIO;
}

static void read_job(struct array *a)
{
	size_t n = 0;

	if (a->job[0])
		return;
	while (n < sizeof(a->job) - 1 && read(a->out, a->job + n, 1) == 1 && a->job[n] != '\n' && a->job[n] != ';')
		n++;
	a->job[n] = '\0';
}

static void cancel(struct array *a)
{
	const char *words[] = { "scancel", a->job, NULL };
	pid_t pid;

	kill(a->pid, SIGTERM);
	if (a->job[0] && posix_spawnp(&pid, words[0], NULL, NULL, (char *const *)words, environ) == 0)
		waitpid(pid, NULL, 0);
}

/* Until every job has ended, well or not. */
static int wait_for(const struct slurm_run *run, struct array *a, struct err *err)
{
	char text[96];
	int status;

	for (;;) {
		struct pollfd p = { .fd = a->job[0] ? -1 : a->out, .events = POLLIN };

		if (poll(&p, 1, LOOK_MS) > 0) {
			read_job(a);
			snprintf(text, sizeof(text), "job array %s is submitted", a->job);
			if (a->job[0] && run->say)
				run->say(text);
			if (!a->job[0])
				poll(NULL, 0, LOOK_MS); /* it refused, and ends */
		}
		if (waitpid(a->pid, &status, WNOHANG) == a->pid)
			break;
		if (atomic_load_explicit(run->interrupted, memory_order_relaxed)) {
			cancel(a);
			waitpid(a->pid, &status, 0);
			return err_set(
				err, ERR_INTERRUPTED, EINTR,
				"interrupted: job array %s is cancelled; what is done is in %s, and the same command "
				"goes on from there",
				a->job, run->dir);
		}
	}
	if (!a->job[0])
		return err_set(err, ERR_HOST, EIO, "sbatch refused the job array; its own message says why");
	return 0; /* whether jobs were good is for their stores to say */
}

static int submit(const struct slurm_run *run, const bool *wanted, struct err *err)
{
	char *array = malloc((size_t)run->plan->restarts * 12 + 16), *name = NULL, *output = NULL;
	char *options = run->options ? strdup(run->options) : NULL;
	struct array a = { 0 };
	int r = -ENOMEM;

	if (array && asprintf(&name, "--job-name=tare-%s", run->plan->name) > 0 &&
	    asprintf(&output, "--output=%s/part-%%a.log", run->dir) > 0) {
		const char *words[WORDS_MOST];
		const char *const fixed[] = { "sbatch", "--parsable", "--wait", "--nodes=1",          "--exclusive",
					      name,     output,       array,    "--open-mode=append", NULL };

		snprintf(array, 16, "--array=");
		slurm_array_text(wanted, run->plan->restarts, array + strlen(array), (size_t)run->plan->restarts * 12);
		words_fill(words, fixed, options);
		r = start(&a, words, err);
		if (r == 0) {
			int handed = hand_over_script(run, a.in);

			r = wait_for(run, &a, err);
			close(a.out);
			if (r == 0 && handed < 0)
				r = err_set(err, ERR_HOST, EIO, "the script of the jobs could not be handed to sbatch");
		}
	} else {
		err_set(err, ERR_HOST, ENOMEM, "out of memory");
	}
	free(array);
	free(name);
	free(output);
	free(options);
	return r;
}

/* --- all of it --- */

static int make_dir(const struct slurm_run *run, struct err *err)
{
	char *store = NULL;
	int r = 0;

	if (run->plan->stop.on)
		return err_set(
			err, ERR_USAGE, EINVAL,
			"%s: stop: judges restarts one after another, and on a cluster they run side by side: give the "
			"number of restarts instead",
			run->plan->path);
	if (mkdir(run->dir, 0777) != 0 && errno != EEXIST)
		return err_set(err, errno == ENOENT ? ERR_USAGE : ERR_HOST, errno,
			       "%s: cannot create the directory: %s", run->dir, strerror(errno));
	if (asprintf(&store, "%s/tare.db", run->dir) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	if (access(store, F_OK) == 0)
		r = err_set(err, ERR_USAGE, EEXIST, "%s: there is a store already; choose another directory with -o",
			    run->dir);
	free(store);
	return r;
}

static int merge_parts(const struct slurm_run *run, struct store_merged *ret, struct err *err)
{
	uint32_t count = run->plan->restarts, made = 0;
	const char **parts = calloc(count + 1u, sizeof(*parts));
	int r = parts ? 0 : -ENOMEM;

	for (; r == 0 && made < count; made++) {
		parts[made] = part_dir(run, made);
		r = parts[made] ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = store_merge(run->dir, parts, count, ret, err);
	else
		err_set(err, ERR_HOST, ENOMEM, "out of memory");
	while (parts && made-- > 0)
		free((char *)parts[made]);
	free(parts);
	return r;
}

static uint32_t look(const struct slurm_run *run, bool *wanted)
{
	uint32_t count = 0;

	for (uint32_t b = 0; b < run->plan->restarts; b++) {
		wanted[b] = !part_is_whole(run, b);
		count += wanted[b];
	}
	return count;
}

int slurm_campaign(const struct slurm_run *run, struct store_merged *ret, struct err *err)
{
	bool *wanted = calloc(run->plan->restarts + 1u, sizeof(*wanted));
	uint32_t missing;
	int r;

	if (!wanted)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	r = make_dir(run, err);
	if (r == 0 && look(run, wanted) > 0)
		r = submit(run, wanted, err);
	if (r == 0) {
		missing = look(run, wanted);
		for (uint32_t b = 0; b < run->plan->restarts && missing; b++)
			if (wanted[b]) {
				r = err_set(
					err, ERR_RESULT, ENODATA,
					"%" PRIu32 " of %" PRIu32 " blocks are not whole, block %" PRIu32
					" the first (its job was killed, or a restart failed: %s/part-%" PRIu32
					".log says more); the same command submits what is missing, 'tare merge' joins "
					"what is there",
					missing, run->plan->restarts, b, run->dir, b);
				break;
			}
	}
	if (r == 0)
		r = merge_parts(run, ret, err);
	if (r < 0)
		rmdir(run->dir); /* made for nothing? refuses unless empty */
	free(wanted);
	return r;
}
