/* SPDX-License-Identifier: Apache-2.0 */
#include "bmv2.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WAIT_S = 4, /* before it begins with the packets: time for the entries */
	QUIET_S = 3,
	SECOND_NS = 1000000000,
	PCAP_HEADER = 24,
	PCAP_RECORD = 16,
	PATH_BYTES = 1024,
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

static void sleep_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

static bool find(const char *name, char path[PATH_BYTES])
{
	const char *folders = getenv("BMV2");
	char *copy, *rest, *folder;
	bool found = false;

	if (!folders || !folders[0])
		folders = getenv("PATH");
	copy = strdup(folders ? folders : "");
	for (folder = strtok_r(copy, ":", &rest); folder && !found; folder = strtok_r(NULL, ":", &rest)) {
		snprintf(path, PATH_BYTES, "%s/%s", folder, name);
		found = access(path, X_OK) == 0;
	}
	free(copy);
	return found;
}

bool bmv2_here(void)
{
	char path[PATH_BYTES];

	return find("simple_switch", path) && find("simple_switch_CLI", path);
}

/* All stamped alike, so that it sleeps between none of them. */
static int write_pcap(const char *name, const struct bmv2_run *run, uint32_t packets, struct err *err)
{
	const uint32_t file[6] = { 0xa1b2c3d4, 4 << 16 | 2, 0, 0, 65535, 1 };
	const uint32_t record[4] = { 1, 0, run->frame_bytes, run->frame_bytes };
	FILE *f = fopen(name, "we");

	if (!f)
		return err_set(err, ERR_HOST, errno, "%s: %s", name, strerror(errno));
	fwrite(file, sizeof(file), 1, f);
	for (uint32_t i = 0; i < packets; i++) {
		fwrite(record, sizeof(record), 1, f);
		fwrite(run->frames + i % run->frame_count * run->stride_bytes, run->frame_bytes, 1, f);
	}
	if (ferror(f) | fclose(f))
		return err_set(err, ERR_HOST, EIO, "%s: cannot be written", name);
	return 0;
}

struct child {
	pid_t pid;
	char folder[64], out[128];
	unsigned thrift_port;
};

static int write_inputs(const struct child *c, const struct bmv2_run *run, struct err *err)
{
	char name[128];
	FILE *f;

	snprintf(name, sizeof(name), "%s/p%u_in.pcap", c->folder, run->out_port);
	if (run->out_port != run->in_port && write_pcap(name, run, 0, err) < 0)
		return -1;
	snprintf(name, sizeof(name), "%s/p%u_in.pcap", c->folder, run->in_port);
	if (write_pcap(name, run, run->packets, err) < 0)
		return -1;
	snprintf(name, sizeof(name), "%s/commands", c->folder);
	f = fopen(name, "we");
	if (!f)
		return err_set(err, ERR_HOST, errno, "%s: %s", name, strerror(errno));
	/* its queues hold 64 packets, and its own file reader overruns them */
	fprintf(f, "set_queue_depth %u\n%s", 2 * run->packets, run->commands);
	fclose(f);
	return 0;
}

static int start(struct child *c, const struct bmv2_run *run, struct err *err)
{
	char path[PATH_BYTES], json[PATH_BYTES * 4], in[32], out[32], port[16], wait[16];

	if (!find("simple_switch", path) || !realpath(run->json, json))
		return err_set(err, ERR_HOST, ENOENT, "no simple_switch or no %s", run->json);
	snprintf(in, sizeof(in), "%u@p%u", run->in_port, run->in_port);
	snprintf(out, sizeof(out), "%u@p%u", run->out_port, run->out_port);
	snprintf(port, sizeof(port), "%u", c->thrift_port);
	snprintf(wait, sizeof(wait), "%d", WAIT_S);
	c->pid = fork();
	if (c->pid < 0)
		return err_set(err, ERR_HOST, errno, "fork: %s", strerror(errno));
	if (c->pid > 0)
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chdir(c->folder) < 0 || !freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
		_exit(126);
	execl(path, path, "-i", in, "-i", out, "--use-files", wait, "--thrift-port", port, "--device-id", port,
	      "--log-level", "off", json, (char *)NULL);
	_exit(127);
}

