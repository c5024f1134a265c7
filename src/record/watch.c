#include "record/watch.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/log.h"
#include "record/timer.h"

enum { TRAP_BY_PERF = 6, WORD = 8, TRIALS = 7, PACE_INTERVALS = 8, PACE_TERM = 2, WINDOW_BITS = 0xffffff };

/* What the kernel tells of a signal that a perf event sent by itself. */
struct trap_information {
	int32_t number, error, code, unused;
	uint64_t address, data;
};
#define OUR_DATA 0x46617457ull /* in the upper half; below it the window and the watchpoint */

static bool is_open;
static uint64_t cycle;   /* ns from a touch to the instruction after it */
static uint64_t latency; /* ns from a touch to its handler's look at the clock */

/* while it is tried out */
static volatile uint64_t trial_word[8] __attribute__((aligned(64)));
static volatile uint64_t trial_hit;
static volatile bool trying;
static struct fm_watches trial;

uint64_t fm_watch_now(void)
{
	struct timespec time = {0};

	fm_system_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&time, 0, 0, 0, 0);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

bool fm_watch_is_open(void)
{
	return is_open;
}

static struct perf_event_attr attributes_of(uint64_t word, uint64_t data)
{
	return (struct perf_event_attr){
	    .type = PERF_TYPE_BREAKPOINT,
	    .size = sizeof(struct perf_event_attr),
	    .bp_type = HW_BREAKPOINT_RW,
	    .bp_addr = word * WORD,
	    .bp_len = HW_BREAKPOINT_LEN_8,
	    .sample_period = 1,
	    .disabled = 1,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	    .sigtrap = 1,
	    .remove_on_exec = 1,
	    .sig_data = data,
	};
}

static bool is_ours(const struct fm_watches *watches, unsigned point)
{
	uint64_t id = 0;

	return watches->files[point] &&
	       !fm_system_call(SYS_ioctl, watches->files[point] - 1, PERF_EVENT_IOC_ID, (long)&id, 0, 0, 0) &&
	       id == watches->ids[point];
}

static long make_point(struct fm_watches *watches, unsigned point, struct perf_event_attr *attributes)
{
	long file = fm_system_call(SYS_perf_event_open, (long)attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);

	if (file < 0)
		return file;
	file = fm_timer_keep_file(file);
	watches->files[point] = (int)file + 1;
	return fm_system_call(SYS_ioctl, file, PERF_EVENT_IOC_ID, (long)&watches->ids[point], 0, 0, 0);
}

/* Fires at every touch, until its handler disarms it: an event that may fire once (PERF_EVENT_IOC_REFRESH) and sends
   SIGTRAP does so only the first time that it is armed. */
static long arm(struct fm_watches *watches, unsigned point, uint64_t word, uint32_t window)
{
	uint64_t data = OUR_DATA << 32 | (uint64_t)(window & WINDOW_BITS) << 8 | point;
	struct perf_event_attr attributes = attributes_of(word, data);
	long result;

	if (is_ours(watches, point))
		result = fm_system_call(SYS_ioctl, watches->files[point] - 1, PERF_EVENT_IOC_MODIFY_ATTRIBUTES,
		                        (long)&attributes, 0, 0, 0);
	else
		result = make_point(watches, point, &attributes);
	if (result >= 0)
		result = fm_system_call(SYS_ioctl, watches->files[point] - 1, PERF_EVENT_IOC_ENABLE, 0, 0, 0, 0);
	return result;
}

static void disarm(struct fm_watches *watches, uint32_t points)
{
	for (unsigned point = 0; point < FM_WATCHPOINTS; point++)
		if ((points >> point & 1) && is_ours(watches, point))
			fm_system_call(SYS_ioctl, watches->files[point] - 1, PERF_EVENT_IOC_DISABLE, 0, 0, 0, 0);
}

static void close_points(struct fm_watches *watches)
{
	for (unsigned point = 0; point < FM_WATCHPOINTS; point++) {
		if (is_ours(watches, point))
			fm_timer_close_file(watches->files[point] - 1);
		watches->files[point] = 0;
	}
}

