#include "base/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own_limits.h"
#include "base/pass_signals.h"

enum { HANDLED = 8 };
static const int handled[HANDLED] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ};
static struct sigaction inherited[HANDLED]; /* zero is the default */

void fm_launch_remember_signals(void)
{
	for (unsigned i = 0; i < HANDLED; i++)
		if (!sigaction(handled[i], NULL, &inherited[i]) && inherited[i].sa_handler != SIG_IGN)
			inherited[i] = (struct sigaction){.sa_handler = SIG_DFL};
}

/* Like execvp, but without a shell for files that are no programs. Returns the error. */
static int execute(char *const *program)
{
	const char *path = getenv("PATH");
	int problem = ENOENT;

	if (strchr(program[0], '/')) {
		execv(program[0], program);
		return errno;
	}
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *path;) {
		size_t length = strcspn(path, ":");
		char file[4096];

		if ((size_t)snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, program[0]) < sizeof(file)) {
			execv(file, program);
			if (errno != ENOENT && errno != ENOTDIR)
				problem = errno;
		}
		path += length + (path[length] == ':');
	}
	return problem;
}

static void be_program(const struct fm_launch *launch, int go, int failed)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC), problem;
	char byte;

	if (!launch->outlives)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(go, &byte, 1) != 1)
		_exit(125);
	for (unsigned i = 0; i < HANDLED; i++)
		sigaction(handled[i], &inherited[i], NULL);
	fm_own_limits_give_back();
	if (launch->output >= 0)
		dup2(launch->output, STDOUT_FILENO);
	if (launch->output >= 0 || launch->quiet)
		dup2(nothing, STDERR_FILENO);
	if (launch->input >= 0)
		dup2(launch->input, STDIN_FILENO);
	if (launch->prepare)
		launch->prepare(launch->context);
	problem = execute(launch->program);
	if (write(failed, &problem, sizeof(problem)) < 0)
		_exit(125);
	_exit(127);
}

int fm_launch_begin(const struct fm_launch *launch, struct fm_launched *ret_launched, struct fm_error *error)
{
	int go[2], failed[2];
	pid_t child;

	if (pipe2(go, O_CLOEXEC))
		return fm_error_set(error, errno, "cannot create a pipe: %s", strerror(errno));
	if (pipe2(failed, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return fm_error_set(error, errno, "cannot create a pipe: %s", strerror(errno));
	}
	child = fork();
	if (!child) {
		close(go[1]);
		close(failed[0]);
		be_program(launch, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	if (child < 0) {
		int code = errno;

		close(go[1]);
		close(failed[0]);
		return fm_error_set(error, code, "cannot create a process: %s", strerror(code));
	}
	*ret_launched = (struct fm_launched){.process = child,
	                                     .go = go[1],
	                                     .failed = failed[0],
	                                     .beside = launch->beside,
	                                     .unseen = launch->output >= 0};
	if (!launch->beside)
		fm_pass_signals_to(child);
	return 0;
}

static void is_over(const struct fm_launched *launched)
{
	if (!launched->beside)
		fm_pass_signals_to(0);
}

int fm_launch_release(struct fm_launched *launched, const char *name, struct fm_error *error)
{
	int code = 0, status;

	launched->begun = fm_clock_now();
	if (write(launched->go, "", 1) != 1)
		code = errno;
	close(launched->go);
	if (!code && read(launched->failed, &code, sizeof(code)) != sizeof(code))
		code = 0;
	close(launched->failed);
	if (!code)
		return 0;
	while (waitpid(launched->process, &status, 0) < 0 && errno == EINTR)
		;
	is_over(launched);
	return code == ENOENT ? fm_error_set(error, ENOENT, "%s: there is no such program", name)
	                      : fm_error_set(error, EACCES, "%s: cannot be run: %s", name, strerror(code));
}

void fm_launch_abandon(struct fm_launched *launched)
{
	int status;

	close(launched->go);
	close(launched->failed);
	while (waitpid(launched->process, &status, 0) < 0 && errno == EINTR)
		;
	is_over(launched);
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

/* It ends within a second, or is made to. */
static pid_t wait_a_second(pid_t process, int *status, struct rusage *usage)
{
	enum { STEPS = 100, STEP_MS = 10 };
	pid_t ended = 0;

	for (int i = 0; i < STEPS && !ended; i++) {
		ended = wait4(process, status, WNOHANG, usage);
		if (!ended)
			poll(NULL, 0, STEP_MS);
	}
	if (!ended) {
		kill(process, SIGKILL);
		ended = wait4(process, status, 0, usage);
	}
	return ended;
}

bool fm_launch_wait(struct fm_launched *launched, bool wait, struct fm_launch_end *ret_end)
{
	struct rusage usage;
	int status = 0;
	pid_t ended;

	while ((ended = wait4(launched->process, &status, wait ? 0 : WNOHANG, &usage)) < 0 && errno == EINTR) {
		if (!launched->unseen || !fm_pass_signals_asked())
			continue;
		ended = wait_a_second(launched->process, &status, &usage);
		if (ended)
			break;
	}
	if (!ended)
		return false;
	is_over(launched);
	*ret_end = (struct fm_launch_end){.seconds = (double)(fm_clock_now() - launched->begun) * 1e-9,
	                                  .cpu_seconds = seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime),
	                                  .kernel_seconds = seconds_of(&usage.ru_stime),
	                                  .switches = (uint64_t)usage.ru_nvcsw,
	                                  .preemptions = (uint64_t)usage.ru_nivcsw,
	                                  .faults = (uint64_t)usage.ru_minflt,
	                                  .major_faults = (uint64_t)usage.ru_majflt,
	                                  .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	                                  .status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)};
	return true;
}
