/* SPDX-License-Identifier: Apache-2.0 */
#include "target/bmv2_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "grpc/status.h"

enum {
	ARGS_MOST = 32,
	REGISTERS_MOST = 16,
	STOP_MS = 2000,
	TRY_MS = 500,    /* one attempt to reach a switch that starts */
	HANGS_MS = 2000, /* a switch that nothing comes through answers by then, or hangs */
};

#define PROGRAM_NS INT64_C(30000000000)

/* --- texts --- */

int bmv2_args_of(const char *args, uint32_t number, uint32_t count, struct arena *arena, char **ret, struct err *err)
{
	const char *from = args;
	uint32_t parts = 1;

	for (const char *at = args; *at; at++)
		parts += *at == '|';
	if (parts != 1 && parts != count)
		return err_set(err, ERR_USAGE, EINVAL,
			       "args: %" PRIu32 " parts between '|' for %" PRIu32
			       " switches; expected one for each, or no '|'",
			       parts, count);
	for (uint32_t i = 1; parts > 1 && i < number; i++)
		from = strchr(from, '|') + 1;
	*ret = arena_printf(arena, "%.*s", (int)strcspn(from, "|"), from);
	return *ret ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

static const char *line_for(const char *line, bool first, bool last)
{
	static const char at_first[] = "@first ", at_last[] = "@last ";

	if (strncmp(line, at_first, strlen(at_first)) == 0)
		return first ? line + strlen(at_first) : NULL;
	if (strncmp(line, at_last, strlen(at_last)) == 0)
		return last ? line + strlen(at_last) : NULL;
	return line;
}

char *bmv2_entries_of(const char *text, uint32_t number, uint32_t count, struct arena *arena)
{
	static const char mark[] = "$switch";
	size_t room = strlen(text) + 1, used = 0;
	char *out = arena_alloc(arena, room); /* a number of one digit is shorter than its mark */

	while (out && *text) {
		const char *end = text + strcspn(text, "\n");
		const char *at = line_for(text, number == 1, number == count);

		while (at && at < end) {
			if (strncmp(at, mark, strlen(mark)) == 0) {
				used += (size_t)snprintf(out + used, room - used, "%" PRIu32, number);
				at += strlen(mark);
			} else {
				out[used++] = *at++;
			}
		}
		if (*end)
			out[used++] = '\n';
		text = *end ? end + 1 : end;
	}
	if (out)
		out[used] = '\0';
	return out;
}

int bmv2_understand(const struct v1model_program *program, uint32_t number, uint32_t count, struct arena *arena,
		    struct p4info **ret_info, struct p4rt_entries **ret_entries, struct err *err)
{
	const char *text = bmv2_entries_of(program->entries.text, number, count, arena);
	int rc;

	if (!text)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	rc = p4info_parse(program->p4info.text, program->p4info.length_bytes, program->p4info.where, ret_info, err);
	if (rc < 0)
		return rc;
	rc = p4rt_entries_parse(*ret_info, text, strlen(text), program->entries.where, ret_entries, err);
	if (rc < 0) {
		p4info_destroy(*ret_info);
		*ret_info = NULL;
	}
	return rc;
}

/* --- where they may run --- */

/* False: nowhere in particular. `left` by who sends; switches that would share CPUs are not confined to them. */
static bool places(const struct settings *s, const cpu_set_t *left, cpu_set_t *ret)
{
	const char *text = settings_text(s, "cpus");

	if (strcmp(text, "any") == 0)
		return false;
	if (strcmp(text, "auto") != 0)
		return cpus_parse("cpus", text, ret, NULL) == 0;
	if (!left || CPU_COUNT(left) < settings_number(s, "hops"))
		return false;
	*ret = *left;
	return true;
}

int bmv2_cpus_check(const struct settings *settings, struct err *err)
{
	const char *text = settings_text(settings, "cpus");
	cpu_set_t cpus;

	if (strcmp(text, "auto") == 0 || strcmp(text, "any") == 0)
		return 0;
	return cpus_parse("cpus", text, &cpus, err);
}

int bmv2_cpus_check_host(const struct settings *settings, struct err *err)
{
	cpu_set_t asked, allowed, both;
	char text[CPUS_TEXT_BYTES];
	int rc;

	if (!places(settings, NULL, &asked))
		return 0;
	rc = cpus_allowed(&allowed, err);
	CPU_AND(&both, &asked, &allowed);
	if (rc < 0 || CPU_EQUAL(&both, &asked))
		return rc;
	return err_set(err, ERR_HOST, ENODEV, "cpus: %s: this process may use %s", settings_text(settings, "cpus"),
		       cpus_text(&allowed, text, sizeof(text)));
}

/* --- starting --- */

static bool tells_its_clock(const struct switch_binary *binary)
{
	return strncmp(binary->version, "tare-switch", strlen("tare-switch")) == 0;
}

static int clock_file(struct bmv2_switch *s, struct err *err)
{
	int fd;

	snprintf(s->clock_path, sizeof(s->clock_path), "/tmp/tare-clock-XXXXXX");
	fd = mkstemp(s->clock_path);
	if (fd < 0) {
		s->clock_path[0] = '\0';
		return err_set(err, ERR_HOST, errno, "/tmp: %s", strerror(errno));
	}
	close(fd);
	return 0;
}

static int start(struct bmv2_line *line, struct bmv2_switch *s, const struct settings *settings, const cpu_set_t *cpus,
		 struct arena *arena, struct err *err)
{
	static const char *const fixed[] = { "--no-p4", "--device-id", "1", "-i", "1@p1", "-i", "2@p2", "--log-level" };
	const char *argv[ARGS_MOST + 20] = { line->binary->path }, *args = settings_text(settings, "args");
	const struct setting *log = setting_find(settings->table, "log");
	char name[32], *own;
	struct timespec now;
	size_t n = 1;
	int rc;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		argv[n++] = fixed[i];
	argv[n++] = log->choices[settings_number(settings, "log")];
	if (args) {
		rc = bmv2_args_of(args, s->number, line->lab->switch_count, arena, &own, err);
		if (rc < 0)
			return rc;
		rc = words_split(own, argv + n, ARGS_MOST);
		if (rc < 0)
			return err_set(err, ERR_USAGE, -rc, "args: more than %d words", ARGS_MOST);
		n += (size_t)rc;
	}
	if (tells_its_clock(line->binary)) {
		rc = clock_file(s, err);
		if (rc < 0)
			return rc;
		argv[n++] = "--clock-record";
		argv[n++] = s->clock_path;
	}
	argv[n++] = "--";
	argv[n++] = "--grpc-server-addr";
	argv[n++] = BMV2_ADDRESS;
	argv[n] = NULL;
	snprintf(name, sizeof(name), line->lab->switch_count > 1 ? "switch %" PRIu32 : "switch", s->number);
	clock_gettime(CLOCK_REALTIME, &now);
	line->told[s->number - 1].started_utc_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	return process_start(
		&(struct process_options){
			.name = name, .argv = argv, .netns = &s->lab->netns, .label = line->lab->label, .cpus = cpus },
		&s->lab->process, err);
}

struct waiting {
	struct loop *loop;
	struct bmv2_switch *s;
};

/* Does P4Runtime answer, and are we its primary? */
static int answers(void *context, struct err *err)
{
	const struct waiting *w = context;
	const struct p4rt_client_config config = {
		.address = BMV2_ADDRESS,
		.device_id = BMV2_DEVICE_ID,
		.election_low = 1,
		.connect_timeout_ns = TRY_MS * INT64_C(1000000),
	};
	int back, rc = netns_enter(&w->s->lab->netns, &back, err);

	if (rc < 0)
		return rc;
	rc = p4rt_connect(w->loop, &config, TRY_MS * INT64_C(1000000), &w->s->client, NULL);
	netns_leave(back);
	return rc == 0;
}

/* --- programming --- */

/*
 * BMv2 does not write registers by P4Runtime. One that cannot be written keeps its zero, and that is told with the
 * restart; any other refusal is an error.
 */
static int program_registers(struct bmv2_switch *s, struct p4rt_entries *registers, struct err *err)
{
	struct p4rt_record records[REGISTERS_MOST] = { 0 };
	struct p4rt_updates updates = { 0 };
	const struct p4rt_write write = { .updates = &updates, .count = registers->count, .records = records };
	int rc;

	if (registers->count == 0)
		return 0;
	if (registers->count > REGISTERS_MOST)
		return err_set(err, ERR_USAGE, E2BIG, "%zu registers to write; at most %d are expected",
			       registers->count, REGISTERS_MOST);
	rc = p4rt_entries_encode(registers, &updates) < 0 ? err_set(err, ERR_HOST, ENOMEM, "out of memory")
							  : p4rt_write(s->client, &write, PROGRAM_NS, NULL, err);
	p4rt_updates_release(&updates);
	for (size_t i = 0; rc == 0 && i < registers->count; i++) {
		if (records[i].status == GRPC_UNIMPLEMENTED)
			s->registers_unwritten = true;
		else if (records[i].status != GRPC_OK)
			rc = err_set(err, ERR_RESULT, EPROTO, "line %u: the switch does not write the register: %s",
				     registers->items[i].line, grpc_status_name(records[i].status));
	}
	return rc;
}

/* Registers to the end of the list, the rest in their order. Returns how many are no registers. */
static size_t registers_last(struct p4rt_entries *entries, struct p4rt_update *scratch)
{
	size_t n = 0, registers = 0;

	for (size_t i = 0; i < entries->count; i++)
		if (entries->items[i].kind == P4RT_UPDATE_REGISTER)
			scratch[registers++] = entries->items[i];
		else
			entries->items[n++] = entries->items[i];
	memcpy(entries->items + n, scratch, registers * sizeof(*scratch));
	return n;
}

static int program_entries(struct bmv2_switch *s, const struct p4rt_entries *entries, struct err *err)
{
	struct p4rt_update *scratch = malloc((entries->count + 1) * sizeof(*scratch));
	struct p4rt_entries first = *entries, rest = *entries;
	int rc;

	if (!scratch)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	first.count = registers_last(&first, scratch);
	free(scratch);
	rest.items += first.count;
	rest.count -= first.count;
	rc = first.count ? p4rt_program(s->client, &first, PROGRAM_NS, err) : 0;
	return rc < 0 ? rc : program_registers(s, &rest, err);
}

static int program(struct bmv2_line *line, struct bmv2_switch *s, struct arena *arena, struct err *err)
{
	const struct v1model_program *p = line->program;
	struct p4rt_entries *entries = NULL;
	struct p4info *info = NULL;
	int rc = bmv2_understand(p, s->number, line->lab->switch_count, arena, &info, &entries, err);

	if (rc == 0)
		rc = p4rt_set_pipeline(s->client, info, p->json.text, p->json.length_bytes, PROGRAM_NS, err);
	if (rc == 0) {
		TARE_ASSERT(entries);
		rc = program_entries(s, entries, err);
	}
	if (rc < 0 && err)
		err_wrap(err, "program %s", p->name);
	p4rt_entries_destroy(entries);
	p4info_destroy(info);
	return rc;
}

/* --- the line --- */

static int watch_ends(struct bmv2_line *line, struct err *err)
{
	line->ended_fd = epoll_create1(EPOLL_CLOEXEC);
	for (uint32_t i = 0; line->ended_fd >= 0 && i < line->lab->switch_count; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		if (epoll_ctl(line->ended_fd, EPOLL_CTL_ADD, process_fd(line->lab->switches[i].process), &event) < 0)
			return err_set(err, ERR_HOST, errno, "cannot watch switch %" PRIu32 ": %s", i + 1,
				       strerror(errno));
	}
	return line->ended_fd < 0 ? err_set(err, ERR_HOST, errno, "epoll: %s", strerror(errno)) : 0;
}

/* It answers, so it has told its clock. */
static int hear_clock(struct bmv2_line *line, struct bmv2_switch *s, struct err *err)
{
	struct target_switch *told = &line->told[s->number - 1];
	int rc;

	told->pid = process_pid(s->lab->process);
	if (!s->clock_path[0])
		return 0;
	rc = told_clock_read(s->clock_path, &s->clock, err);
	s->clock_told = rc == 0;
	told->clock = s->clock_told ? &s->clock : NULL;
	return rc;
}

int bmv2_line_start(struct bmv2_line *line, const struct target_setup *setup, struct arena *arena, struct err *err)
{
	int64_t limit_ms = settings_number(setup->settings, "start_limit") / 1000000;
	uint32_t count = line->lab->switch_count;
	cpu_set_t cpus;
	bool confined = places(setup->settings, setup->cpus, &cpus);
	int rc = 0;

	line->ended_fd = -1;
	if (confined)
		cpus_text(&cpus, line->cpu_words, sizeof(line->cpu_words));
	else
		snprintf(line->cpu_words, sizeof(line->cpu_words), "any");
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		line->switches[i].number = i + 1;
		line->switches[i].lab = &line->lab->switches[i];
		rc = start(line, &line->switches[i], setup->settings, confined ? &cpus : NULL, arena, err);
	}
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		struct waiting w = { line->loop, &line->switches[i] };

		rc = process_wait_ready(w.s->lab->process, answers, &w, limit_ms, err);
		if (rc == 0)
			rc = hear_clock(line, w.s, err);
		if (rc == 0)
			rc = program(line, w.s, arena, err);
		if (rc < 0 && err && count > 1 && !strstr(err->message, "switch"))
			err_wrap(err, "switch %" PRIu32, i + 1);
	}
	/* Nothing is to be asked any more, and a connection would wake threads of the switch. */
	for (uint32_t i = 0; i < count; i++) {
		p4rt_client_destroy(line->switches[i].client);
		line->switches[i].client = NULL;
	}
	return rc < 0 ? rc : watch_ends(line, err);
}

