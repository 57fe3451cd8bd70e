/* SPDX-License-Identifier: Apache-2.0 */
#include "lab/child.h"

#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

void child_begin(pid_t parent)
{
	struct sched_param normal = { 0 };
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127); /* it died before it could be watched */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sched_setscheduler(0, SCHED_OTHER, &normal);
	close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
}
