/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "stf_bed.h"
#include "stf_table.h"
#include "stf_text.h"

/*
 * stf PROGRAM.json FILE.stf: packet tests of a v1model program, in the form of
 * the P4 compiler's own (so that those run here too), in a switch without I/O.
 * A line a command, names as in the program or any unambiguous end of them:
 *
 *   add TABLE [PRIORITY] KEY:VALUE... ACTION(PARAM:VALUE, ...)   larger priorities win
 *   setdefault TABLE ACTION(...)
 *   packet PORT HEX                    expect PORT [HEX]     '*' any digit; a last '$': the packet ends here
 *   mc_mgrp_create GROUP               mc_node_create INSTANCE PORT...    nodes count from 0
 *   mc_node_associate GROUP NODE
 *   mirroring_add SESSION PORT         mirroring_add_mc SESSION GROUP
 *   register_write ARRAY INDEX VALUE   register_reset ARRAY
 *   counter_write ARRAY INDEX PACKETS BYTES
 *   meter_set_rates ARRAY INDEX RATE:BURST RATE:BURST    per µs, committed first
 *   meter_array_set_rates ARRAY RATE:BURST RATE:BURST
 *   check_counter ARRAY(INDEX) [packets|bytes ==|!=|<|<=|>|>= NUMBER]
 *   wait
 *
 * and of our own: values "1..5" (range) and "1&&&3"; "@1" and "@*1" for an action
 * (member, group);
 *
 *   member PROFILE ID ACTION(...)      group PROFILE ID MEMBER...
 *   value_set NAME VALUE...            check_register ARRAY(INDEX) == VALUE
 *   mirroring_truncate SESSION BYTES   wait MICROSECONDS
 *   expect_digest NAME VALUE...        expect_log TEXT
 *
 * --print: instead of checking, a line "PORT HEX" for each frame that came out, port by port.
 * Status 0: all packets came as expected, 1: not, 2: the file or the program is wrong.
 */

enum { GROUPS = 64, NODES = 64, SESSIONS = 64, REPLICAS = 32, SECOND_US = 1000000 };

struct replication {
	struct {
		uint32_t instance, ports[REPLICAS], count;
	} nodes[NODES];
	uint32_t node_count;
	struct {
		uint32_t id, nodes[NODES], count;
	} groups[GROUPS];
	uint32_t group_count;
	struct {
		uint32_t id, port, group, length_bytes;
	} sessions[SESSIONS]; /* port NOWHERE: the group */
	uint32_t session_count;
};

struct stf {
	struct bed bed;
	struct replication replication;
	unsigned wrong;
};

static void must(const struct line *line, int rc, const struct err *err)
{
	if (rc < 0)
		line_bad(line, "%s", err->message);
}

/* --- replication: gathered as the lines say it, put into the switch after each of them --- */

static uint32_t gather(const struct replication *r, uint32_t group, struct replica *ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->groups[group].count; i++) {
		uint32_t node = r->groups[group].nodes[i];

		for (uint32_t k = 0; k < r->nodes[node].count; k++)
			ret[n++] = (struct replica){ r->nodes[node].ports[k], r->nodes[node].instance };
	}
	return n;
}

static void put_groups(struct stf *stf, const struct line *line)
{
	static struct replica replicas[NODES * REPLICAS];
	const struct replication *r = &stf->replication;
	struct err err;

	for (uint32_t i = 0; i < r->group_count; i++) {
		uint32_t count = gather(r, i, replicas);
		int rc = multicast_insert(stf->bed.state, r->groups[i].id, replicas, count, &err);

		if (rc == -EEXIST)
			rc = multicast_modify(stf->bed.state, r->groups[i].id, replicas, count, &err);
		must(line, rc, &err);
	}
}

static void put_sessions(struct stf *stf, const struct line *line)
{
	static uint64_t space[1 + NODES * REPLICAS]; /* a replica is as large */
	struct replicas *to = (struct replicas *)space;
	const struct replication *r = &stf->replication;
	struct err err;

	for (uint32_t i = 0; i < r->session_count; i++) {
		struct clone_session session = { .replicas = to, .length_bytes = r->sessions[i].length_bytes };
		int rc;

		to->count = 0;
		if (r->sessions[i].port != NOWHERE) {
			to->count = 1;
			to->items[0] = (struct replica){ r->sessions[i].port, 0 };
		}
		for (uint32_t k = 0; r->sessions[i].port == NOWHERE && k < r->group_count; k++)
			if (r->groups[k].id == r->sessions[i].group)
				to->count = gather(r, k, to->items);
		rc = clone_insert(stf->bed.state, r->sessions[i].id, &session, &err);
		if (rc == -EEXIST)
			rc = clone_modify(stf->bed.state, r->sessions[i].id, &session, &err);
		must(line, rc, &err);
	}
}

