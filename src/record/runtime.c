/* Begins and ends recording in a process: the library is preloaded, and this is what runs first. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/hooks.h"
#include "record/allocations.h"
#include "record/burst.h"
#include "record/costs.h"
#include "record/log.h"
#include "record/signals.h"
#include "record/starts.h"
#include "record/threads.h"
#include "record/timer.h"
#include "preload/unwind.h"
#include "record/watch.h"

static bool samples; /* the sampler is set up */

static void in_child(void)
{
	uint64_t started = fm_ticks();
	int problem;

	/* nothing is alive here now: see fm_alive_open() */
	if (!fm_starts_fork_is_worth()) {
		fm_timer_forked();
		return;
	}
	problem = errno;
	fm_self.inside = 1;
	fm_log_forked();
	fm_timer_forked();
	if (fm_session) {
		fm_threads_forked();
		fm_burst_forked();
		fm_allocations_forked();
	}
	fm_self.inside = 0;
	if (fm_session) {
		fm_costs_open(started);
		fm_process->sampler = samples ? FM_SAMPLER_PERF : FM_SAMPLER_NONE;
		fm_thread_begin(true, 0);
	}
	errno = problem;
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

	fm_next_find();
	fm_self_enter();
	if (!fm_log_open() && !is_filtered() && !fm_unwind_open() && !fm_threads_open()) {
		if (!fm_session->children)
			fm_folder_hide(FM_RECORD_VARIABLE);
		pthread_atfork(fm_starts_fork, NULL, in_child);
		fm_log_mappings();
		fm_allocations_open();
		samples = fm_session->sampling && !set_up_sampler();
		fm_costs_open(started);
		fm_self_leave();
		fm_thread_begin(true, 0);
		errno = problem;
		return;
	}
	fm_alive_set(false);
	fm_self_leave();
	errno = problem;
}

__attribute__((destructor)) static void end(void)
{
	if (!fm_is_alive())
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
	if (!fm_is_alive())
		return;
	fm_self_enter();
	fm_timer_stop();
	fm_burst_end_watches();
	fm_costs_close();
	fm_process->filtered = fm_ticks();
	fm_alive_set(false);
	fm_self_leave();
}

void fm_hook_filter(bool promised)
{
	if (!promised)
		stop_for_good();
}

void fm_hook_code_changed(uint64_t begin, uint64_t end, bool unloaded)
{
	if (!fm_is_alive())
		return;
	fm_burst_code_changed(begin, end - begin);
	if (unloaded)
		fm_unwind_forget();
}
