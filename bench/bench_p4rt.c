/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <inttypes.h>
#include <time.h>

#include "../tests/peers/switch_child.h"
#include "p4rt/blocking.h"
#include "say.h"

/*
 * LPM inserts a second through our client into one switch over loopback, the CPU
 * time of both ends for each, reading back, and eight switches at once. Each
 * repeat has switches of its own; entries are encoded within the timed part, as
 * a controller would. Beside it a Python grpcio client (bench/p4rt_python.py) does the same, where $PEER_PYTHON, the peers'
 * environments of the build or python3 has its modules. usage: bench_p4rt [SWITCH], default tare-switch.
 */
enum { REPEATS = 5, MOST = 100000, SWITCHES = 8, EACH = 1000 };

struct mode {
	const char *name;
	unsigned window, batch;
	size_t count;
	double baseline;       /* the prototype's, with a toy table */
	const char *of_switch; /* what tare-switch's own number is called */
};

static const struct mode modes[] = {
	{ "sync", 1, 1, 10000, 42000, "switch_write_sync_per_s" },
	{ "window64", 64, 1, MOST, 248000, NULL },
	{ "batch100", 1, 100, MOST, 723000, "switch_write_batch_per_s" },
};

struct bench {
	const char *path;
	bool is_tare; /* the switch of this build */
	struct p4info *info;
	char *json;
	size_t json_bytes;
	struct p4rt_record *records;
};

/* CPU time of all threads of a process, from the scheduler's nanosecond counters. */
static double cpu_ns(pid_t pid)
{
	char path[300];
	struct dirent *entry;
	double sum = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		uint64_t ns = 0;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/task/%.32s/schedstat", pid, entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%" SCNu64, &ns) == 1)
			sum += (double)ns;
		fclose(file);
	}
	if (dir)
		closedir(dir);
	return sum;
}

static int fail(const char *what, const struct err *err)
{
	fprintf(stderr, "bench_p4rt: %s: %s\n", what, err->message);
	return -1;
}

/* Route i: 10.0.0.0/8 and above, each of 32 bits. */
static int add_routes(const struct bench *b, struct p4rt_updates *u, size_t count)
{
	const struct p4info_table *table = p4info_table(b->info, "routes", NULL);
	const struct p4info_action *action = p4info_table_action(table, "next_hop", NULL);

	for (size_t i = 0; i < count; i++) {
		uint8_t key[8], mac[8], port[8];
		struct p4rt_match match = { .value = p4rt_number(0x0a000000 + i, key), .prefix_bits = 32 };
		struct p4rt_bytes params[2] = { p4rt_number(0x020000000000 + i, mac), p4rt_number(i % 512, port) };
		struct p4rt_entry entry = { .table = table, .match = &match, .action = action, .params = params };

		if (p4rt_updates_add(u, P4RT_INSERT, &entry) < 0)
			return -1;
	}
	return 0;
}

struct side {
	struct switch_child child;
	struct p4rt_client *client;
	bool done;
	size_t failed;
};

static void side_stop(struct side *side)
{
	p4rt_client_destroy(side->client);
	side->client = NULL;
	switch_child_kill(&side->child);
}

static int side_start(const struct bench *b, struct loop *loop, struct side *side)
{
	struct p4rt_client_config config = { .device_id = 1, .address = side->child.address };
	struct err err;

	if (!switch_child_start(&side->child, b->path))
		return -1;
	if (p4rt_connect(loop, &config, 0, &side->client, &err) < 0 ||
	    p4rt_set_pipeline(side->client, b->info, b->json, b->json_bytes, 0, &err) < 0)
		return fail(b->path, &err);
	return 0;
}

struct measured {
	double per_s, client_us, server_us, read_s, wall_s;
};

static int read_back(struct side *side, const struct bench *b, size_t count, double *ret_s)
{
	struct p4rt_read read = { .info = b->info };
	int64_t start = loop_now_ns();
	size_t got = 0;
	struct err err;

	if (p4rt_read(side->client, &read, &got, &err) < 0)
		return fail("read", &err);
	*ret_s = (double)(loop_now_ns() - start) / 1e9;
	if (got == count)
		return 0;
	fprintf(stderr, "bench_p4rt: %zu entries of %zu came back\n", got, count);
	return -1;
}

