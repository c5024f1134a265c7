#include "interference/companion.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { NAP_MS = 1, MOST_FILES = 65536 };

static int pidfd_of(pid_t process)
{
	return (int)syscall(SYS_pidfd_open, process, 0);
}

static void close_from(unsigned first, unsigned last)
{
	if (first > last || !syscall(SYS_close_range, first, last, 0))
		return;
	/* kernels before 5.9 */
	for (unsigned i = first; i <= last && i < MOST_FILES; i++)
		close((int)i);
}

/* What we hold open of the tool's would keep others waiting for its end: readers of its output, and our fellows. */
static void close_others(int one, int other)
{
	unsigned low = (unsigned)(one < other ? one : other), high = (unsigned)(one < other ? other : one);
	int nothing = open("/dev/null", O_RDWR);

	for (int i = 0; i <= STDERR_FILENO; i++)
		if (nothing >= 0 && i != one && i != other)
			dup2(nothing, i);
	if (one < 0 || other < 0)
		low = high;
	if (low)
		close_from(STDERR_FILENO + 1, low - 1);
	close_from(low + 1, high - 1);
	close_from(high + 1, UINT_MAX);
}

static void be_companion(const char *name, bool dies_with_us, int keep, int line, pid_t tool,
                         fm_companion_function work, void *context)
{
	/* signals of the terminal are meant for the tool */
	static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE};
	struct fm_companion_side side = {.line = line};
	sigset_t none;

	for (unsigned i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_NAME, name);
	if (dies_with_us)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	close_others(line, keep);
	side.tool = pidfd_of(tool);
	/* the tool may have died before the request, and its number may be reused */
	if (getppid() != tool) {
		if (dies_with_us)
			_exit(0);
		if (side.tool >= 0)
			close(side.tool);
		side.tool = -1; /* the pipe has ended, too */
	}
	work(context, &side);
	_exit(0);
}

int fm_companion_start(const char *name, bool dies_with_us, int keep, fm_companion_function work, void *context,
                       struct fm_companion *ret_companion, struct fm_error *error)
{
	pid_t tool = getpid(), child;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return fm_error_set(error, errno, "cannot create a pipe: %s", strerror(errno));
	child = fork();
	if (!child)
		be_companion(name, dies_with_us, keep, ends[0], tool, work, context);
	close(ends[0]);
	if (child < 0) {
		int code = errno;

		close(ends[1]);
		return fm_error_set(error, code, "cannot create a process: %s", strerror(code));
	}
	*ret_companion = (struct fm_companion){.process = child, .line = ends[1]};
	return 0;
}

void fm_companion_wait(const struct fm_companion_side *side)
{
	struct pollfd ends[2] = {{.fd = side->line, .events = POLLIN}, {.fd = side->tool, .events = POLLIN}};

	while (poll(ends, 2, -1) < 0 && errno == EINTR)
		;
}

static bool collect(struct fm_companion *companion, bool wait)
{
	pid_t ended;

	while ((ended = waitpid(companion->process, NULL, wait ? 0 : WNOHANG)) < 0 && errno == EINTR)
		;
	if (!ended)
		return false;
	companion->process = 0;
	return true;
}

bool fm_companion_lives(struct fm_companion *companion)
{
	return companion->process && !collect(companion, false);
}

void fm_companion_stop(struct fm_companion *companion, double patience)
{
	uint64_t until = fm_clock_now() + (uint64_t)(patience * 1e9);

	if (companion->line >= 0)
		close(companion->line);
	companion->line = -1;
	if (!companion->process)
		return;
	while (patience > 0 && fm_clock_now() < until && !collect(companion, false))
		poll(NULL, 0, NAP_MS);
	if (!companion->process)
		return;
	if (patience > 0)
		kill(companion->process, SIGKILL);
	collect(companion, true);
}