static off_t size_of(const char *name)
{
	struct stat st;

	return stat(name, &st) < 0 ? 0 : st.st_size;
}

/* The entries; again while its server does not listen yet. Packets that went before them would be dropped. */
static int set_entries(const struct child *c, struct err *err)
{
	char path[PATH_BYTES], command[2 * PATH_BYTES], line[512], wrong[512] = "";
	int64_t until = now_ns() + (int64_t)(WAIT_S - 1) * SECOND_NS;

	if (!find("simple_switch_CLI", path))
		return err_set(err, ERR_HOST, ENOENT, "no simple_switch_CLI");
	snprintf(command, sizeof(command), "'%s' --thrift-port %u <%s/commands 2>&1", path, c->thrift_port, c->folder);
	do {
		FILE *pipe = popen(command, "re");

		wrong[0] = '\0';
		while (pipe && fgets(line, sizeof(line), pipe))
			if (!wrong[0] &&
			    (strstr(line, "Error") || strstr(line, "Invalid") || strstr(line, "not connect")))
				snprintf(wrong, sizeof(wrong), "%.*s", (int)strcspn(line, "\n"), line);
		if (pipe && pclose(pipe) == 0 && !wrong[0]) {
			if (size_of(c->out) <= PCAP_HEADER)
				return 0;
			return err_set(err, ERR_HOST, ETIME, "BMv2 had its entries after its first packet");
		}
		sleep_ms(100);
	} while (now_ns() < until);
	return err_set(err, ERR_HOST, EIO, "simple_switch_CLI: %s", wrong[0] ? wrong : "failed");
}

/* By the growth of its file, which it flushes as it goes. */
static int watch(const struct child *c, const struct bmv2_run *run, double *ret_pps, struct err *err)
{
	off_t whole = PCAP_HEADER + (off_t)run->packets * (PCAP_RECORD + run->frame_bytes), first = 0, size = 0;
	int64_t first_ns = 0, last_ns = now_ns() + (int64_t)WAIT_S * SECOND_NS;

	while (size < whole && now_ns() - last_ns < (int64_t)QUIET_S * SECOND_NS) {
		off_t now = size_of(c->out);

		if (now > size && now > PCAP_HEADER) {
			last_ns = now_ns();
			if (!first_ns) {
				first_ns = last_ns;
				first = now;
			}
			size = now;
		}
		sleep_ms(1);
	}
	if (size < whole || first == size)
		return err_set(err, ERR_HOST, EIO, "BMv2 wrote %" PRIu64 " bytes of packets, not %" PRIu64,
			       (uint64_t)size, (uint64_t)whole);
	*ret_pps = (double)(size - first) / (double)(whole - PCAP_HEADER) * run->packets * SECOND_NS /
		   (double)(last_ns - first_ns);
	return 0;
}

static void clean(const struct child *c, const struct bmv2_run *run)
{
	char name[128];

	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name),
			 i == 4  ? "%s/commands"
			 : i % 2 ? "%s/p%u_in.pcap"
				 : "%s/p%u_out.pcap",
			 c->folder, i < 2 ? run->in_port : run->out_port);
		unlink(name);
	}
	rmdir(c->folder);
}

int bmv2_measure(const struct bmv2_run *run, double *ret_pps, struct err *err)
{
	struct child c = { .folder = "/tmp/bmv2.XXXXXX", .thrift_port = 20000 + (unsigned)(now_ns() / 1000) % 12000 };
	int rc;

	if (!mkdtemp(c.folder))
		return err_set(err, ERR_HOST, errno, "%s: %s", c.folder, strerror(errno));
	snprintf(c.out, sizeof(c.out), "%s/p%u_out.pcap", c.folder, run->out_port);
	rc = write_inputs(&c, run, err);
	if (rc == 0)
		rc = start(&c, run, err);
	if (rc == 0)
		rc = set_entries(&c, err);
	if (rc == 0)
		rc = watch(&c, run, ret_pps, err);
	if (c.pid > 0) {
		kill(c.pid, SIGKILL);
		waitpid(c.pid, NULL, 0);
	}
	clean(&c, run);
	return rc;
}
