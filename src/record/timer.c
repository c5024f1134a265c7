#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/log.h"
#include "record/timer.h"

enum { NONE, POSIX, PERF, PERF_TRAP };

/* What the kernel tells of a signal that a perf event sent by itself. */
enum { TRAP_BY_PERF = 6, TRAP_LATE = 1 };
struct trap_information {
	int32_t number, error, code, unused;
	uint64_t address, data;
	uint32_t type, flags;
};
#define OUR_DATA 0x4661746d54726170u

/* The period of an event that goes on by itself is changed only now and then: that costs a system call. */
enum { DRAW_EVERY = 16, FEW_FILES = 256, OUT_OF_THE_WAY = 250 };

/* The kernel programs a perf event again at each switch of its thread: some microseconds in a virtual machine. A thread
   that switches often has a POSIX timer instead, unless its switches would take less than one hundredth of its time. */
enum { SWITCH_NS = 5000, LEAST_SHARE = 100 };

static __thread struct {
	int kind;
	int file;    /* of the perf event */
	int number;  /* of the POSIX timer */
	uint64_t id; /* of the perf event: its file's number may have become somebody else's */
	uint64_t armed;
	uint64_t period;      /* of PERF_TRAP, as set; 0: it is not enabled */
	uint64_t average;     /* around which it was drawn */
	uint32_t since_drawn; /* signals since then */
	bool was_first;       /* it was drawn for the first signal */
	uint32_t passes_over; /* of 2^32: how probably the first signal is passed over */
} timer __attribute__((tls_model("initial-exec")));

static enum fm_stream_sampler possible;
static uint64_t tick = 4000000; /* ns between two of the kernel's */

enum { MOST_FILES = 1 << 16, SHORTEST = 20000 /* ns */ };
static uint8_t files[MOST_FILES / 8]; /* a bit for each file of a timer */
static unsigned files_end;            /* no later file was one of a timer */

static void note_file(int file, bool ours)
{
	if (file < 0 || file >= MOST_FILES)
		return;
	for (unsigned end = __atomic_load_n(&files_end, __ATOMIC_RELAXED); ours && end <= (unsigned)file;)
		if (__atomic_compare_exchange_n(&files_end, &end, (unsigned)file + 1, false, __ATOMIC_RELEASE,
		                                __ATOMIC_RELAXED))
			break;
	if (ours)
		__atomic_fetch_or(&files[file / 8], (uint8_t)(1u << file % 8), __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&files[file / 8], (uint8_t) ~(1u << file % 8), __ATOMIC_RELAXED);
}

bool fm_timer_has_file(int file)
{
	return file >= 0 && file < MOST_FILES && (files[file / 8] >> file % 8 & 1);
}

unsigned fm_timer_next_file(unsigned first)
{
	const unsigned end = __atomic_load_n(&files_end, __ATOMIC_ACQUIRE);

	for (unsigned at = first; at < end; at++)
		if (!files[at / 8] && at % 8 == 0)
			at += 7;
		else if (fm_timer_has_file((int)at))
			return at;
	return UINT_MAX;
}

static void close_file(int file)
{
	note_file(file, false);
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
}

static long open_event(bool traps)
{
	struct perf_event_attr attributes = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attributes),
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .sample_period = 1000000000,
	    .disabled = 1,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	};

	if (traps) {
		attributes.sigtrap = 1;
		attributes.remove_on_exec = 1;
		attributes.sig_data = OUR_DATA;
	}
	return fm_system_call(SYS_perf_event_open, (long)&attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
}

/* Out of the way: programs expect their own files at low numbers. Not far: each fork copies the table up to there. */
static long move_up(long file)
{
	struct rlimit limit = {.rlim_cur = 256};
	long moved;

	fm_system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	moved = fm_system_call(
	    SYS_fcntl, file, F_DUPFD_CLOEXEC,
	    limit.rlim_cur / 4 * 3 < OUT_OF_THE_WAY ? (long)(limit.rlim_cur / 4 * 3) : OUT_OF_THE_WAY, 0, 0, 0);
	if (moved < 0)
		return file;
	fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
	return moved;
}

long fm_timer_keep_file(long file)
{
	file = move_up(file);
	note_file((int)file, true);
	return file;
}

void fm_timer_close_file(int file)
{
	close_file(file);
}

