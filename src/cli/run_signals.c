/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run_signals.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"

/* The one thing that a signal handler can reach. */
static atomic_bool interrupted;

static void interrupt(int number)
{
	static const char first[] = "\ntare: stopping; once more quits at once\n";

	(void)number;
	if (atomic_exchange(&interrupted, true))
		_exit(ERR_INTERRUPTED);
	if (write(STDERR_FILENO, first, sizeof(first) - 1) < 0)
		return;
}

const atomic_bool *run_signals_catch(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old, act = { .sa_handler = interrupt, .sa_flags = SA_RESTART };

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &act, NULL);
	/* a limit on file sizes is an error of a write, not a death */
	signal(SIGXFSZ, SIG_IGN);
	return &interrupted;
}

unsigned run_terminal_width(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}
