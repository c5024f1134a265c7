/* Native run time from the only run, which is instrumented: the cost of counting is measured in that run and
   subtracted. */
#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/markers.h"
#include "observe/assumed.h"
#include "observe/parts.h"

static const struct transfer_cost {
	const char *vendor;
	unsigned first, last; /* families */
	double usual, least, most;
} transfer_costs[] = {
#define TRANSFER(vendor, first, last, usual, least, most) {vendor, first, last, usual, least, most},
#include "observe/transfers.def"
#undef TRANSFER
};

/* The vendor's name, and the family as the vendor counts it. */
static unsigned identify(char vendor[13])
{
	*vendor = '\0';
#ifdef __x86_64__
	unsigned leaf, parts[3], signature;

	if (!__get_cpuid(0, &leaf, &parts[0], &parts[2], &parts[1]))
		return 0;
	memcpy(vendor, parts, sizeof(parts));
	vendor[12] = '\0';
	if (!__get_cpuid(1, &signature, &parts[0], &parts[1], &parts[2]))
		return 0;
	return (signature >> 8 & 0xf) == 0xf ? 0xf + (signature >> 20 & 0xff) : signature >> 8 & 0xf;
#else
	return 0;
#endif
}

static const struct transfer_cost *transfer_cost(void)
{
	enum { COUNT = sizeof(transfer_costs) / sizeof(transfer_costs[0]) };
	char vendor[13];
	unsigned family = identify(vendor), i = 0;

	while (i + 1 < COUNT && (strcmp(transfer_costs[i].vendor, vendor) != 0 || family < transfer_costs[i].first ||
	                         family > transfer_costs[i].last))
		i++;
	return &transfer_costs[i];
}

/* Processor time of one process, s. */
struct spent {
	double all, waited, counted, plain;
	double rest;     /* native rests of processes with several threads */
	double untraced; /* of threads that ran as they are */
};

static struct spent spent_by(const struct fm_results *results)
{
	double second = results->ticks_per_second ? (double)results->ticks_per_second : 1e9,
	       windows = (double)results->window_ticks / second,
	       translator = (double)results->translator_ticks / second;
	struct spent spent = {.all = (double)results->cpu_ns * 1e-9,
	                      .waited = (double)results->waited_ticks / second,
	                      .plain = (double)results->pace.plain_ns * 1e-9,
	                      .rest = (double)results->pace.rest_ns * 1e-9,
	                      .untraced = fmax(0, (double)results->cpu_ns - (double)results->threads_ns) * 1e-9};

	/* windows have waited most of that */
	spent.counted = fmax(0, spent.all - fmax(0, windows - spent.waited) - translator - spent.plain - spent.rest -
	                            spent.untraced);
	return spent;
}

static double per_counted(const struct fm_results *results, double instructions)
{
	return results->all_work.instructions ? instructions / (double)results->all_work.instructions : 0;
}

/* Seconds by which the code cache lengthens this number of instructions, where basic blocks are counted. */
static double longer(const struct fm_results *results, double instructions)
{
	const struct transfer_cost *cost = transfer_cost();
	double hertz = results->ticks_per_second ? (double)results->ticks_per_second : 1e9;

	return (per_counted(results, (double)results->pace.transfers) * cost->usual +
	        per_counted(results, (double)results->pace.pieces) * FM_PIECE_CYCLES) *
	       instructions / hertz;
}

/* The pace in rests was measured in plain code, whose indirect branches and counters take time. */
static double rested(const struct fm_results *results)
{
	double instructions = (double)results->pace.rest_instructions, seconds = (double)results->pace.rest_ns * 1e-9;

	return seconds > 0
	           ? instructions * seconds / fmax(seconds / FM_PLAIN_SLOWER, seconds - longer(results, instructions))
	           : 0;
}

double fm_same_run_rested(const struct fm_results *results)
{
	return per_counted(results, rested(results));
}

double fm_same_run_uncounted(const struct fm_results *results)
{
	return per_counted(results, (double)results->pace.plain_instructions) + fm_same_run_rested(results);
}

double fm_same_run_plain(const struct fm_results *results)
{
	struct spent spent = spent_by(results);
	double by_itself = spent.counted / fmax(1, results->pace.ratio);

	return by_itself > 0 ? fmin(1, spent.plain / by_itself) + spent.rest / by_itself : 0;
}