int bmv2_line_check(struct bmv2_line *line, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < line->lab->switch_count; i++)
		rc = process_check(line->lab->switches[i].process, err);
	return rc < 0 ? rc : lab_line_check(line->lab, err);
}

static int check_answers(struct bmv2_line *line, struct bmv2_switch *s, struct err *err)
{
	struct waiting w = { line->loop, s };
	int rc = process_wait_ready(s->lab->process, answers, &w, HANGS_MS, err);

	p4rt_client_destroy(s->client);
	s->client = NULL;
	return rc;
}

int bmv2_line_check_answers(struct bmv2_line *line, struct err *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < line->lab->switch_count; i++)
		rc = check_answers(line, &line->switches[i], err);
	return rc;
}

void bmv2_line_release(struct bmv2_line *line)
{
	if (!line->lab)
		return;
	if (line->ended_fd > 0)
		close(line->ended_fd);
	line->ended_fd = -1;
	/* all of them end at the same time */
	for (uint32_t i = 0; i < line->lab->switch_count; i++)
		process_ask_to_end(line->lab->switches[i].process);
	for (uint32_t i = 0; i < line->lab->switch_count; i++) {
		struct bmv2_switch *s = &line->switches[i];

		p4rt_client_destroy(s->client);
		process_stop(line->lab->switches[i].process, STOP_MS);
		line->lab->switches[i].process = NULL;
		if (s->clock_path[0])
			unlink(s->clock_path);
		*s = (struct bmv2_switch){ 0 };
	}
}
