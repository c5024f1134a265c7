#include "base/disturbance.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/tuning.h"

enum { HEARTBEAT_ADDITIONS = 16384, FIRST_BEATS = 20 };

double fm_heartbeat(void)
{
	uint64_t begin = fm_clock_now();
	uint64_t sum = 0;

#if defined(__x86_64__)
	uint64_t rounds = HEARTBEAT_ADDITIONS / 16;

	/* register plus register, see kernels/x86_64/step.S for why; written here because base stands alone */
	__asm__ volatile("1:\n\t.rept 16\n\taddq %2, %0\n\t.endr\n\tsubq $1, %1\n\tjnz 1b"
	                 : "+r"(sum), "+r"(rounds)
	                 : "r"((uint64_t)1)
	                 : "cc");
#else
	for (unsigned i = 0; i < HEARTBEAT_ADDITIONS; i++) {
		__asm__ volatile("" : "+r"(sum));
		sum += i;
	}
#endif
	return (double)(fm_clock_now() - begin) / HEARTBEAT_ADDITIONS;
}

static size_t read_again(int file, char *buffer, size_t size)
{
	ssize_t length = file < 0 ? -1 : pread(file, buffer, size - 1, 0);

	if (length < 0)
		length = 0;
	buffer[length] = 0;
	return (size_t)length;
}

