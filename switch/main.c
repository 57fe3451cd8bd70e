/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "control/control.h"
#include "options.h"
#include "plane.h"

#ifndef TARE_VERSION
#define TARE_VERSION "unknown"
#endif

/* tare-switch: the control thread, where P4Runtime is served, and what holds the two halves together. */

enum { DRAINS = PLANE_THREADS_MOST };

struct app;

struct drain {
	struct loop_watch watch;
	struct app *app;
	uint32_t thread;
};

enum { CONTROL_SPIN_NS = 50000 };

struct app {
	struct options options;
	struct switch_clock clock;
	struct quiesce *quiesce;
	struct loop *loop;
	struct plane *plane;
	struct control *control;
	struct drain drains[DRAINS];
	struct loop_watch signals;
	FILE *log_file;
};

/* --- the log --- */

static void print(FILE *out, enum log_level level, const char *message)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	struct timespec t;
	struct tm tm;
	char when[32];

	clock_gettime(CLOCK_REALTIME, &t);
	localtime_r(&t.tv_sec, &tm);
	strftime(when, sizeof(when), "%H:%M:%S", &tm);
	fprintf(out, "[%s.%03ld] [%s] %s\n", when, t.tv_nsec / 1000000, names[level], message);
	fflush(out);
}

/* Errors and warnings always reach the terminal, unless the log is off. */
static void log_line(void *context, enum log_level level, const char *message)
{
	const struct app *app = context;

	if (app->options.log_off || level > app->options.log_level)
		return;
	if (app->options.log_console)
		print(stdout, level, message);
	else if (level <= LOG_WARN)
		print(stderr, level, message);
	if (app->log_file)
		print(app->log_file, level, message);
}

/* --- between the halves --- */

static int commit(void *context, const struct program *program, struct state *state, struct err *err)
{
	struct app *app = context;
	int rc = plane_commit(app->plane, program, state, err);

	if (rc < 0)
		log_error("the program does not run: %s", err->message);
	else
		log_info("program %s runs", program->name);
	return rc;
}

static bool packet_out(void *context, const uint8_t *frame, size_t length_bytes)
{
	return plane_packet_out(((struct app *)context)->plane, frame, length_bytes);
}

static void packet_in(void *context, const uint8_t *frame, size_t length_bytes)
{
	control_packet_in(((struct app *)context)->control, frame, length_bytes);
}

static void digest(void *context, uint32_t list, const uint64_t *memory)
{
	control_digest(((struct app *)context)->control, list, memory);
}

static void program_says(void *context, const char *text)
{
	(void)context;
	log_info("program: %s", text);
}

static void drain(struct loop_watch *watch, unsigned events)
{
	struct drain *d = (struct drain *)watch;
	struct plane_handlers handlers = { packet_in, digest, program_says, d->app };

	(void)events;
	plane_drain(d->app->plane, d->thread, &handlers);
}

static uint64_t now_us(void *context)
{
	return switch_clock_us(&((struct app *)context)->clock);
}

/* --- start and end --- */

static void stop(struct loop_watch *watch, unsigned events)
{
	struct app *app = (struct app *)((char *)watch - offsetof(struct app, signals));
	struct signalfd_siginfo info;

	(void)events;
	if (read(watch->fd, &info, sizeof(info)) == sizeof(info))
		log_info("stopping: %s", strsignal((int)info.ssi_signo));
	loop_stop(app->loop);
}

static int watch_signals(struct app *app, struct err *err)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL); /* before the threads, which inherit it */
	app->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (app->signals.fd < 0)
		return err_set(err, ERR_HOST, errno, "signalfd: %s", strerror(errno));
	app->signals.ready = stop;
	return loop_watch(app->loop, &app->signals, LOOP_READ);
}

static int start_plane(struct app *app, struct err *err)
{
	const struct options *o = &app->options;
	struct plane_config config = { .ports = o->ports,
				       .port_count = o->port_count,
				       .threads = o->threads,
				       .cpu_port = o->cpu_port,
				       .drop_port = o->drop_port,
				       .priorities = o->priorities,
				       .busy_poll = o->busy_poll,
				       .pcap_directory = o->pcap_directory,
				       .clock = &app->clock,
				       .quiesce = app->quiesce };
	int rc = plane_create(&config, &app->plane, err);

	for (uint32_t i = 0; rc == 0 && i < (o->threads ? o->threads : 1); i++) {
		app->drains[i] = (struct drain){ .watch = { .fd = plane_event_fd(app->plane, i), .ready = drain },
						 .app = app,
						 .thread = i };
		rc = loop_watch(app->loop, &app->drains[i].watch, LOOP_READ);
	}
	return rc;
}

