/* Begins and ends recording in a process: the library is preloaded, and this is what runs first. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/allocations.h"
#include "record/burst.h"
#include "record/costs.h"
#include "record/log.h"
#include "record/signals.h"
#include "record/starts.h"
#include "record/threads.h"
#include "record/timer.h"
#include "record/unwind.h"
#include "record/watch.h"

#define EXPORTED __attribute__((visibility("default")))

static bool samples; /* the sampler is set up */

static void in_child(void)
{
	uint64_t started = fm_ticks();
	int problem = errno;

	fm_self.inside = 1;
	fm_log_forked();
	fm_threads_forked();
	fm_timer_forked();
	fm_burst_forked();
	fm_allocations_forked();
	fm_self.inside = 0;
	if (fm_session) {
		fm_costs_open(started);
		fm_process->sampler = samples ? FM_SAMPLER_PERF : FM_SAMPLER_NONE;
		fm_thread_begin(true, 0);
	}
	errno = problem;
}

/* Children that are executed find the same environment; when they are not wanted, they find nothing. */
static void hide_from_children(void)
{
	for (char **at = environ; at && *at; at++)
		if (!strncmp(*at, FM_RECORD_VARIABLE "=", sizeof(FM_RECORD_VARIABLE)))
			(*at)[0] = '_';
}

static int set_up_sampler(void)
{
	int error = 0;

	fm_process->sampler = fm_timer_probe(&error);
	fm_process->sampler_error = error;
	if (fm_process->sampler == FM_SAMPLER_NONE)
		return -error;
	error = fm_burst_open();
	if (!error)
		error = fm_signals_open();
	if (!error && fm_session->windows)
		fm_process->watch_error = -fm_watch_open();
	if (error) {
		fm_process->sampler = FM_SAMPLER_NONE;
		fm_process->sampler_error = -error;
	}
	return error;
}

/* A filter of system calls that was there before, and that the tool itself does not have: it may end the program for
   one of ours. */
static bool is_filtered(void)
{
	if (fm_session->filtered || fm_system_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) <= 0)
		return false;
	fm_process->filtered = fm_process->begun;
	return true;
}

__attribute__((constructor(101))) static void begin(void)
{
	uint64_t started = fm_ticks();
	int problem = errno;

	fm_self_enter();
	if (!fm_log_open() && !is_filtered() && !fm_unwind_open() && !fm_threads_open()) {
		if (!fm_session->children)
			hide_from_children();
		pthread_atfork(NULL, NULL, in_child);
		fm_log_mappings();
		fm_allocations_open();
		samples = fm_session->sampling && !set_up_sampler();
		fm_costs_open(started);
		fm_self_leave();
		fm_thread_begin(true, 0);
		errno = problem;
		return;
	}
	fm_log_close();
	fm_self_leave();
	errno = problem;
}

__attribute__((destructor)) static void end(void)
{
	if (!fm_log_is_open())
		return;
	fm_self_enter();
	fm_timer_stop();
	fm_burst_end_watches();
	fm_thread_name();
	fm_costs_close();
	fm_threads_sum_up();
	fm_starts_end(fm_process->cpu_ns);
	fm_process->ended = fm_ticks();
	fm_self_leave();
}

/* A filter of system calls may end the program for one of ours: before there is one, all of it stops. */
static void stop_for_good(void)
{
	if (!fm_log_is_open())
		return;
	fm_self_enter();
	fm_timer_stop();
	fm_burst_end_watches();
	fm_costs_close();
	fm_process->filtered = fm_ticks();
	fm_log_close();
	fm_self_leave();
}

EXPORTED int prctl(int option, ...)
{
	static int (*next)(int, ...);
	unsigned long arguments[4];
	__builtin_va_list list;

	__builtin_va_start(list, option);
	for (unsigned i = 0; i < 4; i++)
		arguments[i] = __builtin_va_arg(list, unsigned long);
	__builtin_va_end(list);
	if (!next)
		next = (int (*)(int, ...))dlsym(RTLD_NEXT, "prctl");
	if (option == PR_SET_SECCOMP)
		stop_for_good();
	return next(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}

EXPORTED long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long arguments[6];
	__builtin_va_list list;

	__builtin_va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		arguments[i] = __builtin_va_arg(list, long);
	__builtin_va_end(list);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_seccomp || (number == SYS_prctl && arguments[0] == PR_SET_SECCOMP))
		stop_for_good();
	return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

EXPORTED int mprotect(void *address, size_t size, int protection)
{
	static int (*next)(void *, size_t, int);
	int result;

	if (!next)
		next = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "mprotect");
	result = next(address, size, protection);
	if (fm_log_is_open())
		fm_burst_code_changed((uint64_t)address, size);
	return result;
}

EXPORTED int dlclose(void *handle)
{
	static int (*next)(void *);
	int result;

	if (!next)
		next = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	result = next(handle);
	if (fm_log_is_open()) {
		fm_burst_code_changed(0, UINT64_MAX);
		fm_unwind_forget();
	}
	return result;
}
