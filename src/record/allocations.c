#include "record/allocations.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "record/costs.h"
#include "record/log.h"
#include "preload/allocator.h"
#include "preload/hooks.h"
#include "record/tracking.h"
#include "preload/unwind.h"

enum {
	OWN_FRAMES = 8,        /* at most, between the unwinder and the program */
	FLUSH_CALLS = 1024,    /* a thread adds its counts to the process's after so many calls, … */
	FLUSH_TICKS = 1 << 16, /* … or so much time */
	LOOK_UP_CALLS = 12,    /* a look into a table in vain costs about as much as so many short ways */
	MEASURED_PAIRS = 64,
	MEASURED_TIMES = 8,
};

__thread struct fm_tracking fm_tracking __attribute__((tls_model("initial-exec")));

static bool opened, heap_is_ours;
static uint64_t interval_now = 1;
static uint64_t short_cost; /* ticks of the short way through, in 1/256 */
static uint64_t total_calls, total_ticks;

/* so that its release does not take the short way */
void fm_hook_reserved(const void *address)
{
	fm_live_suspect(address);
}

static bool is_tracking(void)
{
	return opened && fm_is_alive() && fm_session->track && !__atomic_load_n(&fm_session->stop, __ATOMIC_RELAXED);
}

static uint64_t cost_so_far(void)
{
	return (__atomic_load_n(&total_calls, __ATOMIC_RELAXED) * short_cost >> 8) +
	       __atomic_load_n(&total_ticks, __ATOMIC_RELAXED);
}

/* The calls since a count down began, without ending it. */
static void add_calls(void)
{
	if (fm_tracking.step && fm_self.until_tracked >= 0) {
		fm_self.calls += fm_tracking.step - 1 - (uint64_t)fm_self.until_tracked;
		fm_tracking.step = (uint64_t)fm_self.until_tracked + 1;
	}
	if (fm_tracking.counted_step && fm_tracking.until_counted >= 0) {
		fm_self.calls += fm_tracking.counted_step - 1 - (uint64_t)fm_tracking.until_counted;
		fm_tracking.counted_step = (uint64_t)fm_tracking.until_counted + 1;
	}
}

static void flush(void)
{
	struct fm_stream_process *process = fm_process;

	add_calls();
	if (process) {
		__atomic_fetch_add(&total_calls, fm_self.calls, __ATOMIC_RELAXED);
		__atomic_fetch_add(&total_ticks, fm_self.allocation_ticks, __ATOMIC_RELAXED);
		__atomic_fetch_add(&process->allocations, fm_self.calls, __ATOMIC_RELAXED);
		__atomic_fetch_add(&process->tracked, fm_self.tracked, __ATOMIC_RELAXED);
		__atomic_store_n(&process->allocation_ticks, cost_so_far(), __ATOMIC_RELAXED);
	}
	fm_self.calls = fm_self.tracked = fm_self.allocation_ticks = 0;
}

static void add_cost(uint64_t begun)
{
	fm_self.allocation_ticks += fm_ticks() - begun;
	if (fm_self.calls >= FLUSH_CALLS || fm_self.allocation_ticks >= FLUSH_TICKS)
		flush();
}

/* Natural logarithm of 0 < x <= 1; the mathematical library does not belong into other people's programs. */
static double logarithm(double x)
{
	uint64_t bits;
	double z, square;
	int exponent;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
	memcpy(&x, &bits, sizeof(x));
	if (x > 1.4142135623730951) {
		x /= 2;
		exponent++;
	}
	z = (x - 1) / (x + 1);
	square = z * z;
	return exponent * 0.6931471805599453 +
	       2 * z *
	           (1 +
	            square * (1. / 3 + square * (1. / 5 + square * (1. / 7 + square * (1. / 9 + square * (1. / 11))))));
}

/* Threads that begin one after the other, and forked children, draw numbers that have nothing to do with each other. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* How many calls up to and with the next one that is kept, when each is kept with the same chance. So the past has no
   bearing on it, a count down can be cut at any call, and begun again with another interval. */
static void begin_count_down(void)
{
	uint64_t interval = __atomic_load_n(&interval_now, __ATOMIC_RELAXED);
	double calls = 1;

	if (!fm_self.random)
		fm_self.random = mix(fm_ticks() + (uintptr_t)&fm_self);
	if (interval > 1) {
		double uniform = (double)((fm_self_random() >> 11) + 1) / 9007199254740992.;

		calls += logarithm(uniform) / logarithm(1 - 1 / (double)interval);
	}
	fm_tracking.hit = calls < FM_TRACKING_STEP + 1;
	fm_tracking.step = fm_tracking.hit ? (uint64_t)calls : FM_TRACKING_STEP;
	fm_tracking.interval = interval;
	fm_self.until_tracked = (int64_t)fm_tracking.step - 1;
}