static const struct fm_results *results_of(const struct fm_engine_run *run, unsigned index)
{
	return index ? run->forked[index - 1] : run->results;
}

/* The ratio of all processes that have one, by the time they spent; 0: none has. */
static double pooled(const struct fm_engine_run *run, size_t member)
{
	double counted = 0, plain = 0;

	for (unsigned i = 0; i <= run->forked_count; i++) {
		const struct fm_results *results = results_of(run, i);
		double ratio;

		memcpy(&ratio, (const char *)&results->pace + member, sizeof(ratio));
		if (ratio > 0) {
			counted += spent_by(results).counted;
			plain += spent_by(results).counted / ratio;
		}
	}
	return plain > 0 ? counted / plain : 0;
}

/* The part of its speed that a team keeps in phases of plain code, which lengthens the work of its threads unequally,
   so that threads wait for the slowest one: the more of them, the longer. `lost`: the part that many threads lose. */
static double plain_speed(const struct fm_engine_run *run, const struct spent *spent, double lost)
{
	double threads = run->seconds > 0 ? spent->all / run->seconds : 1;

	return spent->rest > 0 && threads > 2 ? 1 - lost * (1 - 2 / threads) : 1;
}

/* Processor time of all processes as it would have been; the same for either end of the ratios. */
static double without_counting(const struct fm_engine_run *run, size_t member, double lost)
{
	double usual = pooled(run, member), sum = 0;

	for (unsigned i = 0; i <= run->forked_count; i++) {
		const struct fm_results *results = results_of(run, i);
		struct spent spent = spent_by(results);
		double ratio;

		memcpy(&ratio, (const char *)&results->pace + member, sizeof(ratio));
		sum += spent.plain * plain_speed(run, &spent, lost) + spent.rest + spent.untraced +
		       spent.counted / (ratio > 0 ? ratio : usual);
	}
	return sum;
}

double fm_same_run_of(const struct fm_engine_run *run, unsigned index)
{
	struct spent spent = spent_by(results_of(run, index));
	double ratio = results_of(run, index)->pace.ratio, usual = pooled(run, offsetof(struct fm_result_pace, ratio));

	return spent.plain + spent.rest + spent.counted / (ratio > 0 ? ratio : usual > 0 ? usual : FM_COUNTING_USUAL);
}

/* Processor time of windows and of the translator. Kernel time in these, such as memory for rings and caches, is not
   the program's, and it is included here. */
static double own_work(const struct fm_engine_run *run)
{
	double sum = 0;

	for (unsigned i = 0; i <= run->forked_count; i++) {
		struct spent spent = spent_by(results_of(run, i));

		sum += fmax(0, spent.all - spent.counted - spent.plain - spent.rest - spent.untraced);
	}
	return sum;
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec * 1e-6;
}

/* Seconds that branches to anywhere took longer. */
static double transfers(const struct fm_engine_run *run, double cycles, double hertz)
{
	double sum = 0;

	for (unsigned i = 0; i <= run->forked_count; i++) {
		const struct fm_results *results = results_of(run, i);

		double runs = 1 + fm_same_run_uncounted(results) - fm_same_run_rested(results);

		sum += (double)results->pace.transfers * runs * cycles;
		/* beside rests, plain code counts basic blocks, too */
		if (results->pace.rest_ns)
			sum += (double)results->pace.pieces * runs * FM_PIECE_CYCLES;
	}
	return sum / hertz;
}

/* Time of threads that were ready without a processor: the consumer uses one too. */
static double delays(const struct fm_engine_run *run)
{
	double sum = 0;

	for (unsigned i = 0; i < run->scheduled_count; i++)
		sum += run->scheduled[i].delayed;
	return sum;
}

static unsigned available_cpus(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) ? 0 : (unsigned)CPU_COUNT(&cpus);
}

/* Of the wall clock. Threads that run at once are slowed down at once. */
static double elapsed(const struct fm_engine_run *run, double used, double busy, double by_itself)
{
	unsigned cpus = available_cpus();
	double processors = fmax(1, busy / run->seconds);

	/* more of them can be ready, but not run: they use as much of the processors without us */
	if (cpus && processors > cpus)
		return run->seconds * fmin(1, by_itself / fmax(used, 1e-9));

	return fmax(0, run->seconds - fmax(0, busy - by_itself) / processors);
}