static int measure(const struct bench *b, const struct mode *mode, struct loop *loop, struct measured *m)
{
	struct p4rt_updates updates = { 0 };
	struct p4rt_write write = { .updates = &updates,
				    .count = mode->count,
				    .window = mode->window,
				    .batch = mode->batch,
				    .records = b->records };
	struct side side = { 0 };
	size_t failed = 0;
	struct err err = { 0 };
	int rc = side_start(b, loop, &side);

	if (rc == 0) {
		double own = cpu_ns(getpid()), theirs = cpu_ns(side.child.pid);
		int64_t start = loop_now_ns();

		rc = add_routes(b, &updates, mode->count);
		if (rc == 0)
			rc = p4rt_write(side.client, &write, INT64_C(60000000000), &failed, &err);
		m->per_s = (double)mode->count * 1e9 / (double)(loop_now_ns() - start);
		m->client_us = (cpu_ns(getpid()) - own) / 1e3 / (double)mode->count;
		m->server_us = (cpu_ns(side.child.pid) - theirs) / 1e3 / (double)mode->count;
		if (rc < 0 || failed) {
			fprintf(stderr, "bench_p4rt: %zu failed %s\n", failed, err.message);
			rc = -1;
		}
	}
	if (rc == 0)
		rc = read_back(&side, b, mode->count, &m->read_s);
	side_stop(&side);
	p4rt_updates_release(&updates);
	return rc;
}

static int measure_mode(const struct bench *b, const struct mode *mode, struct loop *loop)
{
	double per_s[REPEATS], client_us[REPEATS], server_us[REPEATS], read_s[REPEATS];
	char name[64], how[160];

	for (int i = 0; i < REPEATS; i++) {
		struct measured m = { 0 };

		if (measure(b, mode, loop, &m) < 0)
			return -1;
		per_s[i] = m.per_s;
		client_us[i] = m.client_us;
		server_us[i] = m.server_us;
		read_s[i] = m.read_s;
	}
	snprintf(how, sizeof(how), "median; %zu LPM inserts, window %u, batch %u; baseline: prototype, toy table",
		 mode->count, mode->window, mode->batch);
	snprintf(name, sizeof(name), "p4rt_%s_per_s", mode->name);
	say_beside(name, median(per_s, REPEATS), "1/s", mode->baseline, REPEATS, how);
	if (b->is_tare && mode->of_switch)
		say_beside(mode->of_switch, median(per_s, REPEATS), "1/s", mode->baseline, REPEATS, how);
	snprintf(name, sizeof(name), "p4rt_%s_client_us", mode->name);
	say(name, median(client_us, REPEATS), "us", REPEATS, "CPU time of the client for each insert");
	snprintf(name, sizeof(name), "p4rt_%s_server_us", mode->name);
	say(name, median(server_us, REPEATS), "us", REPEATS, "CPU time of the switch for each insert");
	if (mode->batch > 1)
		say("p4rt_read100k_s", median(read_s, REPEATS), "s", REPEATS,
		    "wildcard read of 100,000 entries, decoded");
	return 0;
}

/* --- eight at once --- */

static void side_done(void *user, size_t failed, const char *message)
{
	struct side *side = user;

	(void)message;
	side->done = true;
	side->failed = failed;
}

static double servers_cpu_ns(const struct side *sides)
{
	double sum = 0;

	for (size_t i = 0; i < SWITCHES; i++)
		sum += cpu_ns(sides[i].child.pid);
	return sum;
}

/* `updates`: as long as the sides. */
static int write_sides(const struct bench *b, struct side *sides, struct p4rt_updates *updates, uint32_t window,
		       struct loop *loop, struct measured *m)
{
	double own = cpu_ns(getpid()), theirs = servers_cpu_ns(sides);
	int64_t start;
	size_t done = 0, failed = 0;
	int rc = add_routes(b, updates, EACH);