/* The count down is over; whether it ended with a call to be kept. */
static bool end_count_down(uint64_t *ret_weight)
{
	bool hit;

	if (!fm_tracking.step) { /* the first call of this thread was counted down before there was anything to count */
		begin_count_down();
		if (--fm_self.until_tracked >= 0)
			return false;
	}
	hit = fm_tracking.hit;
	*ret_weight = fm_tracking.interval;
	fm_self.calls += fm_tracking.step;
	begin_count_down();
	return hit;
}

static uint64_t large_weight(void)
{
	uint64_t interval = __atomic_load_n(&interval_now, __ATOMIC_RELAXED) / FM_TRACKING_DENSE;

	if (interval <= 1)
		return 1;
	return (uint64_t)((unsigned __int128)fm_self_random() * interval >> 64) == 0 ? interval : 0;
}

__attribute__((noinline, cold)) uint64_t fm_tracking_weight(size_t size, const void *caller)
{
	bool over = fm_self.until_tracked < 0, hit = false;
	uint64_t weight = 0, begun;

	if (fm_self.inside) {
		if (over)
			fm_self.until_tracked = 0; /* the next call outside ends it */
		return 0;
	}
	if (!is_tracking() || !heap_is_ours) {
		if (over) {
			fm_tracking.step = 0;
			fm_self.until_tracked = FM_TRACKING_STEP;
		}
		return 0;
	}
	if (over) {
		begun = fm_ticks();
		fm_self_enter();
		hit = end_count_down(&weight);
		add_cost(begun);
		fm_self_leave();
	}
	if (size >= FM_TRACKING_LARGE)
		weight = large_weight();
	else if (!hit)
		weight = 0;
	return fm_allocator_has_code(caller) ? 0 : weight;
}

/* The stack from the caller of the interposed function on, without the frames of ours and of operator new, however many
   the compiler made of them. */
static __attribute__((noinline)) uint32_t log_stack(const void *caller, uint32_t *allocator)
{
	uint64_t frames[FM_STREAM_STACK_MAX + OWN_FRAMES], only = (uintptr_t)caller;
	unsigned count = fm_unwind_here(frames, FM_STREAM_STACK_MAX + OWN_FRAMES, 0), begin = 0;

	while (begin < count && begin < OWN_FRAMES && frames[begin] != only)
		begin++;
	if (begin == count || frames[begin] != only)
		return fm_log_stack(&only, 1);
	while (begin + 1 < count && fm_interposed_new_contains(frames[begin])) {
		begin++;
		*allocator = FM_ALLOCATED_NEW;
	}
	count -= begin;
	return fm_log_stack(frames + begin, count < FM_STREAM_STACK_MAX ? count : FM_STREAM_STACK_MAX);
}

static void log_release(void *address, size_t size)
{
	struct fm_stream_release release = {.address = (uintptr_t)address, .size = size};

	fm_log_write(FM_STREAM_RELEASE, &release, sizeof(release));
	fm_self.tracked++;
}

static void log_allocation(void *address, size_t size, uint32_t allocator, uint64_t weight, const void *caller)
{
	struct fm_stream_allocation allocation = {
	    .address = (uintptr_t)address, .size = size, .allocator = allocator, .weight = (double)weight};

	allocation.stack = log_stack(caller, &allocation.allocator);
	fm_log_write(FM_STREAM_ALLOCATE, &allocation, sizeof(allocation));
	fm_self.tracked++;
}

__attribute__((noinline, cold)) void fm_tracking_keep(void *address, size_t size, enum fm_stream_allocator allocator,
                                                      uint64_t weight, const void *caller)
{
	uint64_t begun = fm_ticks();
	int error;

	fm_self_enter();
	error = fm_live_insert(address);
	if (error == -ENOMEM) {
		__atomic_fetch_add(&fm_process->lost_allocations, 1, __ATOMIC_RELAXED);
	} else {
		if (error == -EEXIST)
			log_release(address, 0);
		log_allocation(address, size, allocator, weight, caller);
	}
	add_cost(begun);
	fm_costs_poll();
	fm_self_leave();
}

void fm_tracking_keep_again(void *address, const void *caller)
{
	size_t size = fm_next_allocator.malloc_usable_size(address);

	if (!fm_self.inside && is_tracking())
		fm_tracking_keep(address, size, FM_ALLOCATED_HEAP, size < FM_TRACKING_LARGE ? fm_tracking.interval : 1,
		                 caller);
}

__attribute__((noinline, cold)) bool fm_tracking_release(void *address)
{
	uint64_t begun;

	if (fm_tracking.until_counted < 0) {
		if (!fm_self.inside && is_tracking()) {
			fm_self_enter();
			fm_self.calls += fm_tracking.counted_step;
			flush();
			fm_self_leave();
		}
		fm_tracking.counted_step = FM_TRACKING_STEP;
		fm_tracking.until_counted = FM_TRACKING_STEP - 1;
	}
	if (!fm_live_maybe(address))
		return false;
	/* Also where nothing can be written: it must not stay in the set. */
	if (!fm_live_remove(address)) {
		fm_tracking.until_counted -= LOOK_UP_CALLS * (int64_t)fm_live_tables();
		return false;
	}
	if (fm_self.inside || !is_tracking())
		return true;
	begun = fm_ticks();
	fm_self_enter();
	log_release(address, 0);
	fm_self.calls++; /* its short way was not counted */
	add_cost(begun);
	fm_self_leave();
	return true;
}