static int start_control(struct app *app, struct err *err)
{
	static const struct control_ops ops = { commit, packet_out };
	const struct options *o = &app->options;
	struct control_config config = { .address = o->grpc_address,
					 .tls = o->tls,
					 .device_id = o->device_id,
					 .quiesce = app->quiesce,
					 .shared = o->threads > 1,
					 .ops = &ops,
					 .context = app,
					 .now_us = now_us,
					 .answer_early_ns = (int64_t)o->truth.answer_early_us * 1000 };

	return control_create(app->loop, &config, &app->control, err);
}

static int run_file(struct app *app, struct err *err)
{
	struct program *program;
	int rc = program_load_file(app->options.json, &program, err);

	return rc < 0 ? rc : control_run_program(app->control, program, err);
}

static int start(struct app *app, struct err *err)
{
	int rc = 0;

	if (app->options.log_file) {
		app->log_file = fopen(app->options.log_file, "ae");
		if (!app->log_file)
			return err_set(err, ERR_HOST, errno, "%s: %s", app->options.log_file, strerror(errno));
	}
	app->quiesce = quiesce_create();
	if (!app->quiesce)
		return err_set(err, ERR_HOST, ENOMEM, "out of memory");
	switch_clock_start(&app->clock, app->options.wall_clock, &app->options.truth);
	if (app->options.clock_record)
		rc = switch_clock_tell(&app->clock, app->options.clock_record);
	if (rc < 0)
		return err_set(err, ERR_HOST, -rc, "%s: %s", app->options.clock_record, strerror(-rc));
	rc = loop_create(&app->loop, err);
	if (rc == 0) /* a controller that writes one entry at a time is back within this */
		loop_set_spin(app->loop, CONTROL_SPIN_NS);
	if (rc == 0)
		rc = watch_signals(app, err);
	if (rc == 0)
		rc = start_plane(app, err);
	if (rc == 0)
		rc = start_control(app, err);
	if (rc == 0 && app->options.json)
		rc = run_file(app, err);
	return rc;
}

/* The address as given, with the port that the system chose where 0 was asked for. */
static void serving_at(const struct app *app, char *ret, size_t size_bytes)
{
	const char *address = app->options.grpc_address, *colon = strrchr(address, ':');

	if (strncmp(address, "unix:", 5) == 0 || !colon)
		snprintf(ret, size_bytes, "%s", address);
	else
		snprintf(ret, size_bytes, "%.*s:%u", (int)(colon - address), address, control_port(app->control));
}

static void say_hello(const struct app *app)
{
	char faults[256], where[160];

	serving_at(app, where, sizeof(where));
	for (uint32_t i = 0; i < app->options.ignored_count; i++)
		log_info("option --%s is taken, and without effect", app->options.ignored[i]);
	log_info("P4Runtime at %s, device %llu", where, (unsigned long long)app->options.device_id);
	if (!truth_any(&app->options.truth))
		return;
	truth_describe(&app->options.truth, faults, sizeof(faults));
	log_warn("FAULTS ON PURPOSE: %s", faults);
}

static void say_goodbye(const struct app *app)
{
	struct v1model_counters c;

	plane_stop(app->plane);
	plane_counters(app->plane, &c);
	log_info("received %llu, transmitted %llu, dropped by the program %llu, by full queues %llu",
		 (unsigned long long)c.received, (unsigned long long)c.transmitted,
		 (unsigned long long)c.dropped_by_program, (unsigned long long)c.dropped_queue_full);
}

static void finish(struct app *app)
{
	/* readers first: control frees what they read */
	plane_destroy(app->plane);
	control_destroy(app->control);
	quiesce_destroy(app->quiesce);
	loop_destroy(app->loop);
	if (app->signals.fd > 0)
		close(app->signals.fd);
	if (app->log_file)
		fclose(app->log_file);
}

int main(int argc, char **argv)
{
	static struct app app;
	enum options_request request;
	struct err err = { 0 };
	int rc = options_read(argc, argv, &app.options, &request, &err);

	if (rc < 0) {
		fprintf(stderr, "tare-switch: %s\n", err.message);
		return err_exit_status(&err);
	}
	if (request == OPTIONS_HELP) {
		options_help(stdout);
		return 0;
	}
	if (request != OPTIONS_RUN) {
		puts(request == OPTIONS_VERSION ? "tare-switch " TARE_VERSION : "2.23");
		return 0;
	}
	log_to(log_line, &app);
	rc = start(&app, &err);
	if (rc == 0) {
		say_hello(&app);
		rc = loop_run(app.loop);
		say_goodbye(&app);
	} else {
		fprintf(stderr, "tare-switch: %s\n", err.message);
	}
	finish(&app);
	return rc < 0 ? (err.kind ? err_exit_status(&err) : ERR_HOST) : 0;
}
