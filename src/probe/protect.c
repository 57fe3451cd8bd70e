/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/protect.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { FIFO_PRIORITY = 50, FIFO_SLEEPER = 51 };

static const char autogroup_path[] = "/proc/self/autogroup";

static bool autogroup_read(int *ret_nice)
{
	FILE *f = fopen(autogroup_path, "re");
	bool good;

	if (!f)
		return false;
	/* "/autogroup-57 nice 0" */
	good = fscanf(f, "%*s nice %d", ret_nice) == 1;
	fclose(f);
	return good;
}

static bool autogroup_write(int nice)
{
	FILE *f = fopen(autogroup_path, "we");
	bool good;

	if (!f)
		return false;
	good = fprintf(f, "%d", nice) > 0;
	return fclose(f) == 0 && good;
}

/* May this process have FIFO threads? Asked by becoming one for a moment. */
static bool fifo_allowed(void)
{
	const struct sched_param fifo = { .sched_priority = FIFO_PRIORITY };
	struct sched_param before;
	int policy = sched_getscheduler(0);

	if (policy < 0 || sched_getparam(0, &before) < 0 || sched_setscheduler(0, SCHED_FIFO, &fifo) < 0)
		return false;
	sched_setscheduler(0, policy, &before);
	return true;
}

void protect_begin(struct protection *p, enum protect_how wanted)
{
	*p = (struct protection){ .wanted = wanted };
	if (wanted == PROTECT_NOTHING)
		return;
	/* What exists now is what the loops touch; later allocations of other threads need not be locked. */
	p->locked = mlockall(MCL_CURRENT) == 0;
	if (wanted == PROTECT_FIFO && !fifo_allowed())
		p->wanted = PROTECT_NICE;
	if (p->wanted == PROTECT_NICE && autogroup_read(&p->autogroup_before) && autogroup_write(-20))
		p->autogroup_changed = true;
}

void protect_end(struct protection *p)
{
	if (p->locked && !p->ended)
		munlockall();
	if (p->autogroup_changed && !p->ended)
		autogroup_write(p->autogroup_before);
	p->ended = true;
}

enum protect_how protect_thread(const struct protection *p)
{
	const struct sched_param fifo = { .sched_priority = p->sleeps ? FIFO_SLEEPER : FIFO_PRIORITY };

	if (p->wanted == PROTECT_FIFO && sched_setscheduler(0, SCHED_FIFO, &fifo) == 0)
		return PROTECT_FIFO;
	/* Linux: 0 is the calling thread. */
	if (p->wanted != PROTECT_NOTHING && setpriority(PRIO_PROCESS, 0, -20) == 0)
		return PROTECT_NICE;
	return PROTECT_NOTHING;
}

const char *protect_words(const struct protection *p, enum protect_how got, bool pinned, char *buf, size_t size_bytes)
{
	const char *how = "";

	if (got == PROTECT_FIFO)
		how = p->sleeps ? "fifo 51, " : "fifo 50, ";
	else if (got == PROTECT_NICE)
		how = p->autogroup_changed ? "nice -20, autogroup -20, " : "nice -20, ";
	snprintf(buf, size_bytes, "%s%s%s", how, pinned ? "affinity" : "no affinity", p->locked ? ", mlock" : "");
	return buf;
}
