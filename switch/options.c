/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/quantity.h"
#include "base/settings.h"

enum { PORT_NUMBER_MOST = V1MODEL_PORTS - 1, NAME_BYTES = 15, CLOCK_DRIFT_PPM_MOST = 500000 };

/* One option: what sets it is called with its value, NULL for a flag. */
struct row {
	const char *name;
	char letter;
	const char *value; /* shown in the help; NULL: a flag; in [brackets]: may be left out */
	const char *help;  /* NULL: taken for simple_switch_grpc's sake, and without effect */
	int (*set)(struct options *o, const char *value, struct err *err);
};

static int number(const char *value, uint64_t least, uint64_t most, uint64_t *ret, struct err *err)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(value, &end, 0);
	if (value[0] < '0' || value[0] > '9' || *end || errno || n < least || n > most)
		return err_set(err, ERR_USAGE, EINVAL, "'%s'; a number from %llu to %llu is expected", value,
			       (unsigned long long)least, (unsigned long long)most);
	*ret = n;
	return 0;
}

static int number32(const char *value, uint32_t least, uint32_t most, uint32_t *ret, struct err *err)
{
	uint64_t n = 0;
	int rc = number(value, least, most, &n, err);

	if (rc == 0)
		*ret = (uint32_t)n;
	return rc;
}

/* A time with its unit, in whole µs. */
static int time_us(const char *value, int64_t *ret_us, struct err *err)
{
	bool negative = value[0] == '-';
	int64_t ns = 0;
	int rc = quantity_parse(value + negative, QUANTITY_TIME, &ns, err);

	if (rc == 0 && ns % 1000)
		rc = err_set(err, ERR_USAGE, EINVAL, "'%s'; whole microseconds are expected", value);
	if (rc == 0)
		*ret_us = (negative ? -ns : ns) / 1000;
	return rc;
}

static int time_unsigned_us(const char *value, uint64_t *ret_us, struct err *err)
{
	int64_t us;
	int rc = time_us(value, &us, err);

	if (rc == 0 && us < 0)
		rc = err_set(err, ERR_USAGE, EINVAL, "'%s'; a time of 0 or more is expected", value);
	if (rc == 0)
		*ret_us = (uint64_t)us;
	return rc;
}

static int share(const char *value, uint32_t *ret_ppm, struct err *err)
{
	int64_t ppm;
	int rc = quantity_parse(value, QUANTITY_SHARE, &ppm, err);

	if (rc == 0)
		*ret_ppm = (uint32_t)ppm;
	return rc;
}

static int set_interface(struct options *o, const char *value, struct err *err)
{
	const char *at = strchr(value, '@');
	uint32_t port = 0;
	char digits[16];
	int rc;

	if (!at || (size_t)(at - value) >= sizeof(digits))
		return err_set(err, ERR_USAGE, EINVAL, "'%s'; PORT@INTERFACE is expected, as in 1@eth1", value);
	memcpy(digits, value, (size_t)(at - value));
	digits[at - value] = '\0';
	rc = number32(digits, 0, PORT_NUMBER_MOST, &port, err);
	if (rc < 0)
		return err_wrap(err, "port");
	if (!at[1] || strlen(at + 1) > NAME_BYTES)
		return err_set(err, ERR_USAGE, EINVAL, "'%s'; a name of 1 to %d bytes is expected behind the '@'",
			       value, NAME_BYTES);
	for (uint32_t i = 0; i < o->port_count; i++)
		if (o->ports[i].number == port || strcmp(o->ports[i].interface, at + 1) == 0)
			return err_set(err, ERR_USAGE, EINVAL, "'%s'; there is already %u@%s", value,
				       o->ports[i].number, o->ports[i].interface);
	o->ports[o->port_count++] = (struct plane_port){ port, at + 1 };
	return 0;
}

static int set_device_id(struct options *o, const char *value, struct err *err)
{
	return number(value, 0, UINT64_MAX, &o->device_id, err);
}

static int set_no_p4(struct options *o, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	o->no_p4 = true;
	return 0;
}

static int set_log_console(struct options *o, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	o->log_console = true;
	return 0;
}