/* A touch of the word for the clock. The first one begins, the last one ends. */
static void note_touch(struct fm_watches *watches, struct fm_watch *watch)
{
	uint64_t now = fm_watch_now();

	if (watch->state != FM_WATCH_ARMED)
		return;
	if (!watch->hits++) {
		watch->began_ns = now;
		watch->own_ns_before = watches->own_ns;
		watch->references_before = watches->references;
	} else {
		watch->hit_ns = now;
		watch->own_ns_hit = watches->own_ns;
		watch->references_hit = watches->references;
	}
	/* what it takes to come back counts as ours */
	watches->own_ns += cycle;
	watches->unpaid_ns += cycle;
	if (watch->hits > PACE_INTERVALS) {
		watch->state = FM_WATCH_HIT;
		disarm(watches, watch->points);
	}
}

bool fm_watch_note(struct fm_watches *watches, const siginfo_t *information)
{
	struct trap_information trap;
	struct fm_watch *watch;
	unsigned point;

	__builtin_memcpy(&trap, information, sizeof(trap));
	if (trap.code != TRAP_BY_PERF || trap.data >> 32 != OUR_DATA)
		return false;
	if (trying) {
		trial_hit = fm_watch_now();
		return true;
	}
	point = trap.data & 0xff;
	if (!watches || point >= FM_WATCHPOINTS || !fm_is_alive())
		return true;
	watch = fm_watch_slots_of(&watches->slots, point);
	/* not a late signal of a watch that had this watchpoint before */ if (watch && watch->is_pace) {
		note_touch(watches, watch);
		return true;
	}
	if (watch && watch->state == FM_WATCH_ARMED &&
	    (trap.data >> 8 & WINDOW_BITS) == (watch->window & WINDOW_BITS)) {
		watch->hit_ns = fm_watch_now();
		disarm(watches, watch->points);
		watch->own_ns_hit = watches->own_ns;
		watch->references_hit = watches->references;
		watch->state = FM_WATCH_HIT;
		watches->own_ns += latency;
		watches->unpaid_ns += latency;
	}
	return true;
}

static uint64_t middle(uint64_t *values)
{
	for (unsigned i = 1; i < TRIALS; i++)
		for (unsigned k = i; k > 0 && values[k] < values[k - 1]; k--) {
			uint64_t kept = values[k];

			values[k] = values[k - 1];
			values[k - 1] = kept;
		}
	return values[TRIALS / 2];
}

int fm_watch_open(void)
{
	uint64_t latencies[TRIALS], cycles[TRIALS];
	long result = 0;

	trying = true;
	for (unsigned i = 0; i < TRIALS && result >= 0; i++) {
		uint64_t began;

		trial_hit = 0;
		result = arm(&trial, 0, (uint64_t)trial_word / WORD, 0);
		if (result < 0)
			break;
		began = fm_watch_now();
		trial_word[0] = i;
		/* the signal comes before the next instruction */
		cycles[i] = fm_watch_now() - began;
		latencies[i] = trial_hit - began;
		if (!trial_hit)
			result = -ENOTSUP;
	}
	close_points(&trial);
	trying = false;
	is_open = result >= 0;
	if (is_open) {
		latency = middle(latencies);
		cycle = middle(cycles);
	}
	return result < 0 ? (int)result : 0;
}

uint64_t fm_watch_cycle(void)
{
	return cycle;
}

unsigned fm_watch_room(const struct fm_watches *watches)
{
	return is_open ? (unsigned)__builtin_popcount(fm_watch_slots_free(&watches->slots)) : 0;
}

bool fm_watch_begin(struct fm_watches *watches, const uint64_t *words, unsigned count, float share, uint32_t window,
                    uint32_t position)
{
	struct fm_watch *watch = fm_watch_slots_take(&watches->slots, count, fm_self_random());
	unsigned done = 0;
	long result = 0;

	if (!watch)
		return false;
	watch->window = window;
	watch->position = position;
	watch->share = share;
	watch->line = words[0] / WORD;
	for (unsigned point = 0; point < FM_WATCHPOINTS && result >= 0; point++)
		if (watch->points >> point & 1)
			result = arm(watches, point, words[done++], window);
	if (result < 0 || done < count) {
		disarm(watches, watch->points);
		fm_watch_slots_release(watch);
		if (result < 0 && !fm_process->watch_error)
			fm_process->watch_error = (int32_t)-result;
		return false;
	}
	watch->own_ns_before = watches->own_ns;
	watch->references_before = watches->references;
	watch->began_ns = fm_watch_now();
	return true;
}