static void put_replication(struct stf *stf, const struct line *line)
{
	put_groups(stf, line);
	put_sessions(stf, line);
}

static void mc_mgrp_create(struct stf *stf, struct line *line)
{
	struct replication *r = &stf->replication;

	if (r->group_count == GROUPS)
		line_bad(line, "over %d groups", GROUPS);
	r->groups[r->group_count++].id = line_uint(line);
	put_replication(stf, line);
}

static void mc_node_create(struct stf *stf, struct line *line)
{
	struct replication *r = &stf->replication;
	uint32_t node = r->node_count++;

	if (node == NODES)
		line_bad(line, "over %d nodes", NODES);
	r->nodes[node].instance = line_uint(line);
	while (!line_ends(line) && r->nodes[node].count < REPLICAS)
		r->nodes[node].ports[r->nodes[node].count++] = line_uint(line);
}

static void mc_node_associate(struct stf *stf, struct line *line)
{
	struct replication *r = &stf->replication;
	uint32_t id = line_uint(line), node = line_uint(line);

	for (uint32_t i = 0; i < r->group_count; i++)
		if (r->groups[i].id == id && node < r->node_count && r->groups[i].count < NODES) {
			r->groups[i].nodes[r->groups[i].count++] = node;
			put_replication(stf, line);
			return;
		}
	line_bad(line, "there is no such group, or node");
}

static void add_session(struct stf *stf, struct line *line, bool to_group)
{
	struct replication *r = &stf->replication;
	uint32_t session = r->session_count++;

	if (session == SESSIONS)
		line_bad(line, "over %d sessions", SESSIONS);
	r->sessions[session].id = line_uint(line);
	r->sessions[session].port = NOWHERE;
	if (to_group)
		r->sessions[session].group = line_uint(line);
	else
		r->sessions[session].port = line_uint(line);
	put_replication(stf, line);
}

static void mirroring_add(struct stf *stf, struct line *line)
{
	add_session(stf, line, false);
}

static void mirroring_add_mc(struct stf *stf, struct line *line)
{
	add_session(stf, line, true);
}

static void mirroring_truncate(struct stf *stf, struct line *line)
{
	struct replication *r = &stf->replication;
	uint32_t id = line_uint(line), length = line_uint(line);

	for (uint32_t i = 0; i < r->session_count; i++)
		if (r->sessions[i].id == id)
			r->sessions[i].length_bytes = length;
	put_replication(stf, line);
}

/* --- arrays --- */

static const char *register_name(const struct program *p, uint32_t i)
{
	return p->registers[i].name;
}

static const char *counter_name(const struct program *p, uint32_t i)
{
	return p->counters[i].name;
}

static const char *meter_name(const struct program *p, uint32_t i)
{
	return p->meters[i].name;
}

static uint32_t read_array(struct stf *stf, struct line *line, const char *what, name_of *get, uint32_t count)
{
	char name[STF_NAME];

	line_name(line, name);
	return find_by_end(&stf->bed, line, what, name, get, count);
}

static uint32_t read_register(struct stf *stf, struct line *line)
{
	return read_array(stf, line, "register", register_name, stf->bed.program->register_count);
}

static void write_register(struct stf *stf, struct line *line)
{
	uint32_t array = read_register(stf, line), index = line_uint(line);
	struct number n;

	line_number(line, &n);
	if (!register_write(stf->bed.state, array, index, n.value))
		line_bad(line, "the register has no such cell");
}

static void reset_register(struct stf *stf, struct line *line)
{
	uint32_t array = read_register(stf, line);
	uint64_t zero[STF_WORDS] = { 0 };

	for (uint64_t i = 0; i < stf->bed.program->registers[array].size; i++)
		register_write(stf->bed.state, array, i, zero);
}

static void check_register(struct stf *stf, struct line *line)
{
	uint32_t array = read_register(stf, line), index;
	uint64_t value[STF_WORDS] = { 0 };
	struct number n;

	line_expect(line, '(');
	index = line_uint(line);
	line_expect(line, ')');
	line_expect(line, '=');
	line_expect(line, '=');
	line_number(line, &n);
	if (!register_read(stf->bed.state, array, index, value))
		line_bad(line, "the register has no such cell");
	if (memcmp(value, n.value, sizeof(value)) == 0)
		return;
	fprintf(stderr, "%s:%u: the register's cell is 0x%llx\n", line->file, line->number,
		(unsigned long long)value[0]);
	stf->wrong++;
}

static uint32_t read_counter(struct stf *stf, struct line *line)
{
	return read_array(stf, line, "counter", counter_name, stf->bed.program->counter_count);
}

