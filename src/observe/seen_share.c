/* Coverage of the program's processor time, by the kernel's accounts of the program and its awaited children. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe/assumed.h"
#include "observe/parts.h"
#include "observe/session.h"
#include "record/stream.h"

/* s of native time. */
struct unseen {
	double threads, processes, filtered, limited, outside;
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
	if (seconds < FM_UNSEEN_REPORTED || used >= size)
		return used;
	return used + (size_t)snprintf(why + used, size - used, "%s%.2g s %s", used ? ", " : "", seconds, what);
}

/* Why processes are without the library. */
static const char *reason(const uint32_t foreign[FM_FOREIGN_KINDS])
{
	return foreign[FM_FOREIGN_TRACED] ? "in processes that a debugger or tracer watched"
	       : foreign[FM_FOREIGN_EMULATED]
	           ? "in processes under Valgrind"
	           : "in processes without the library (static, setuid, another C library, or "
	             "started with another environment)";
}

void fm_seen_share(const struct fm_engine_run *run, double hertz, struct fm_recorded_run *recorded)
{
	double used = seconds_of(&run->used.ru_utime) + seconds_of(&run->used.ru_stime), traced = 0, seen = 0,
	       starting = FM_PRELOAD_SECONDS * (1 + run->forked_count), rest, all;
	struct unseen unseen = {0};
	bool filtered = false, limited = false;
	size_t length = 0;

	if (!(used > 0))
		return;
	for (unsigned i = 0; i <= run->forked_count; i++) {
		const struct fm_results *results = results_of(run, i);
		double ticks = (double)(results->signals_in_cache + results->signals_outside),
		       own = run->results->native > 1
		                 ? fm_same_run_of(run, i)
		                 : (double)results->all_work.instructions / (FM_USUAL_RATE * hertz),
		       inside = ticks > 0 ? (double)results->signals_in_cache / ticks : 1;

		traced += (double)results->cpu_ns * 1e-9;
		unseen.threads += fmax(0, (double)results->cpu_ns - (double)results->threads_ns) * 1e-9;
		unseen.outside += own * (1 - inside);
		seen += own * inside;
		filtered |= results->native_error == EPERM;
		limited |= results->native_error == EDQUOT;
	}
	rest = fmax(0, used - traced - starting);
	unseen.processes = rest;
	if (filtered || limited) {
		*(filtered ? &unseen.filtered : &unseen.limited) = rest + unseen.threads;
		unseen.processes = unseen.threads = 0;
	}
	unseen.threads = fmax(0, unseen.threads - starting);
	all = seen + unseen.threads + unseen.processes + unseen.filtered + unseen.limited + unseen.outside;
	if (!(all > 0))
		return;
	recorded->seen_share = fmax(FM_SEEN_LEAST, seen / all); /* 0 would be: not known */
	length = say(recorded->unseen_why, sizeof(recorded->unseen_why), length, unseen.threads,
	             "in threads made by a raw clone() or for which there was no room");
	length =
	    say(recorded->unseen_why, sizeof(recorded->unseen_why), length, unseen.processes, reason(run->foreign));
	length = say(recorded->unseen_why, sizeof(recorded->unseen_why), length, unseen.filtered,
	             "after the program had limited its system calls (seccomp)");
	length = say(recorded->unseen_why, sizeof(recorded->unseen_why), length, unseen.limited,
	             "at native speed, since the program's processor time is limited (ulimit -t)");
	say(recorded->unseen_why, sizeof(recorded->unseen_why), length, unseen.outside,
	    "in code that the code cache does not take");
	/* all that is missing is too little to speak of */
	if (!*recorded->unseen_why)
		recorded->seen_share = 1;
}

/* Time without a sample. With used-up fuel there was no reference to sample, and the time is covered. In the rest,
   which is returned, the sampler failed. */
static double not_sampled(const struct fm_recording *recording, double *ret_without_references)
{
	double without = 0, seconds = 0;

	for (size_t i = 0; i < recording->missed_count; i++)
		*(strstr(recording->missed[i].reason, "fuel") ? &without : &seconds) += recording->missed[i].seconds;
	*ret_without_references = without;
	return fmin(seconds, recording->sampling.threads_seconds);
}

/* Time of threads whose timers the program has ended, for example by closing files that it did not open. */
static double without_timers(const struct fm_session *session, const struct fm_recording *recording, double missed)
{
	const struct fm_recorded_sampling *sampling = &recording->sampling;
	double sampled = 0, each = 0, rest;

	/* samples begin late, end early, or were stopped */
	if (session->delay || session->duration || session->full || session->rate > 0)
		return 0;
	for (size_t i = 0; i < recording->samples_count; i++) {
		if (recording->samples[i].flags & FM_SAMPLE_LEVEL_ONLY)
			continue;
		sampled += recording->samples[i].weight;
		each = fmax(each, recording->samples[i].weight);
	}
	rest = fmax(0, sampling->threads_seconds - missed);
	if (!recording->samples_count)
		return rest > FM_SAMPLELESS_SECONDS ? rest : 0;
	return sampling->threads_seconds > FM_EXPECTED_SAMPLES * each && sampled < FM_SAMPLED_LEAST * rest
	           ? rest - sampled
	           : 0;
}

void fm_seen_share_sampled(double used, const struct fm_session *session, struct fm_recording *recording)
{
	struct fm_recorded_sampling *sampling = &recording->sampling;
	struct fm_recorded_run *run = &recording->run;
	double starting = FM_PRELOAD_SECONDS * (double)(recording->sampled_processes_count + 1),
	       threads = fmax(0, sampling->cpu_seconds - sampling->threads_seconds - starting),
	       processes = fmax(0, used - sampling->cpu_seconds - starting), without,
	       missed = not_sampled(recording, &without), timers = without_timers(session, recording, missed + without),
	       all = fmax(used, sampling->cpu_seconds);
	size_t length = 0;

	if (!(all > 0))
		return;
	/* a share of the program's whole processor time, recorded or not */
	if (sampling->overhead.available && sampling->cpu_seconds > 0)
		sampling->overhead = fm_figure_scaled(&sampling->overhead, sampling->cpu_seconds / all, "share");
	length = say(run->unseen_why, sizeof(run->unseen_why), length, threads, "in threads made by a raw clone()");
	length = say(run->unseen_why, sizeof(run->unseen_why), length, processes,
	             fm_session_skipped(session)
	                 ? "in processes of programs that usually end within milliseconds (one in 64 is recorded)"
	                 : reason(session->foreign));
	length = say(run->unseen_why, sizeof(run->unseen_why), length, missed,
	             "in code that cannot be sampled, such as code that the program makes itself");
	say(run->unseen_why, sizeof(run->unseen_why), length, timers,
	    "in threads without samples (there was no room for the sampler, or the program closed its files)");
	run->seen_share =
	    *run->unseen_why ? fmax(FM_SEEN_LEAST, (all - threads - processes - missed - timers) / all) : 1;
}