static void write_end(struct fm_watches *watches, struct fm_watch *watch, enum fm_stream_watch_end end, uint64_t now,
                      uint64_t own_ns, uint64_t references)
{
	uint64_t own = own_ns - watch->own_ns_before + (end == FM_WATCH_REUSED ? latency : 0);
	struct fm_stream_watched watched = {.window = watch->window,
	                                    .position = watch->position,
	                                    .end = end,
	                                    .share = watch->share,
	                                    .ns = now > watch->began_ns + own ? now - watch->began_ns - own : 0,
	                                    .burst = references - watch->references_before};

	disarm(watches, watch->points);
	fm_log_write(FM_STREAM_WATCHED, &watched, sizeof(watched));
	fm_watch_slots_release(watch);
}

void fm_watch_pace(struct fm_watches *watches, const struct fm_rhythm_choice *choice)
{
	struct fm_watch *watch = fm_watch_slots_take(&watches->slots, 1, fm_self_random());

	if (!watch)
		return;
	watch->is_pace = true;
	watch->term = PACE_TERM;
	watches->choice = *choice;
	for (unsigned point = 0; point < FM_WATCHPOINTS; point++)
		if ((watch->points >> point & 1) && arm(watches, point, choice->word, 0) < 0)
			fm_watch_slots_release(watch);
}

static void write_pace(struct fm_watches *watches, struct fm_watch *watch)
{
	uint64_t own = watch->own_ns_hit - watch->own_ns_before;
	struct fm_stream_pace pace = {.gap = watches->choice.gap,
	                              .variation = watches->choice.variation,
	                              .gaps = watches->choice.gaps,
	                              .trap_ns = (double)cycle,
	                              .intervals = watch->hits - 1};

	disarm(watches, watch->points);
	/* touches while a burst was at work may be lost */
	if (watch->hits > 2 && watch->references_hit == watch->references_before &&
	    watch->hit_ns > watch->began_ns + own) {
		pace.ns = (double)(watch->hit_ns - watch->began_ns - own) / pace.intervals;
		fm_log_write(FM_STREAM_PACE, &pace, sizeof(pace));
	}
	fm_watch_slots_release(watch);
}

static uint32_t find_line(const uint64_t *words, uint32_t count, uint64_t line)
{
	uint32_t at = 0;

	while (at < count && words[at] / WORD != line)
		at++;
	return at;
}

void fm_watch_pass(struct fm_watches *watches, const uint64_t *words, uint32_t count, uint64_t began_ns)
{
	for (unsigned i = 0; i < FM_WATCHPOINTS; i++) {
		struct fm_watch *watch = &watches->slots.watches[i];
		uint32_t at;

		if (watch->is_pace && watch->state != FM_WATCH_FREE) {
			if (watch->state == FM_WATCH_HIT || fm_watch_slots_expired(watch))
				write_pace(watches, watch);
			continue;
		}
		if (watch->state == FM_WATCH_HIT) {
			write_end(watches, watch, FM_WATCH_REUSED, watch->hit_ns, watch->own_ns_hit,
			          watch->references_hit);
			continue;
		}
		if (watch->state != FM_WATCH_ARMED)
			continue;
		at = find_line(words, count, watch->line);
		if (at < count) {
			/* no trap to subtract */
			write_end(watches, watch, FM_WATCH_REUSED, began_ns + latency, watches->own_ns,
			          watches->references + at);
		} else if (fm_watch_slots_expired(watch)) {
			write_end(watches, watch, FM_WATCH_GIVEN_UP, began_ns, watches->own_ns, watches->references);
		}
	}
}

void fm_watch_end(struct fm_watches *watches)
{
	uint64_t now = fm_watch_now();

	for (unsigned i = 0; i < FM_WATCHPOINTS; i++) {
		struct fm_watch *watch = &watches->slots.watches[i];

		if (watch->is_pace && watch->state != FM_WATCH_FREE)
			write_pace(watches, watch);
		else if (watch->state == FM_WATCH_HIT)
			write_end(watches, watch, FM_WATCH_REUSED, watch->hit_ns, watch->own_ns_hit,
			          watch->references_hit);
		else if (watch->state == FM_WATCH_ARMED)
			write_end(watches, watch, FM_WATCH_ENDED, now, watches->own_ns, watches->references);
	}
	close_points(watches);
}

void fm_watch_forked(struct fm_watches *watches)
{
	memset(watches, 0, sizeof(*watches));
}