/* Processor time without counting, by a slowdown. */
static double supposed(const struct fm_engine_run *run, double slower)
{
	double sum = 0;

	for (unsigned i = 0; i <= run->forked_count; i++) {
		struct spent spent = spent_by(results_of(run, i));

		sum += spent.plain + spent.rest + spent.untraced + spent.counted / slower;
	}
	return sum;
}

void fm_same_run_time(const struct fm_engine_run *run, double hertz, struct fm_recorded_native *native)
{

	double used = seconds_of(&run->used.ru_utime) + seconds_of(&run->used.ru_stime), busy = used, counted = 0,
	       kernel = seconds_of(&run->used.ru_stime), not_its_own, by_itself, low, high, rest, least;
	const struct transfer_cost *cost = transfer_cost();
	unsigned episodes = 0;
	bool measured = pooled(run, offsetof(struct fm_result_pace, ratio)) > 0;

	for (unsigned i = 0; i <= run->forked_count; i++) {
		const struct fm_results *results = results_of(run, i);

		episodes += results->pace.episodes;
		counted += spent_by(results).all;
		busy += spent_by(results).waited;
	}
	busy += delays(run);
	/* unfollowed processes, and the time before the library was loaded */
	rest = fmax(0, used - counted);
	by_itself = rest + (measured ? without_counting(run, offsetof(struct fm_result_pace, ratio), FM_PLAIN_LOST)
	                             : supposed(run, FM_COUNTING_USUAL));
	low = rest + (measured ? without_counting(run, offsetof(struct fm_result_pace, high), FM_PLAIN_LOST_MOST)
	                       : supposed(run, FM_COUNTING_MOST));
	high = rest + (measured ? without_counting(run, offsetof(struct fm_result_pace, low), 0) : supposed(run, 1));
	low *= 1 - FM_CACHE_ERROR;
	high *= 1 + FM_CACHE_ERROR;
	least = by_itself / 3; /* whatever is said of branches; and usually they are less than half */
	/* a slowdown that was not measured has them in it */
	if (measured) {
		low -= transfers(run, cost->most, hertz);
		high -= transfers(run, cost->least, hertz);
		by_itself = fmax(by_itself / 2, by_itself - transfers(run, cost->usual, hertz));
	}
	/* of the kernel's time while we worked all or nothing was the program's: the middle, and either end */
	not_its_own = fmin(kernel, own_work(run)) / 2;
	low = fmin(by_itself, fmax(least, low - not_its_own));
	high = fmax(by_itself, high + not_its_own);
	*native = (struct fm_recorded_native){
	    .runs = 1,
	    .same_run = true,
	    .seconds = fm_figure_make(elapsed(run, used, busy, by_itself), elapsed(run, used, busy, low),
	                              elapsed(run, used, busy, high), "s", FM_ORIGIN_sampled, "windows", episodes),
	    .cpu_seconds = by_itself,
	    .kernel_seconds = kernel - not_its_own,
	    .share_seconds = by_itself,
	    .switches = (uint64_t)run->used.ru_nvcsw,
	    .preemptions = (uint64_t)run->used.ru_nivcsw,
	    .faults = (uint64_t)run->used.ru_minflt,
	    .major_faults = (uint64_t)run->used.ru_majflt,
	    .exit_status = run->exit_status,
	    .output_bytes = -1,
	    .signalled = run->signal != 0};
	native->kernel_share = by_itself > 0 ? fmin(1, native->kernel_seconds / by_itself) : 0;
	native->busiest = native->seconds.value > 0 ? by_itself / native->seconds.value : 0;
	native->cpus = available_cpus();
}

/* A process that has executed another program has its number: the later one is it. */
static const struct fm_scheduled *scheduled_as(const struct fm_engine_run *run, uint32_t process, uint32_t thread)
{
	for (unsigned i = run->scheduled_count; i-- > 0;)
		if ((uint32_t)run->scheduled[i].process == process && (uint32_t)run->scheduled[i].thread == thread)
			return &run->scheduled[i];
	return NULL;
}

