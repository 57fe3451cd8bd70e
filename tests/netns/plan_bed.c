/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "own_host.h"

static char base[64];

int plan_bed_make(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "/tmp/tare-plan-XXXXXX");
	return mkdtemp(base) ? 0 : -1;
}

int plan_bed_remove(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", base);
	return system(command);
}

const char *plan_bed_base(void)
{
	return base;
}

const char *plan_bed_run(const char *text, struct campaign_counts *ret_counts)
{
	static char directory[96];
	static unsigned serial;
	const struct campaign_options options = { 0 };
	struct plan_problems problems;
	struct err err = { 0 };
	struct plan *plan = NULL;
	struct store *store;

	snprintf(directory, sizeof(directory), "%s/%u", base, serial++);
	if (plan_parse(text, strlen(text), "test.yaml", base, &plan, &problems, &err) < 0)
		fail_msg("%s: %s", err.message, problems.count ? problems.items[0].message : "");
	plan_problems_release(&problems);
	if (store_open_write(directory, plan, &store, &err) < 0)
		fail_msg("%s", err.message);
	if (campaign_run(plan, store, &options, ret_counts, &err) < 0)
		fail_msg("%s", err.message);
	store_close(store);
	plan_destroy(plan);
	return directory;
}

void plan_bed_measure(const char *text, struct plan_bed *ret)
{
	struct err err = { 0 };

	memset(ret, 0, sizeof(*ret));
	arena_init(&ret->arena, 0);
	if (store_open_read(plan_bed_run(text, &ret->counts), &ret->store, &err) < 0 ||
	    store_read_restarts(ret->store, &ret->arena, &ret->restarts, &ret->restart_count, &err) < 0)
		fail_msg("%s", err.message);
}

void plan_bed_release(struct plan_bed *bed)
{
	arena_release(&bed->arena);
	store_close(bed->store);
}

void plan_bed_none_failed(const struct plan_bed *bed)
{
	for (uint32_t i = 0; i < bed->restart_count; i++)
		if (bed->restarts[i].failure)
			fail_msg("%s", bed->restarts[i].failure);
}

const char *plan_bed_script(const char *name, const char *body)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", base, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n[ \"$1\" = --version ] && exec %s --version\n%s\n", getenv("TARE_SWITCH"), body);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

void plan_bed_nothing_left(void)
{
	assert_int_equal(own_host_interfaces(), 0);
	assert_int_equal(own_host_count("/run/netns"), 0);
	assert_int_equal(own_host_marked(getpid()), 0);
}