/* Nanoseconds this thread was runnable but not running. */
static uint64_t wait_time(const struct fm_disturbance_watch *watch)
{
	char line[128];
	unsigned long long ran, waited;

	read_again(watch->schedstat, line, sizeof(line));
	return sscanf(line, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

/* user nice system idle iowait irq softirq steal, in ticks of 1/USER_HZ */
static int64_t steal_of(const char *numbers)
{
	unsigned long long steal;

	if (sscanf(numbers, "%*u %*u %*u %*u %*u %*u %*u %llu", &steal) != 1)
		return -1;
	return (int64_t)(steal * (1000000000ull / (unsigned long long)sysconf(_SC_CLK_TCK)));
}

/* Of one CPU, or of all (-1). Their lines come first in the file, which has hundreds of them on large machines. */
static int64_t steal_time(int file, int cpu)
{
	char text[4096], name[16];
	off_t at = 0;

	snprintf(name, sizeof(name), cpu < 0 ? "cpu " : "cpu%d ", cpu);
	for (;;) {
		ssize_t length = file < 0 ? -1 : pread(file, text, sizeof(text) - 1, at);
		char *line = text, *end;

		if (length <= 0)
			return -1;
		text[length] = 0;
		for (; (end = strchr(line, '\n')); line = end + 1) {
			if (!strncmp(line, name, strlen(name)))
				return steal_of(line + strlen(name));
			if (strncmp(line, "cpu", 3) != 0)
				return -1;
		}
		if (line == text)
			return -1;
		at += line - text;
	}
}

int64_t fm_disturbance_steal_now(void)
{
	int file = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	int64_t steal = steal_time(file, -1);

	if (file >= 0)
		close(file);
	return steal;
}

void fm_disturbance_open(struct fm_disturbance_watch *watch)
{
	memset(watch, 0, sizeof(*watch));
	watch->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	watch->stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < FIRST_BEATS; i++) {
		double beat = fm_heartbeat();

		if (!i || beat < watch->total.heartbeat_best)
			watch->total.heartbeat_best = beat;
	}
	watch->total.heartbeat_worst = watch->total.heartbeat_best;
	watch->started_ns = fm_clock_now();
	watch->steal_cpu = sched_getcpu();
	watch->steal_before = steal_time(watch->stat, watch->steal_cpu);
	watch->steal_first = steal_time(watch->stat, -1);
	watch->steal_read_ns = watch->started_ns;
}

void fm_disturbance_close(struct fm_disturbance_watch *watch)
{
	if (watch->schedstat >= 0)
		close(watch->schedstat);
	if (watch->stat >= 0)
		close(watch->stat);
	watch->schedstat = watch->stat = -1;
	fm_sample_free(&watch->beats);
}

void fm_disturbance_begin(struct fm_disturbance_watch *watch)
{
	watch->wait_before = wait_time(watch);
	watch->beat_before = fm_heartbeat();
}

static bool is_same(double beat, double other)
{
	return fabs(beat / other - 1) < CLOCK_SAME;
}

/* Slower than before, by the same factor in many trials for a second: the machine has this clock, too. */
static void follow_clock(struct fm_disturbance_watch *watch, double beat, uint64_t now)
{
	if (watch->steady_trials && is_same(beat, watch->steady)) {
		watch->steady_trials++;
	} else {
		watch->steady = beat;
		watch->steady_since = now;
		watch->steady_trials = 1;
	}
	if (watch->steady_trials >= STEADY_TRIALS && now - watch->steady_since >= STEADY_NS)
		watch->other = watch->steady;
}

bool fm_disturbance_end(struct fm_disturbance_watch *watch, bool may_wait, double *ret_beat)
{
	struct fm_disturbance *total = &watch->total;
	double beat_after = fm_heartbeat();
	double beat = watch->beat_before < beat_after ? watch->beat_before : beat_after;
	double slowest = watch->beat_before > beat_after ? watch->beat_before : beat_after;
	uint64_t waited = may_wait ? 0 : wait_time(watch) - watch->wait_before;
	uint64_t now = fm_clock_now();
	bool cause[FM_DISTURBANCE_CAUSES];
	bool disturbed = false;

	if (beat < total->heartbeat_best)
		total->heartbeat_best = beat;
	if (slowest > total->heartbeat_worst)
		total->heartbeat_worst = slowest;
	cause[FM_DISTURBANCE_WAITED] = waited > TOLERATED_WAIT_NS;
	cause[FM_DISTURBANCE_STOLEN] = false;
	if (now - watch->steal_read_ns > STEAL_INTERVAL_NS) {
		int cpu = sched_getcpu();
		int64_t steal = steal_time(watch->stat, cpu), all = steal_time(watch->stat, -1);

		/* a large machine always loses some time on some CPU */
		cause[FM_DISTURBANCE_STOLEN] = !may_wait && cpu == watch->steal_cpu && steal > watch->steal_before;
		watch->steal_cpu = cpu;
		watch->steal_before = steal;
		watch->steal_read_ns = now;
		total->stolen_ns = all < 0 ? 0 : (uint64_t)(all - watch->steal_first);
	}
	/* Both heartbeats slow: one alone may have met an interrupt that the trial itself did not. */
	cause[FM_DISTURBANCE_HEARTBEAT] =
	    beat > CLOCK_SLOW * total->heartbeat_best && !(watch->other > 0 && is_same(beat, watch->other));
	if (cause[FM_DISTURBANCE_HEARTBEAT])
		follow_clock(watch, beat, now);
	for (int i = 0; i < FM_DISTURBANCE_CAUSES; i++) {
		total->cause[i] += cause[i];
		disturbed |= cause[i];
	}
	/* without memory for it the clock rests on fewer */
	if (!cause[FM_DISTURBANCE_WAITED] && !cause[FM_DISTURBANCE_STOLEN])
		fm_sample_add(&watch->beats, beat);
	total->trials++;
	total->disturbed += disturbed;
	total->waited_ns += waited;
	total->elapsed_ns = now - watch->started_ns;
	if (ret_beat)
		*ret_beat = beat;
	return disturbed;
}

struct fm_figure fm_disturbance_clock(const struct fm_disturbance_watch *watch)
{
	struct fm_sample beats = {0};
	struct fm_figure clock = fm_figure_unavailable("the core clock was not measured");
	double sum = 0;

	for (unsigned i = 0; i < watch->beats.count; i++)
		if (watch->beats.values[i] < BEAT_INTERRUPTED * watch->total.heartbeat_best &&
		    !fm_sample_add(&beats, watch->beats.values[i]))
			sum += watch->beats.values[i];
	if (beats.count) {
		double mean = sum / beats.count, slow, fast;

		fm_statistics_sort(beats.values, beats.count);
		fast = fm_statistics_quantile_sorted(beats.values, beats.count, 0.025);
		slow = fm_statistics_quantile_sorted(beats.values, beats.count, 0.975);
		clock = fm_figure_make(1 / mean, 1 / fmax(slow, mean), 1 / fmin(fast, mean), "GHz", FM_ORIGIN_measured,
		                       "kernels", beats.count);
	}
	fm_sample_free(&beats);
	return clock;
}

double fm_disturbance_share(const struct fm_disturbance *disturbance)
{
	return disturbance->trials ? (double)disturbance->disturbed / (double)disturbance->trials : 0;
}
