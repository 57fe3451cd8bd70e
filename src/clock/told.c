/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/told.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int member(const char *line, const char *name, int64_t *ret, struct err *err)
{
	const char *at = strstr(line, name);
	char *end;

	if (!at)
		return err_set(err, ERR_USAGE, EINVAL, "the clock's record lacks '%s'", name);
	errno = 0;
	*ret = strtoll(at + strlen(name), &end, 10);
	if (errno || end == at + strlen(name) || (*end != ' ' && *end != '\n' && *end != '\0'))
		return err_set(err, ERR_USAGE, EINVAL, "the clock's record: no whole number behind '%s'", name);
	return 0;
}

int told_clock_parse(const char *line, struct told_clock *ret, struct err *err)
{
	struct told_clock c = { 0 };
	int rc = strncmp(line, "clock ", 6) == 0
			 ? 0
			 : err_set(err, ERR_USAGE, EINVAL, "no clock's record: expected 'clock zero_utc_ns=...'");

	if (rc == 0)
		rc = member(line, " zero_utc_ns=", &c.zero_utc_ns, err);
	if (rc == 0)
		rc = member(line, " offset_us=", &c.offset_us, err);
	if (rc == 0)
		rc = member(line, " drift_ppm=", &c.drift_ppm, err);
	if (rc == 0)
		rc = member(line, " step_us=", &c.step_us, err);
	if (rc == 0)
		rc = member(line, " step_at_us=", &c.step_at_us, err);
	if (rc == 0 && (c.drift_ppm <= -1000000 || c.drift_ppm > 1000000))
		rc = err_set(err, ERR_USAGE, EINVAL, "the clock's record: a drift of %lld ppm", (long long)c.drift_ppm);
	if (rc == 0)
		*ret = c;
	return rc;
}

int told_clock_read(const char *path, struct told_clock *ret, struct err *err)
{
	FILE *file = fopen(path, "re");
	char line[512];
	bool there;

	if (!file)
		return err_set(err, ERR_HOST, errno, "%s: %s", path, strerror(errno));
	there = fgets(line, sizeof(line), file) != NULL;
	fclose(file);
	return there ? told_clock_parse(line, ret, err) : err_set(err, ERR_HOST, EIO, "%s: empty", path);
}

double told_clock_host_ns(const struct told_clock *c, int64_t base_utc_ns, double stamp_ns, double near_ns)
{
	double rate = 1 + (double)c->drift_ppm * 1e-6, at = (double)c->step_at_us * 1000;
	double shown = stamp_ns - (double)c->offset_us * 1000, stepped = shown - (double)c->step_us * 1000;
	double zero = (double)(c->zero_utc_ns - base_utc_ns); /* exact: the whole times have no room in a double */
	double before = zero + shown / rate, after = zero + stepped / rate;

	if (c->step_us == 0 || (shown < at && stepped < at))
		return before;
	if (shown >= at && stepped >= at)
		return after;
	/* shown on both sides of the step, or (where it jumped ahead) on neither */
	return fabs(before - near_ns) <= fabs(after - near_ns) ? before : after;
}