static int start_event(void)
{
	struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = fm_thread_id()};
	long file = open_event(true);
	bool traps = file >= 0;

	if (!traps)
		file = open_event(false);
	if (file < 0)
		return (int)file;
	file = move_up(file);
	if ((!traps && (fm_system_call(SYS_fcntl, file, F_SETFL, O_ASYNC | O_NONBLOCK, 0, 0, 0) ||
	                fm_system_call(SYS_fcntl, file, F_SETSIG, FM_TIMER_SIGNAL, 0, 0, 0) ||
	                fm_system_call(SYS_fcntl, file, F_SETOWN_EX, (long)&owner, 0, 0, 0))) ||
	    fm_system_call(SYS_ioctl, file, PERF_EVENT_IOC_ID, (long)&timer.id, 0, 0, 0)) {
		fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
		return -ENOTSUP;
	}
	timer.file = (int)file;
	note_file(timer.file, true);
	timer.kind = traps ? PERF_TRAP : PERF;
	timer.period = 0;
	return 0;
}

static int start_posix(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = FM_TIMER_SIGNAL};
	long result;

	event._sigev_un._tid = fm_thread_id();
	result = fm_system_call(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, (long)&event, (long)&timer.number, 0, 0, 0);
	if (result < 0)
		return (int)result;
	timer.kind = POSIX;
	return 0;
}

enum fm_stream_sampler fm_timer_probe(int *ret_error)
{
	struct timespec coarse = {0};
	struct rlimit limit = {.rlim_cur = FEW_FILES};
	long file = open_event(false);

	if (!fm_system_call(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, (long)&coarse, 0, 0, 0, 0) && coarse.tv_nsec > 0)
		tick = (uint64_t)coarse.tv_nsec;
	*ret_error = file < 0 ? (int)-file : 0;
	possible = FM_SAMPLER_PERF;
	/* a program that may have few files may need each of them */
	fm_system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, (long)&limit, 0, 0);
	if (file >= 0 && limit.rlim_cur < FEW_FILES) {
		fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
		file = -EMFILE;
		*ret_error = EMFILE;
	}
	if (file >= 0) {
		fm_system_call(SYS_close, file, 0, 0, 0, 0, 0);
		return possible;
	}
	possible = FM_SAMPLER_CPU_TIMER;
	if (start_posix())
		possible = FM_SAMPLER_NONE;
	else
		fm_timer_stop();
	return possible;
}

int fm_timer_start(bool main_thread)
{
	if (timer.kind != NONE)
		return 0;
	if (main_thread && possible == FM_SAMPLER_PERF && !start_event())
		return 0;
	return start_posix();
}

static bool file_is_ours(void)
{
	uint64_t id = 0;

	return !fm_system_call(SYS_ioctl, timer.file, PERF_EVENT_IOC_ID, (long)&id, 0, 0, 0) && id == timer.id;
}

void fm_timer_stop(void)
{
	int kind = timer.kind;

	timer.kind = NONE;
	if (kind >= PERF && file_is_ours())
		close_file(timer.file);
	if (kind == POSIX)
		fm_system_call(SYS_timer_delete, timer.number, 0, 0, 0, 0, 0);
}

void fm_timer_forked(void)
{
	/* those of other threads as well, which do not exist here */
	for (unsigned file = 0; (file = fm_timer_next_file(file)) != UINT_MAX; file++)
		close_file((int)file);
	timer.kind = NONE;
	timer.armed = 0;
}

/* Exponentially distributed with mean 1, near enough: the probability that a thread is sampled must be in proportion to
   its processor time however short it lives. -log2 of a random number is the zeros before its first bit, and a rest
   between 0 and 1. */
static double exponential(void)
{
	uint64_t random = fm_self_random() | 1;
	int zeros = __builtin_clzll(random);
	double rest = 1 - (double)(random << zeros << 1 >> 12) / (double)(1ull << 52);

	return 0.6931 * (zeros + rest);
}

static bool arm_once(uint64_t wait)
{
	return !fm_system_call(SYS_ioctl, timer.file, PERF_EVENT_IOC_PERIOD, (long)&wait, 0, 0, 0) &&
	       !fm_system_call(SYS_ioctl, timer.file, PERF_EVENT_IOC_REFRESH, 1, 0, 0, 0);
}

/* It goes on with its period by itself. */
static bool arm_trap(uint64_t ns, uint64_t wait, bool first)
{
	bool enabled = timer.period;

	if (enabled && !timer.was_first && ++timer.since_drawn < DRAW_EVERY && ns < 2 * timer.average &&
	    timer.average < 2 * ns) {
		timer.armed = timer.period; /* what it really is */
		return true;
	}
	timer.since_drawn = 0;
	timer.was_first = first;
	timer.average = ns;
	timer.period = wait;
	if (!first)
		timer.armed = wait;
	return !fm_system_call(SYS_ioctl, timer.file, PERF_EVENT_IOC_PERIOD, (long)&wait, 0, 0, 0) &&
	       (enabled || !fm_system_call(SYS_ioctl, timer.file, PERF_EVENT_IOC_ENABLE, 0, 0, 0, 0));
}

