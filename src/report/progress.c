#include "report/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

void fm_progress_begin(struct fm_progress *progress, bool quiet)
{
	const char *terminal = getenv("TERM");

	progress->enabled = !quiet && isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb");
	progress->shown_ns = 0;
}

void fm_progress_update(void *context, const char *what, double share, double seconds_left)
{
	enum { BAR = 24 };
	struct fm_progress *progress = context;
	uint64_t now = fm_clock_now();
	char bar[BAR + 1];

	if (!progress->enabled || now - progress->shown_ns < 100000000u)
		return;
	progress->shown_ns = now;
	share = share < 0 ? 0 : share > 1 ? 1 : share;
	for (int i = 0; i < BAR; i++)
		bar[i] = i < (int)(share * BAR) ? '#' : '.';
	bar[BAR] = 0;
	fprintf(stderr, "\r[%s] %3.0f %%  %-22s %4.0f s left\033[K", bar, 100 * share, what, seconds_left);
	fflush(stderr);
}

void fm_progress_end(struct fm_progress *progress)
{
	if (progress->enabled && progress->shown_ns)
		fputs("\r\033[K", stderr);
}
