/* How much of the program's processor time was seen, by the kernel's accounting: of the program, and of all that it
   waited for. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe/parts.h"

/* What a process needs before our library is there, s: to be executed, and to be linked. */
#define STARTING 0.002
/* Too short to speak of, s. */
#define NEGLIGIBLE 0.01
/* Code in which everything is logged is slower by far, and by how much is not measured: for a share, instructions per
   cycle as programs usually have them are near enough (judged). */
#define USUAL_RATE 1.5

/* s of native time. */
struct unseen {
	double threads, processes, filtered, outside;
};

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

static const struct fm_results *results_of(const struct fm_engine_run *run, unsigned index)
{
	return index ? run->forked[index - 1] : run->results;
}

static size_t say(char *why, size_t size, size_t used, double seconds, const char *what)
{
	if (seconds < NEGLIGIBLE || used >= size)
		return used;
	return used + (size_t)snprintf(why + used, size - used, "%s%.2g s %s", used ? ", " : "", seconds, what);
}

void fm_seen_share(const struct fm_engine_run *run, double hertz, struct fm_recorded_run *recorded)
{
	double used = seconds_of(&run->used.ru_utime) + seconds_of(&run->used.ru_stime), traced = 0, seen = 0,
	       starting = STARTING * (1 + run->forked_count), rest, all;
	struct unseen unseen = {0};
	bool filtered = false;
	size_t length = 0;

	if (!(used > 0))
		return;
	for (unsigned i = 0; i <= run->forked_count; i++) {
		const struct fm_results *results = results_of(run, i);
		double ticks = (double)(results->signals_in_cache + results->signals_outside),
		       own = run->results->native > 1 ? fm_same_run_of(run, i)
		                                      : (double)results->all_work.instructions / (USUAL_RATE * hertz),
		       inside = ticks > 0 ? (double)results->signals_in_cache / ticks : 1;

		traced += (double)results->cpu_ns * 1e-9;
		unseen.threads += fmax(0, (double)results->cpu_ns - (double)results->threads_ns) * 1e-9;
		unseen.outside += own * (1 - inside);
		seen += own * inside;
		filtered |= results->native_error == EPERM;
	}
	rest = fmax(0, used - traced - starting);
	*(filtered ? &unseen.filtered : &unseen.processes) = rest;
	unseen.threads = fmax(0, unseen.threads - starting);
	all = seen + unseen.threads + unseen.processes + unseen.filtered + unseen.outside;
	if (!(all > 0))
		return;
	recorded->seen_share = seen / all;
	length = say(recorded->unseen_why, sizeof(recorded->unseen_why), length, unseen.threads,
	             "in threads made by a raw clone() or for which there was no room");
	length = say(recorded->unseen_why, sizeof(recorded->unseen_why), length, unseen.processes,
	             "in processes without the library (static, setuid, another C library, or started with another "
	             "environment)");
	length = say(recorded->unseen_why, sizeof(recorded->unseen_why), length, unseen.filtered,
	             "after the program had limited its system calls (seccomp)");
	say(recorded->unseen_why, sizeof(recorded->unseen_why), length, unseen.outside,
	    "in code that the code cache does not take");
	/* all that is missing is too little to speak of */
	if (!*recorded->unseen_why)
		recorded->seen_share = 1;
}