/* `margin`: 2 for a thread that would change to a perf event, so that it does not change back soon. */
static bool switches_often(unsigned margin)
{
	struct rusage usage = {.ru_nvcsw = 0};
	double ns, switches;

	if (fm_failed(fm_system_call(SYS_getrusage, RUSAGE_THREAD, (long)&usage, 0, 0, 0, 0)))
		return false;
	ns = ((double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec) * 1e9 +
	     ((double)usage.ru_utime.tv_usec + (double)usage.ru_stime.tv_usec) * 1e3;
	switches = (double)usage.ru_nvcsw + (double)usage.ru_nivcsw;
	return switches * SWITCH_NS * LEAST_SHARE * margin > ns;
}

static void change_to_posix(void)
{
	bool ours = file_is_ours();
	int file = timer.file;

	if (start_posix())
		return;
	if (ours)
		close_file(file);
	else
		note_file(file, false);
	timer.period = 0;
}

void fm_timer_arm(uint64_t ns)
{
	uint64_t wait = ns;
	struct itimerspec once = {0};
	bool first = !timer.armed;

	if (timer.kind == NONE)
		return;
	if (timer.kind >= PERF && !first && switches_often(1))
		change_to_posix();
	/* a thread that has lived long enough to be sampled once gets the better kind */
	if (timer.kind == POSIX && possible == FM_SAMPLER_PERF && timer.armed && !switches_often(2)) {
		int number = timer.number;

		if (!start_event())
			fm_system_call(SYS_timer_delete, number, 0, 0, 0, 0, 0);
	}
	timer.passes_over = 0;
	if (timer.kind == POSIX && possible == FM_SAMPLER_PERF) {
		timer.armed = ns > tick ? ns : tick;
		timer.passes_over = ns > tick ? (uint32_t)((1 - (double)tick / (double)ns) * UINT32_MAX) : 0;
		once.it_value.tv_nsec = 1000;
		fm_system_call(SYS_timer_settime, timer.number, 0, (long)&once, 0, 0, 0);
		return;
	}
	timer.armed = ns;
	if (timer.kind == POSIX) {
		timer.armed = ns > tick ? ns + tick / 2 : tick; /* it is looked at once in a tick */
		wait = (uint64_t)((double)ns * exponential()) + 1000;
		once.it_value.tv_sec = (time_t)(wait / 1000000000);
		once.it_value.tv_nsec = (long)(wait % 1000000000);
		fm_system_call(SYS_timer_settime, timer.number, 0, (long)&once, 0, 0, 0);
		return;
	}
	/* not too evenly: programs have rhythms of their own; and the first time any time, for processes that live
	 * short */
	wait = first ? (uint64_t)((double)ns * exponential()) : ns / 2 + fm_self_random() % (ns + 1);
	if (wait < SHORTEST)
		wait = SHORTEST;
	if (!(timer.kind == PERF_TRAP ? arm_trap(ns, wait, first) : arm_once(wait))) {
		note_file(timer.file, false);
		timer.kind = NONE; /* the program has closed it */
		if (!start_event())
			fm_timer_arm(ns);
	}
}

void fm_timer_disarm(void)
{
	if (timer.kind == PERF_TRAP && timer.period)
		fm_system_call(SYS_ioctl, timer.file, PERF_EVENT_IOC_DISABLE, 0, 0, 0, 0);
	timer.period = 0;
}

bool fm_timer_passes_over(void)
{
	uint32_t limit = timer.passes_over;

	timer.passes_over = 0;
	return limit && (uint32_t)(fm_self_random() >> 32) < limit;
}

void fm_timer_lost_file(int file)
{
	note_file(file, false);
	if (timer.kind >= PERF && timer.file == file) {
		uint64_t average = timer.armed;

		timer.kind = NONE;
		timer.armed = 0;
		if (!start_event())
			fm_timer_arm(average ? average : tick);
	}
}

uint64_t fm_timer_period(void)
{
	return timer.armed;
}

bool fm_timer_is_source(const siginfo_t *information)
{
	struct trap_information trap;

	/* Also one that was on its way when the timer was stopped: it would end the program. */
	__builtin_memcpy(&trap, information, sizeof(trap));
	if (information->si_signo == SIGTRAP)
		return trap.code == TRAP_BY_PERF && trap.data == OUR_DATA;
	if (timer.kind == PERF)
		return information->si_code >= POLL_IN && information->si_code <= POLL_HUP &&
		       information->si_fd == timer.file;
	return timer.kind == POSIX && information->si_code == SI_TIMER && information->si_timerid == timer.number;
}