static void write_counter(struct stf *stf, struct line *line)
{
	uint32_t array = read_counter(stf, line), index = line_uint(line);
	struct counts counts = { .packets = line_uint(line) };

	counts.bytes = line_uint(line);
	if (!counter_set(stf->bed.state, array, index, &counts))
		line_bad(line, "the counter has no such cell");
}

static bool compare(struct line *line, uint64_t have, const char *op, uint64_t want)
{
	int order = have < want ? -1 : have > want;

	if (strcmp(op, "==") == 0)
		return order == 0;
	if (strcmp(op, "!=") == 0)
		return order != 0;
	if (strcmp(op, "<=") == 0)
		return order <= 0;
	if (strcmp(op, ">=") == 0)
		return order >= 0;
	if (strcmp(op, "<") == 0)
		return order < 0;
	if (strcmp(op, ">") == 0)
		return order > 0;
	line_bad(line, "a comparison is expected");
}

/* The counts of a direct counter's only entry, or of a cell. */
static void read_counts(struct stf *stf, struct line *line, uint32_t array, uint32_t index, struct counts *ret)
{
	uint32_t table = stf->bed.program->counters[array].table;
	struct entry_cursor cursor = { 0 };
	const struct entry *entry = NULL;

	if (table == NOWHERE) {
		if (!counter_get(stf->bed.state, array, index, ret))
			line_bad(line, "the counter has no such cell");
		return;
	}
	for (uint32_t i = 0; i <= index; i++)
		entry = table_next(stf->bed.state, table, &cursor);
	if (!entry || !entry_counts(entry, ret))
		line_bad(line, "the table has no such entry");
}

static void check_counter(struct stf *stf, struct line *line)
{
	uint32_t array = read_counter(stf, line), index, n = 0;
	char kind[STF_NAME] = "packets", op[3] = "==";
	struct counts counts = { 0 };
	uint64_t want = 0, have;

	line_expect(line, '(');
	index = line_uint(line);
	line_expect(line, ')');
	if (!line_ends(line)) {
		line_name(line, kind);
		line_skip(line);
		while (n < 2 && *line->at && strchr("=!<>", *line->at))
			op[n++] = *line->at++;
		op[n] = '\0';
		want = line_uint(line);
	}
	read_counts(stf, line, array, index, &counts);
	have = strcasecmp(kind, "bytes") == 0 ? counts.bytes : counts.packets;
	if (compare(line, have, op, want))
		return;
	fprintf(stderr, "%s:%u: the counter is %llu\n", line->file, line->number, (unsigned long long)have);
	stf->wrong++;
}

static void read_rates(struct line *line, struct meter_rates *ret)
{
	ret->committed_per_s = (uint64_t)(line_real(line) * SECOND_US + 0.5);
	line_expect(line, ':');
	ret->committed_burst = line_uint(line);
	ret->peak_per_s = (uint64_t)(line_real(line) * SECOND_US + 0.5);
	line_expect(line, ':');
	ret->peak_burst = line_uint(line);
}

static void set_meter(struct stf *stf, struct line *line, bool all)
{
	uint32_t array = read_array(stf, line, "meter", meter_name, stf->bed.program->meter_count);
	uint32_t first = all ? 0 : line_uint(line), end = all ? stf->bed.program->meters[array].size : first + 1;
	struct meter_rates rates;
	struct err err;

	read_rates(line, &rates);
	for (uint32_t i = first; i < end; i++)
		must(line, meter_set(stf->bed.state, array, i, &rates, &err), &err);
}

static void meter_set_rates(struct stf *stf, struct line *line)
{
	set_meter(stf, line, false);
}

static void meter_array_set_rates(struct stf *stf, struct line *line)
{
	set_meter(stf, line, true);
}

/* --- packets --- */

static struct bed_port *read_port(struct stf *stf, struct line *line, uint32_t *ret_port)
{
	*ret_port = line_uint(line);
	if (*ret_port >= V1MODEL_PORTS)
		line_bad(line, "ports go to %d", V1MODEL_PORTS - 1);
	stf->bed.ports[*ret_port].named = true;
	return &stf->bed.ports[*ret_port];
}

static unsigned nibble(char digit)
{
	return (unsigned)(digit <= '9' ? digit - '0' : digit - 'A' + 10);
}

static void packet(struct stf *stf, struct line *line)
{
	static char digits[STF_BYTES * 2];
	uint8_t *bytes;
	uint32_t port, n;

	read_port(stf, line, &port);
	n = (uint32_t)line_digits(line, digits, "") / 2;
	bytes = malloc(n + 1); /* of its own: a read behind its end is found by the tools that look for it */
	for (uint32_t i = 0; bytes && i < n; i++)
		bytes[i] = (uint8_t)(nibble(digits[2 * i]) << 4 | nibble(digits[2 * i + 1]));
	if (bytes)
		bed_packet(&stf->bed, port, bytes, n);
	free(bytes);
}