void fm_tracking_keep_mapped(void *address, size_t size, const void *caller)
{
	uint64_t begun, weight;

	if (fm_self.inside || !is_tracking())
		return;
	begun = fm_ticks();
	fm_self_enter();
	weight = large_weight();
	if (weight > 0)
		log_allocation(address, size, fm_allocator_has_code(caller) ? FM_ALLOCATED_ARENA : FM_ALLOCATED_MAPPED,
		               weight, caller);
	fm_self.calls++;
	add_cost(begun);
	fm_self_leave();
}

void fm_tracking_release_mapped(void *address, size_t size)
{
	uint64_t begun;

	if (fm_self.inside || !is_tracking())
		return;
	begun = fm_ticks();
	fm_self_enter();
	log_release(address, (size + 4095) & ~(size_t)4095);
	fm_self.calls++;
	add_cost(begun);
	fm_self_leave();
}

void *fm_tracking_begin_release(void)
{
	void *begun;

	if (fm_self.inside || !is_tracking())
		return NULL;
	fm_self_enter();
	begun = fm_log_begin(FM_STREAM_RELEASE, sizeof(struct fm_stream_release));
	if (!begun)
		fm_self_leave();
	return begun;
}

/* An address of 0 releases nothing. */
void fm_tracking_end_release(void *begun, void *address, size_t size)
{
	struct fm_stream_release *release = begun;

	if (!release)
		return;
	release->address = (uintptr_t)address;
	release->size = size;
	fm_log_commit(release);
	fm_self.tracked++;
	fm_self_leave();
}

static uint64_t time_pairs(void *(*allocate)(size_t), void (*release)(void *))
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < MEASURED_TIMES; i++) {
		uint64_t begun = fm_ticks(), ticks;

		for (unsigned pair = 0; pair < MEASURED_PAIRS; pair++)
			release(allocate(32));
		ticks = fm_ticks() - begun;
		if (ticks < best)
			best = ticks;
	}
	return best;
}

static void measure_short_way(void)
{
	uint64_t with, without;

	/* No call of the loop may end a count down. Twice: the first one warms the caches. */
	for (unsigned i = 0; i < 2; i++) {
		fm_self.until_tracked = fm_tracking.until_counted = FM_TRACKING_STEP;
		with = time_pairs(fm_interposed_malloc, fm_interposed_free);
		without = time_pairs(fm_next_allocator.malloc, fm_next_allocator.free);
	}
	short_cost = with > without ? ((with - without) << 8) / (2 * MEASURED_PAIRS) : 0;
}

/* The name alone does not tell: where a program that is not position-independent takes the address of malloc, the
   dynamic linker answers with a place in the program that leads to ours. What the C library calls decides then. */
static bool find_whose_heap(const void *found)
{
	void (*release)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "free");
	char *volatile copy;
	int64_t before;

	if (found == (const void *)fm_interposed_malloc || !release)
		return true;
	fm_self.until_tracked = before = FM_TRACKING_STEP;
	copy = strdup("heap");
	release(copy);
	return fm_self.until_tracked != before;
}

void fm_allocations_open(void)
{
	int error = errno;
	void *found;

	fm_next_allocator_find();
	if (fm_session && fm_session->track && !opened) {
		fm_self_enter();
		found = dlsym(RTLD_DEFAULT, "malloc");
		heap_is_ours = find_whose_heap(found);
		fm_interposed_new_open();
		fm_allocator_locate(heap_is_ours ? (const void *)fm_next_allocator.malloc : found);
		measure_short_way();
		fm_self.until_tracked = 0;
		fm_tracking = (struct fm_tracking){0};
		opened = true;
		fm_self_leave();
	}
	if (fm_process)
		fm_process->own_allocator = opened && !heap_is_ours;
	errno = error;
}

/* What lives is the same as in the parent; what it cost is the parent's. */
void fm_allocations_forked(void)
{
	fm_self.calls = fm_self.tracked = fm_self.allocation_ticks = 0;
	fm_self.random = mix(fm_self.random ^ fm_ticks());
	__atomic_store_n(&total_calls, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&total_ticks, 0, __ATOMIC_RELAXED);
	if (fm_process)
		fm_process->own_allocator = opened && !heap_is_ours;
}

void fm_allocations_set_interval(uint64_t interval)
{
	__atomic_store_n(&interval_now,
	                 interval < 1            ? 1
	                 : interval > UINT32_MAX ? UINT32_MAX
	                                         : interval,
	                 __ATOMIC_RELAXED);
}

uint64_t fm_allocations_cost(void)
{
	if (!fm_self.inside) {
		fm_self_enter();
		flush();
		fm_self_leave();
	}
	return cost_so_far();
}