static int set_log_file(struct options *o, const char *value, struct err *err)
{
	(void)err;
	o->log_file = value;
	return 0;
}

static int set_log_level(struct options *o, const char *value, struct err *err)
{
	static const struct {
		const char *name;
		enum log_level level;
	} levels[] = { { "trace", LOG_DEBUG }, { "debug", LOG_DEBUG }, { "info", LOG_INFO },
		       { "warn", LOG_WARN },   { "error", LOG_ERROR }, { "off", LOG_ERROR } };

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(value, levels[i].name) == 0) {
			o->log_level = levels[i].level;
			o->log_off = strcmp(value, "off") == 0;
			return 0;
		}
	return err_set(err, ERR_USAGE, EINVAL, "'%s'; trace, debug, info, warn, error or off is expected", value);
}

static int set_pcap(struct options *o, const char *value, struct err *err)
{
	struct stat st;

	o->pcap_directory = value ? value : ".";
	if (stat(o->pcap_directory, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_USAGE, ENOENT, "'%s' is not a directory", o->pcap_directory);
	return 0;
}

static int set_grpc_address(struct options *o, const char *value, struct err *err)
{
	(void)err;
	o->grpc_address = value;
	return 0;
}

static int set_ssl(struct options *o, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	o->grpc_ssl = true;
	return 0;
}

static int set_ca(struct options *o, const char *value, struct err *err)
{
	(void)err;
	o->tls.ca = value;
	return 0;
}

static int set_cert(struct options *o, const char *value, struct err *err)
{
	(void)err;
	o->tls.cert = value;
	return 0;
}

static int set_key(struct options *o, const char *value, struct err *err)
{
	(void)err;
	o->tls.key = value;
	return 0;
}

static int set_client_auth(struct options *o, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	o->grpc_client_auth = true;
	return 0;
}

static int set_cpu_port(struct options *o, const char *value, struct err *err)
{
	return number32(value, 1, PORT_NUMBER_MOST, &o->cpu_port, err);
}

static int set_drop_port(struct options *o, const char *value, struct err *err)
{
	return number32(value, 1, PORT_NUMBER_MOST, &o->drop_port, err);
}

static int set_priorities(struct options *o, const char *value, struct err *err)
{
	return number32(value, 1, V1MODEL_PRIORITIES_MOST, &o->priorities, err);
}

static int set_threads(struct options *o, const char *value, struct err *err)
{
	return number32(value, 1, PLANE_THREADS_MOST, &o->threads, err);
}

static int set_busy_poll(struct options *o, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	o->busy_poll = true;
	return 0;
}

static int set_wall_clock(struct options *o, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	o->wall_clock = true;
	return 0;
}

static int set_delay(struct options *o, const char *value, struct err *err)
{
	return time_unsigned_us(value, &o->truth.hold_us, err);
}

static int set_loss(struct options *o, const char *value, struct err *err)
{
	return share(value, &o->truth.loss_ppm, err);
}

static int set_duplicate(struct options *o, const char *value, struct err *err)
{
	return share(value, &o->truth.duplicate_ppm, err);
}

static int set_answer_early(struct options *o, const char *value, struct err *err)
{
	return time_unsigned_us(value, &o->truth.answer_early_us, err);
}

static int set_clock_offset(struct options *o, const char *value, struct err *err)
{
	return time_us(value, &o->truth.clock_offset_us, err);
}

/* Two values with `separator` between them. */
static int split(const char *value, char separator, const char *form, char *ret_first, size_t size_bytes,
		 const char **ret_second, struct err *err)
{
	const char *at = strchr(value, separator);

	ret_first[0] = '\0';
	*ret_second = "";
	if (!at || (size_t)(at - value) >= size_bytes)
		return err_set(err, ERR_USAGE, EINVAL, "'%s'; %s is expected", value, form);
	memcpy(ret_first, value, (size_t)(at - value));
	ret_first[at - value] = '\0';
	*ret_second = at + 1;
	return 0;
}

static int set_clock_step(struct options *o, const char *value, struct err *err)
{
	const char *when;
	char by[32];
	int rc = split(value, '@', "TIME@TIME, as in 5ms@10s,", by, sizeof(by), &when, err);

	if (rc == 0)
		rc = time_us(by, &o->truth.clock_step_us, err);
	return rc < 0 ? rc : time_unsigned_us(when, &o->truth.clock_step_at_us, err);
}

static int set_clock_drift(struct options *o, const char *value, struct err *err)
{
	bool negative = value[0] == '-';
	uint32_t ppm = 0;
	int rc = number32(value + negative, 0, CLOCK_DRIFT_PPM_MOST, &ppm, err);

	if (rc == 0)
		o->truth.clock_drift_ppm = negative ? -(int32_t)ppm : (int32_t)ppm;
	return rc;
}

static int set_clock_record(struct options *o, const char *value, struct err *err)
{
	(void)err;
	o->clock_record = value;
	return 0;
}

static int set_rate(struct options *o, const char *value, struct err *err)
{
	const char *over;
	char rate[32];
	int rc = split(value, '@', "BITRATE@TIME, as in 20Mbps@50ms,", rate, sizeof(rate), &over, err);

	if (rc == 0)
		rc = quantity_parse(rate, QUANTITY_BITRATE, &o->truth.rate_bps, err);
	return rc < 0 ? rc : quantity_parse(over, QUANTITY_TIME, &o->truth.rate_over_ns, err);
}

static int set_cold_sleep(struct options *o, const char *value, struct err *err)
{
	const char *after;
	char sleep[32];
	int rc = split(value, '@', "TIME@TIME, as in 400us@5ms,", sleep, sizeof(sleep), &after, err);

	if (rc == 0)
		rc = time_unsigned_us(sleep, &o->truth.cold_sleep_us, err);
	return rc < 0 ? rc : time_unsigned_us(after, &o->truth.cold_after_us, err);
}

static const struct row rows[] = {
	{ "interface", 'i', "PORT@INTERFACE", "a port of the switch and its interface; may be given many times",
	  set_interface },
	{ "device-id", 0, "ID", "that P4Runtime clients name (0)", set_device_id },
	{ "no-p4", 0, NULL, "start without a program: a controller sends it", set_no_p4 },
	{ "log-console", 0, NULL, "log to standard output, too", set_log_console },
	{ "log-file", 0, "FILE", "log to a file, too", set_log_file },
	{ "log-level", 'L', "LEVEL", "trace, debug, info, warn, error or off (info)", set_log_level },
	{ "pcap", 0, "[DIRECTORY]", "record frames: INTERFACE_in.pcap and _out.pcap (.)", set_pcap },
	{ "thrift-port", 0, "PORT", NULL, NULL },
	{ "nanolog", 0, "SOCKET", NULL, NULL },
	{ "log-flush", 0, NULL, NULL, NULL },
	{ "log-file-max-size", 0, "BYTES", NULL, NULL },
	{ "log-file-max-files", 0, "COUNT", NULL, NULL },
	{ "dump-packet-data", 0, "BYTES", NULL, NULL },
	{ "notifications-addr", 0, "SOCKET", NULL, NULL },
	{ "max-port-count", 0, "COUNT", NULL, NULL },
	{ "disable-swap", 0, NULL, NULL, NULL },
	{ "enable-swap", 0, NULL, NULL, NULL },
	{ "grpc-server-addr", 0, "ADDRESS", "where P4Runtime is served (127.0.0.1:9559)", set_grpc_address },
	{ "grpc-server-ssl", 0, NULL, "with TLS; needs the two files", set_ssl },
	{ "grpc-server-cert", 0, "FILE", "the server's certificate, PEM", set_cert },
	{ "grpc-server-key", 0, "FILE", "its key, PEM", set_key },
	{ "grpc-server-cacert", 0, "FILE", "authority of the clients' certificates, PEM", set_ca },
	{ "grpc-server-with-client-auth", 0, NULL, "ask clients for a certificate", set_client_auth },
	{ "cpu-port", 0, "PORT", "the port of packet-in and packet-out (none)", set_cpu_port },
	{ "drop-port", 0, "PORT", "the port where packets end (511)", set_drop_port },
	{ "priority-queues", 0, "COUNT", "queues a port, 1 to 8 (1)", set_priorities },
	{ "threads", 0, "COUNT", "of the data plane; ports are shared out among them (1)", set_threads },
	{ "busy-poll", 0, NULL, "never sleep: a core a thread for the shortest latency", set_busy_poll },
	{ "wall-clock", 0, NULL, "stamps by the wall clock, steps included, as BMv2's are", set_wall_clock },
	{ "fault-delay", 0, "TIME", "hold every packet so long before egress", set_delay },
	{ "fault-loss", 0, "SHARE", "lose received frames, as in 1%", set_loss },
	{ "fault-rate", 0, "BITRATE@TIME", "lose what each thread receives over a rate, a mean over the time",
	  set_rate },
	{ "fault-duplicate", 0, "SHARE", "take received frames twice", set_duplicate },
	{ "fault-answer-early", 0, "TIME", "answer Writes so long before they are carried out", set_answer_early },
	{ "fault-clock-offset", 0, "TIME", "a clock that is wrong, as in -3ms", set_clock_offset },
	{ "fault-clock-step", 0, "TIME@TIME", "a clock that steps by the first, at the second", set_clock_step },
	{ "fault-clock-drift", 0, "PPM", "a clock that is so much too fast, as in 50 or -70000", set_clock_drift },
	{ "clock-record", 0, "FILE", "write what the clock is known to be: its zero, its faults", set_clock_record },
	{ "fault-cold-sleep", 0, "TIME@TIME", "sleep so long before the first packet after so long a pause",
	  set_cold_sleep },
	{ "help", 'h', NULL, "this text", NULL },
	{ "version", 'v', NULL, "the version", NULL },
	{ "json-version", 0, NULL, "the format of program that is read", NULL },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static const struct row *find_row(const char *name, size_t length)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strlen(rows[i].name) == length && strncmp(rows[i].name, name, length) == 0)
			return &rows[i];
	return NULL;
}