static void push_text(char **texts[], size_t *count, size_t *capacity, const char *text)
{
	char *copy = strdup(text);

	if (!copy || vec_grow((void **)texts, capacity, *count + 1, sizeof(**texts)) < 0)
		exit(3);
	(*texts)[(*count)++] = copy;
}

static void expect(struct stf *stf, struct line *line)
{
	static char digits[STF_BYTES * 2];
	uint32_t number;
	struct bed_port *port = read_port(stf, line, &number);

	if (line_digits(line, digits, "*$") == 0)
		port->anything = true;
	else
		push_text(&port->expected.items, &port->expected.count, &port->expected.capacity, digits);
}

static void expect_text(struct line *line, char ***texts, size_t *count, size_t *capacity)
{
	char text[1024];

	line_skip(line);
	snprintf(text, sizeof(text), "%s", line->at);
	push_text(texts, count, capacity, text);
}

static void expect_digest(struct stf *stf, struct line *line)
{
	expect_text(line, &stf->bed.digests_expected.items, &stf->bed.digests_expected.count,
		    &stf->bed.digests_expected.capacity);
}

static void expect_log(struct stf *stf, struct line *line)
{
	expect_text(line, &stf->bed.logs_expected.items, &stf->bed.logs_expected.count,
		    &stf->bed.logs_expected.capacity);
}

static void wait_time(struct stf *stf, struct line *line)
{
	stf->bed.now_us += line_ends(line) ? SECOND_US : line_uint(line);
}

static void nothing(struct stf *stf, struct line *line)
{
	(void)stf;
	(void)line;
}

static void add(struct stf *stf, struct line *line)
{
	stf_add(&stf->bed, line);
}

static void setdefault(struct stf *stf, struct line *line)
{
	stf_setdefault(&stf->bed, line);
}

static void member(struct stf *stf, struct line *line)
{
	stf_member(&stf->bed, line);
}

static void group(struct stf *stf, struct line *line)
{
	stf_group(&stf->bed, line);
}

static void value_set(struct stf *stf, struct line *line)
{
	stf_value_set(&stf->bed, line);
}

static const struct {
	const char *name;
	void (*run)(struct stf *stf, struct line *line);
} commands[] = {
	{ "add", add },
	{ "setdefault", setdefault },
	{ "packet", packet },
	{ "expect", expect },
	{ "mc_mgrp_create", mc_mgrp_create },
	{ "mc_node_create", mc_node_create },
	{ "mc_node_associate", mc_node_associate },
	{ "mirroring_add", mirroring_add },
	{ "mirroring_add_mc", mirroring_add_mc },
	{ "mirroring_truncate", mirroring_truncate },
	{ "mirroring_get", nothing },
	{ "register_write", write_register },
	{ "register_reset", reset_register },
	{ "register_read", nothing },
	{ "check_register", check_register },
	{ "counter_write", write_counter },
	{ "counter_read", nothing },
	{ "check_counter", check_counter },
	{ "meter_set_rates", meter_set_rates },
	{ "meter_array_set_rates", meter_array_set_rates },
	{ "meter_get_rates", nothing },
	{ "member", member },
	{ "group", group },
	{ "value_set", value_set },
	{ "expect_digest", expect_digest },
	{ "expect_log", expect_log },
	{ "wait", wait_time },
};

static void run_line(struct stf *stf, struct line *line)
{
	char name[STF_NAME];

	if (line_ends(line))
		return;
	line_name(line, name);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcasecmp(name, commands[i].name) == 0) {
			commands[i].run(stf, line);
			return;
		}
	line_bad(line, "there is no command '%s'", name);
}

int main(int argc, char **argv)
{
	static struct stf stf;
	static char text[STF_BYTES * 4];
	struct line line = { 0 };
	bool print = false;
	FILE *f;

	if (argc == 4 && strcmp(argv[1], "--print") == 0) {
		print = true;
		argv++;
		argc--;
	}
	if (argc != 3) {
		fprintf(stderr, "usage: stf [--print] PROGRAM.json FILE.stf\n");
		return 2;
	}
	f = fopen(argv[2], "r");
	if (!f) {
		perror(argv[2]);
		return 2;
	}
	bed_open(&stf.bed, argv[1]);
	line.file = argv[2];
	while (fgets(text, sizeof(text), f)) {
		line.number++;
		text[strcspn(text, "\r\n")] = '\0';
		line.at = text;
		run_line(&stf, &line);
	}
	fclose(f);
	if (print)
		bed_print(&stf.bed);
	else
		stf.wrong += bed_check(&stf.bed);
	bed_close(&stf.bed);
	return stf.wrong ? 1 : 0;
}