	start = loop_now_ns();
	for (size_t i = 0; rc == 0 && i < SWITCHES; i++) {
		struct p4rt_write write = { .updates = updates,
					    .count = EACH,
					    .window = window,
					    .records = b->records + i * EACH,
					    .done = side_done,
					    .user = &sides[i] };

		rc = p4rt_client_write(sides[i].client, &write);
	}
	while (rc == 0 && done < SWITCHES && (rc = loop_turn(loop, -1)) == 0) {
		done = failed = 0;
		for (size_t i = 0; i < SWITCHES; i++) {
			done += sides[i].done;
			failed += sides[i].failed;
		}
	}
	m->wall_s = (double)(loop_now_ns() - start) / 1e9;
	m->client_us = (cpu_ns(getpid()) - own) / 1e3 / (SWITCHES * EACH);
	m->server_us = (servers_cpu_ns(sides) - theirs) / 1e3 / (SWITCHES * EACH);
	if (rc == 0 && failed == 0)
		return 0;
	fprintf(stderr, "bench_p4rt: %d switches: %zu of them done, %zu operations failed\n", SWITCHES, done, failed);
	return -1;
}

/* `name`: what the time is called; `cpu`: say CPU times too. */
static int measure_sides(const struct bench *b, struct loop *loop, uint32_t window, const char *name, bool cpu)
{
	double seconds[REPEATS], client_us[REPEATS], server_us[REPEATS];
	char how[128];

	for (int r = 0; r < REPEATS; r++) {
		struct p4rt_updates updates = { 0 };
		struct side sides[SWITCHES] = { 0 };
		struct measured m = { 0 };
		int rc = 0;

		for (size_t i = 0; rc == 0 && i < SWITCHES; i++)
			rc = side_start(b, loop, &sides[i]);
		if (rc == 0)
			rc = write_sides(b, sides, &updates, window, loop, &m);
		seconds[r] = m.wall_s;
		client_us[r] = m.client_us;
		server_us[r] = m.server_us;
		for (size_t i = 0; i < SWITCHES; i++)
			side_stop(&sides[i]);
		p4rt_updates_release(&updates);
		if (rc < 0)
			return rc;
	}
	snprintf(how, sizeof(how),
		 "8 switches, 1000 LPM inserts each, %u in flight a switch, first byte to last answer", window);
	say(name, median(seconds, REPEATS), "s", REPEATS, how);
	if (!cpu)
		return 0;
	say("p4rt_8x1000_client_us", median(client_us, REPEATS), "us", REPEATS,
	    "CPU time of the client for each of these");
	say("p4rt_8x1000_server_us", median(server_us, REPEATS), "us", REPEATS,
	    "CPU time of its switch for each of these");
	return 0;
}

/* --- the baseline --- */

static bool is_there(const char *path)
{
	return path && (!strchr(path, '/') || access(path, X_OK) == 0);
}

/* Seconds and CPU seconds of COUNT inserts into each switch; 77: this Python lacks the modules. */
static int python_run(const char *python, const char *mode, const struct side *sides, size_t switches, double *ret_s,
		      double *ret_cpu_s)
{
	char command[1024];
	size_t n = (size_t)snprintf(command, sizeof(command),
				    "'%s' " PYTHON_CLIENT " %s %d " PROGRAMS "/l3_lpm.json " PROGRAMS
				    "/l3_lpm.p4info.txtpb 2>/dev/null",
				    python, mode, EACH);
	FILE *pipe;
	int got;

	for (size_t i = 0; i < switches; i++)
		n += (size_t)snprintf(command + n, sizeof(command) - n, " %s", sides[i].child.address);
	pipe = popen(command, "r");
	got = pipe ? fscanf(pipe, "%lf %lf", ret_s, ret_cpu_s) : 0;
	n = pipe ? (size_t)WEXITSTATUS(pclose(pipe)) : 1;
	return n == 77 ? 77 : got == 2 && n == 0 ? 0 : -1;
}

static int python_measure(const struct bench *b, const char *python, const char *mode, size_t switches, double *ret_s,
			  double *ret_cpu_s)
{
	struct side sides[SWITCHES] = { 0 };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < switches; i++)
		rc = switch_child_start(&sides[i].child, b->path) ? 0 : -1;
	if (rc == 0)
		rc = python_run(python, mode, sides, switches, ret_s, ret_cpu_s);
	for (size_t i = 0; i < switches; i++)
		side_stop(&sides[i]);
	return rc;
}