static const struct row *find_letter(char letter)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

static bool is_directory(const char *text)
{
	struct stat st;

	return text && text[0] != '-' && stat(text, &st) == 0 && S_ISDIR(st.st_mode);
}

static void unknown(const char *text, struct err *err)
{
	const char *names[ROWS + 1], *near;

	for (size_t i = 0; i < ROWS; i++)
		names[i] = rows[i].name;
	names[ROWS] = NULL;
	near = nearest_name(text + 2, names);
	if (near && text[1] == '-')
		err_set(err, ERR_USAGE, EINVAL, "unknown option '%s'; did you mean --%s?", text, near);
	else
		err_set(err, ERR_USAGE, EINVAL, "unknown option '%s'; see tare-switch -h", text);
}

/* The option at argv[*at], and its value, which moves *at when it is a word of its own. */
static int read_option(int argc, char **argv, int *at, const struct row **ret_row, const char **ret_value,
		       struct err *err)
{
	const char *text = argv[*at], *equals = strchr(text, '=');
	const struct row *row;

	*ret_value = NULL;
	if (text[1] == '-') {
		row = find_row(text + 2, equals ? (size_t)(equals - text - 2) : strlen(text + 2));
		if (equals)
			*ret_value = equals + 1;
	} else {
		row = find_letter(text[1]);
		if (row && row->value && text[2])
			*ret_value = text + 2;
		else if (text[2])
			row = NULL;
	}
	if (!row) {
		unknown(text, err);
		return -EINVAL;
	}
	*ret_row = row;
	if (!row->value && *ret_value)
		return err_set(err, ERR_USAGE, EINVAL, "option --%s takes no value", row->name);
	if (!row->value || *ret_value)
		return 0;
	if (row->value[0] == '[') {
		if (*at + 1 < argc && is_directory(argv[*at + 1]))
			*ret_value = argv[++*at];
		return 0;
	}
	if (*at + 1 >= argc)
		return err_set(err, ERR_USAGE, EINVAL, "option --%s needs a value: %s", row->name, row->value);
	*ret_value = argv[++*at];
	return 0;
}

