/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figures.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/figures_private.h"
#include "report/output.h"

extern char **environ;

/* Which campaigns have a figure. */
static bool of_probes(const struct result *r)
{
	return result_has_probes(r);
}

static bool of_tares(const struct result *r)
{
	return strcmp(r->measure, "transit") != 0 && result_has_probes(r);
}

static bool of_chains(const struct result *r)
{
	return strcmp(r->measure, "transit") == 0;
}

static bool of_sweeps(const struct result *r)
{
	return r->sweep_count > 0;
}

static bool of_quantities(const struct result *r)
{
	return r->quantity_count > 0;
}

static const struct figure_kind {
	const char *name;
	figure_fn *data, *script;
	bool (*has)(const struct result *r);
} kinds[FIGURES_MOST] = {
	{ "ecdf", ecdf_data, ecdf_script, of_probes },
	{ "net", net_data, net_script, of_tares },
	{ "restarts", restarts_data, restarts_script, of_probes },
	{ "packets", packets_data, packets_script, of_tares },
	{ "chain", chain_data, chain_script, of_chains },
	{ "sweeps", sweeps_data, sweeps_script, of_sweeps },
	{ "quantities", quantities_data, quantities_script, of_quantities },
};

struct piece {
	figure_fn *write;
	bool something; /* the figure has points */
};

static int write_piece(const struct result *r, FILE *out, void *context, struct err *err)
{
	struct piece *p = context;

	p->something = p->write(r, out);
	return ferror(out) ? err_set(err, ERR_HOST, EIO, "cannot write a figure: %s", strerror(errno)) : 0;
}

static int write_file(const struct result *r, const char *dir, const char *name, const char *suffix,
		      struct piece *piece, struct err *err)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix) >= sizeof(path))
		return err_set(err, ERR_USAGE, ENAMETOOLONG, "%s: the path is too long", dir);
	return output_file(path, write_piece, r, piece, err);
}

static void remove_file(const char *dir, const char *name, const char *suffix)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix) < sizeof(path))
		unlink(path);
}

static bool is_there(const char *dir, const char *name, const char *suffix)
{
	char path[4096];
	struct stat st;

	return (size_t)snprintf(path, sizeof(path), "%s/%s.%s", dir, name, suffix) < sizeof(path) &&
	       stat(path, &st) == 0 && st.st_size > 0;
}

/* The last line that says something. Control characters do not reach the terminal. */
static void last_words(int fd, char *ret, size_t size)
{
	char text[4096], *line, *best = text;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (line[strspn(line, " \t^")])
			best = line;
	for (char *c = best; *c; c++)
		if ((unsigned char)*c < 0x20)
			*c = ' ';
	snprintf(ret, size, "%.*s", (int)size - 1, best);
}

static int run(const char *gnuplot, const char *dir, const char *script, int log)
{
	posix_spawn_file_actions_t actions;
	char *argv[] = { (char *)gnuplot, (char *)script, NULL };
	int status = 0, rc;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, log, 1);
	posix_spawn_file_actions_adddup2(&actions, log, 2);
	posix_spawn_file_actions_addchdir_np(&actions, dir);
	rc = posix_spawnp(&pid, gnuplot, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc != 0)
		return -rc;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void draw(const char *gnuplot, const char *dir, struct figure_outcome *o)
{
	char script[64], words[160];
	int log = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int status;

	if (log < 0)
		log = open("/dev/null", O_RDWR | O_CLOEXEC);
	snprintf(script, sizeof(script), "%s.gp", o->name);
	status = run(gnuplot, dir, script, log);
	last_words(log, words, sizeof(words));
	close(log);
	o->drawn = status == 0 && is_there(dir, o->name, "svg") && is_there(dir, o->name, "pdf");
	if (o->drawn)
		return;
	if (status == -ENOENT)
		snprintf(o->reason, sizeof(o->reason), "gnuplot is not installed (Debian: gnuplot-nox)");
	else if (status < 0)
		snprintf(o->reason, sizeof(o->reason), "gnuplot cannot be started: %s", strerror(-status));
	else
		snprintf(o->reason, sizeof(o->reason), "gnuplot ended with status %d%s%s", status, words[0] ? ": " : "",
			 words);
}

int figures_write(const struct result *r, const char *dir, const char *gnuplot, struct figures_outcome *ret,
		  struct err *err)
{
	int rc = output_directory(dir, err);

	*ret = (struct figures_outcome){ 0 };
	for (unsigned i = 0; rc == 0 && i < FIGURES_MOST; i++) {
		struct piece data = { .write = kinds[i].data }, script = { .write = kinds[i].script };
		struct figure_outcome *o = &ret->figure[ret->count];

		if (!kinds[i].has(r))
			continue;
		ret->count++;
		o->name = kinds[i].name;
		remove_file(dir, o->name, "svg");
		remove_file(dir, o->name, "pdf");
		rc = write_file(r, dir, o->name, "dat", &data, err);
		if (rc == 0)
			rc = write_file(r, dir, o->name, "gp", &script, err);
		if (rc != 0)
			break;
		if (data.something)
			draw(gnuplot ? gnuplot : "gnuplot", dir, o);
		else
			snprintf(o->reason, sizeof(o->reason), "the result holds nothing to show in it");
		if (!o->drawn) {
			remove_file(dir, o->name, "svg");
			remove_file(dir, o->name, "pdf");
		}
		ret->drawn += o->drawn;
	}
	return rc;
}

int figures_check(const struct figures_outcome *o, struct err *err)
{
	char names[128] = "";
	const char *reason = NULL;

	for (unsigned i = 0; i < o->count; i++) {
		size_t n = strlen(names);

		if (o->figure[i].drawn)
			continue;
		snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", o->figure[i].name);
		if (!reason)
			reason = o->figure[i].reason;
	}
	if (!reason)
		return 0;
	return err_set(err, ERR_HOST, ENOENT, "not drawn: %s: %s; their data and scripts are written", names, reason);
}