/* A thread's waiting for the consumer, and for a processor that the consumer may have had. */
static double held_up(const struct fm_engine_run *run, const struct fm_result_thread *thread, double ticks_per_second)
{
	const struct fm_scheduled *seen = scheduled_as(run, run->results->process, thread->host_thread);

	return (double)thread->waited_ticks / ticks_per_second + (seen ? seen->delayed : 0);
}

/* Waiting for other threads is slowed down like the rest. Waiting for the consumer is subtracted. So is waiting for a
   processor, unless more threads are ready than there are processors. A delayed thread may delay the others: the
   longest delay of another thread is subtracted, too. */
int fm_same_run_threads(const struct fm_engine_run *run, struct fm_recording *recording, struct fm_error *error)
{
	const struct fm_results *results = run->results;
	double second = results->ticks_per_second ? (double)results->ticks_per_second : 1e9, ran = 0, ready = 0,
	       held[2] = {0}, quiet = 0, faster, without;
	unsigned cpus = recording->native.cpus;

	for (unsigned i = 0; i < run->scheduled_count; i++) {
		quiet += run->scheduled[i].quiet_ran;
		ran += run->scheduled[i].ran;
		ready += run->scheduled[i].ran + run->scheduled[i].delayed;
	}
	if (!(ran > 0) || results->others.threads)
		return 0;
	faster = recording->native.cpu_seconds / ran;
	for (unsigned i = 0; i < results->thread_count; i++) {
		double own = held_up(run, &results->threads[i], second);

		held[1] = fmax(held[1], fmin(own, held[0]));
		held[0] = fmax(held[0], own);
	}
	without = cpus && run->seconds > 0 ? fmax(0, ready / run->seconds / cpus - 1) : 0;
	for (unsigned i = 0; i < results->thread_count; i++) {
		const struct fm_result_thread *thread = &results->threads[i];
		const struct fm_scheduled *seen = scheduled_as(run, results->process, thread->host_thread);
		struct fm_recorded_native_thread *row;
		double blocked, own = held_up(run, thread, second), others = own < held[0] ? held[0] : held[1];

		if (!seen)
			continue;
		row = fm_recording_add(recording, native_threads);
		if (!row)
			return fm_error_set(error, ENOMEM, "out of memory");
		blocked = fmax(0, seen->lived - seen->ran - own - others);
		/* better: moments without a waiting thread, if there were enough */
		if (quiet > FM_QUIET_LEAST * ran && seen->quiet_ran > 0)
			blocked = fmin(seen->ran * seen->quiet_blocked / seen->quiet_ran,
			               fmax(0, seen->lived - seen->ran - own));
		*row = (struct fm_recorded_native_thread){
		    .ordinal = i, .ran = seen->ran * faster, .delayed = seen->ran * without * faster};
		row->lived = row->ran + row->delayed + blocked * faster;
	}
	return 0;
}

/* Regions, by the same clock, with the slowdown of the whole. */
int fm_same_run_regions(const struct fm_markers *markers, double seconds, struct fm_recording *recording,
                        struct fm_error *error)
{
	struct fm_recorded_native *native = &recording->native;
	double faster = seconds > 0 ? native->seconds.value / seconds : 1;
	struct fm_marked *marked;
	unsigned count;
	uint64_t lost;
	int r = fm_markers_read(markers, &marked, &count, &lost, error);

	if (r)
		return r;
	native->regions_lost = lost;
	for (unsigned i = 0; i < count && !r; i++) {
		struct fm_recorded_native_region *region = fm_recording_add(recording, native_regions);
		double value = marked[i].seconds * faster;

		if (!region) {
			r = fm_error_set(error, ENOMEM, "out of memory");
			break;
		}
		snprintf(region->name, sizeof(region->name), "%s", marked[i].name);
		region->ordinal = marked[i].ordinal;
		region->instances = marked[i].instances;
		region->seconds = fm_figure_make(value, value / (1 + FM_REGION_ERROR),
		                                 fmin(marked[i].seconds, value * (1 + FM_REGION_ERROR)), "s",
		                                 FM_ORIGIN_sampled, "windows", 1);
	}
	fm_marked_free(marked, count);
	return r;
}