static int check(struct options *o, struct err *err)
{
	for (uint32_t i = 0; i < o->port_count; i++)
		if (o->ports[i].number == o->cpu_port)
			return err_set(err, ERR_USAGE, EINVAL, "port %u is the CPU port, and can have no interface",
				       o->cpu_port);
	if (!o->json && !o->no_p4)
		return err_set(err, ERR_USAGE, EINVAL,
			       "a program is expected: the JSON of p4c's bmv2 backend, or --no-p4");
	if (o->json && o->no_p4)
		return err_set(err, ERR_USAGE, EINVAL, "'%s' and --no-p4: only one of them is expected", o->json);
	if (o->grpc_ssl && (!o->tls.cert || !o->tls.key))
		return err_set(err, ERR_USAGE, EINVAL,
			       "--grpc-server-ssl needs --grpc-server-cert and --grpc-server-key");
	if (o->grpc_client_auth && (!o->grpc_ssl || !o->tls.ca))
		return err_set(err, ERR_USAGE, EINVAL,
			       "--grpc-server-with-client-auth needs --grpc-server-ssl and --grpc-server-cacert");
	if (!o->grpc_ssl)
		o->tls = (struct grpc_tls){ 0 };
	else if (!o->grpc_client_auth)
		o->tls.ca = NULL;
	return 0;
}

