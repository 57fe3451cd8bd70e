/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <unistd.h>

#include "cli/verbs.h"
#include "observe/build.h"
#include "probe/far_end.h"

static int far_end_run(const struct invocation *inv, struct err *err)
{
	(void)inv;
	if (isatty(STDIN_FILENO))
		return err_set(err, ERR_USAGE, 22,
			       "far-end is started by tare run on another machine; see target wire, `far`");
	signal(SIGPIPE, SIG_IGN);
	return far_serve(STDIN_FILENO, STDOUT_FILENO, build_version(), err);
}

const struct verb verb_far_end = {
	.name = "far-end",
	.summary = "send probes for a tare on another machine, which starts this by ssh",
	.arguments = "",
	.description = "Speaks with that tare over standard input and output, sends what it asks for, and ends when it "
		       "does. A plan names this machine in `far` of target wire; nothing needs to run here before. "
		       "Needs the right to send raw frames (root, or CAP_NET_RAW), and the same version of tare.",
	.run = far_end_run,
};