static void measure_python(const struct bench *b)
{
	const char *const pythons[] = { getenv("PEER_PYTHON"), PEERS "/p4runtime-shell/bin/python",
					PEERS "/p4net/bin/python", "python3" };
	double one_s[REPEATS], one_cpu_s[REPEATS], all_s[REPEATS], all_cpu_s[REPEATS];
	size_t p = 0;
	int rc = 77;

	for (; rc == 77 && p < sizeof(pythons) / sizeof(pythons[0]); p++)
		if (is_there(pythons[p]))
			rc = python_measure(b, pythons[p], "sync", 1, one_s, one_cpu_s);
	for (int r = 0; rc == 0 && r < REPEATS; r++) {
		rc = python_measure(b, pythons[p - 1], "sync", 1, &one_s[r], &one_cpu_s[r]);
		if (rc == 0)
			rc = python_measure(b, pythons[p - 1], "async", SWITCHES, &all_s[r], &all_cpu_s[r]);
	}
	if (rc != 0) {
		fprintf(stderr, "bench_p4rt: no baseline of Python: %s\n",
			rc == 77 ? "no Python here has grpcio and P4Runtime's modules (PEER_PYTHON names one that has)"
				 : "its client failed");
		return;
	}
	say("p4rt_python_sync_per_s", EACH / median(one_s, REPEATS), "1/s", REPEATS,
	    "grpcio from Python, one in flight, 1000 LPM inserts");
	say("p4rt_python_client_us", median(one_cpu_s, REPEATS) * 1e6 / EACH, "us", REPEATS,
	    "CPU time of that client for each insert");
	say("p4rt_python_8x1000_s", median(all_s, REPEATS), "s", REPEATS,
	    "grpc.aio from Python, 8 switches at once, 1000 LPM inserts each, one in flight a switch");
}

/* The encoder alone. */
static int measure_encoder(const struct bench *b)
{
	double ns[REPEATS];

	for (int r = 0; r < REPEATS; r++) {
		struct p4rt_updates updates = { 0 };
		int64_t start;

		if (add_routes(b, &updates, MOST) < 0)
			return -1;
		p4rt_updates_clear(&updates);
		start = loop_now_ns();
		if (add_routes(b, &updates, MOST) < 0)
			return -1;
		ns[r] = (double)(loop_now_ns() - start) / MOST;
		p4rt_updates_release(&updates);
	}
	say("p4rt_encode_ns", median(ns, REPEATS), "ns", REPEATS,
	    "one LPM insert from numbers to p4.v1.Update, memory warm");
	return 0;
}

static int load(struct bench *b)
{
	struct err err = { 0 };
	FILE *file;

	if (p4info_read(PROGRAMS "/l3_lpm.p4info.txtpb", &b->info, &err) < 0)
		return fail("p4info", &err);
	b->json = malloc(4 << 20);
	b->records = calloc(MOST, sizeof(*b->records));
	file = fopen(PROGRAMS "/l3_lpm.json", "r");
	if (file && b->json)
		b->json_bytes = fread(b->json, 1, 4 << 20, file);
	if (file)
		fclose(file);
	if (b->json_bytes && b->records)
		return 0;
	fputs("bench_p4rt: " PROGRAMS "/l3_lpm.json: cannot be read\n", stderr);
	return -1;
}

static int measure_all(const struct bench *b, struct loop *loop)
{
	int rc;

	loop_set_spin(loop, 50000); /* measures the work of both ends, not how this host wakes a core */
	rc = measure_encoder(b);
	for (size_t i = 0; rc == 0 && b->path[0] && i < sizeof(modes) / sizeof(modes[0]); i++)
		rc = measure_mode(b, &modes[i], loop);
	if (rc == 0 && b->path[0]) /* as `mode: async` of a plan does */
		rc = measure_sides(b, loop, 1, "p4rt_8x1000_s", true);
	if (rc == 0 && b->path[0])
		rc = measure_sides(b, loop, 8, "p4rt_8x1000_window8_s", false);
	if (rc == 0 && b->path[0])
		measure_python(b);
	if (!b->path[0])
		fputs("bench_p4rt: no tare-switch in this build: the encoder only\n", stderr);
	return rc;
}

int main(int argc, char **argv)
{
	struct bench b = { .path = argc > 1 ? argv[1] : TARE_SWITCH, .is_tare = argc < 2 };
	struct loop *loop = NULL;
	struct err err = { 0 };
	int rc = load(&b);

	if (rc == 0 && (rc = loop_create(&loop, &err)) < 0)
		fail("loop", &err);
	if (rc == 0)
		rc = measure_all(&b, loop);
	loop_destroy(loop);
	p4info_destroy(b.info);
	free(b.json);
	free(b.records);
	return rc < 0;
}