static int take(struct options *o, const struct row *row, const char *value, enum options_request *ret_request,
		struct err *err)
{
	int rc;

	if (row->set) {
		rc = row->set(o, value, err);
		return rc < 0 ? err_wrap(err, "--%s", row->name) : 0;
	}
	if (strcmp(row->name, "help") == 0)
		*ret_request = OPTIONS_HELP;
	else if (strcmp(row->name, "version") == 0)
		*ret_request = OPTIONS_VERSION;
	else if (strcmp(row->name, "json-version") == 0)
		*ret_request = OPTIONS_JSON_VERSION;
	else if (o->ignored_count < sizeof(o->ignored) / sizeof(o->ignored[0]))
		o->ignored[o->ignored_count++] = row->name;
	return 0;
}

int options_read(int argc, char **argv, struct options *ret, enum options_request *ret_request, struct err *err)
{
	memset(ret, 0, sizeof(*ret));
	ret->log_level = LOG_INFO;
	ret->grpc_address = "127.0.0.1:9559";
	ret->cpu_port = NOWHERE;
	*ret_request = OPTIONS_RUN;
	for (int i = 1; i < argc; i++) {
		const struct row *row = NULL;
		const char *value;
		int rc;

		if (strcmp(argv[i], "--") == 0)
			continue;
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (ret->json)
				return err_set(err, ERR_USAGE, EINVAL, "'%s' and '%s': one program is expected",
					       ret->json, argv[i]);
			ret->json = argv[i];
			continue;
		}
		rc = read_option(argc, argv, &i, &row, &value, err);
		if (rc == 0)
			rc = take(ret, row, value, ret_request, err);
		if (rc < 0)
			return rc;
		if (*ret_request != OPTIONS_RUN)
			return 0;
	}
	return check(ret, err);
}

void options_help(FILE *out)
{
	fprintf(out, "Usage: tare-switch [OPTIONS] PROGRAM.json [-- OPTIONS]\n"
		     "       tare-switch [OPTIONS] --no-p4 [-- OPTIONS]\n\n"
		     "A v1model software switch with a P4Runtime server; takes the place of simple_switch_grpc.\n\n");
	for (size_t i = 0; i < ROWS; i++) {
		char left[64], letter[8] = "    ";

		if (!rows[i].help)
			continue;
		if (rows[i].letter)
			snprintf(letter, sizeof(letter), "-%c, ", rows[i].letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, rows[i].name, rows[i].value ? " " : "",
			 rows[i].value ? rows[i].value : "");
		fprintf(out, "  %-36s %s\n", left, rows[i].help);
	}
	fprintf(out, "\nTaken and without effect:");
	for (size_t i = 0; i < ROWS; i++)
		if (!rows[i].help)
			fprintf(out, " --%s", rows[i].name);
	fprintf(out, "\n\nExample:\n"
		     "  tare-switch -i 1@s1-eth1 -i 2@s1-eth2 --device-id 1 --no-p4 -- --grpc-server-addr "
		     "127.0.0.1:50051\n");
}
