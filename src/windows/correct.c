#include "windows/correct.h"

#include <math.h>

#include "windows/false_reads.h"
#include "windows/late_writes.h"
#include "windows/totals.h"

static const unsigned cycles_of[] = {FM_TIMING_cycles, FM_TIMING_no_execute};
enum { CYCLES = sizeof(cycles_of) / sizeof(cycles_of[0]) };

static unsigned last_cache(const struct fm_corrected *course)
{
	return course->recording->machine.cache_count - 1;
}

/* The sum of a number of cycles over all windows. */
static double timed(const struct fm_corrected *course, unsigned index)
{
	double sum = 0;

	for (size_t i = 0; i < course->count; i++)
		sum += (double)fm_counter_get(&course->windows[i].timing, index);
	return sum;
}

/* A count of the whole run as the windows represent it. */
static double counted(const struct fm_corrected *course, unsigned index)
{
	for (size_t i = 0; i < course->count; i++)
		course->values[i] = (double)fm_counter_get(&course->windows[i].counts, index);
	return fm_windows_total(course->recording, course->process, course->values).value;
}

static double estimated(const struct fm_corrected *course, unsigned index)
{
	return course->estimates->numbers[index].value;
}

/* Adds to a number of cycles of the whole run, which does not become negative. */
static void add(const struct fm_corrected *course, unsigned index, double cycles, double *factors)
{
	double sum = timed(course, index);

	if (sum > 0)
		factors[index] = fmax(0, factors[index] + cycles / sum);
}

static void add_to_all(const struct fm_corrected *course, double cycles, double *factors)
{
	for (unsigned k = 0; k < CYCLES; k++)
		add(course, cycles_of[k], cycles, factors);
}

void fm_correct_partial(const struct fm_corrected *course, double *factors)
{
	double *limits = course->values + course->count;

	fm_windows_limit_cycles(course->recording, course->process, limits);
	for (unsigned k = 0; k < FM_TIMING_NUMBERS; k++) {
		double rate = 0, sum = timed(course, k);

		for (size_t i = 0; i < course->count; i++) {
			const struct fm_recorded_window *window = &course->windows[i];

			if (window->timing.instructions)
				rate = (double)fm_counter_get(&window->timing, k) / (double)window->timing.instructions;
			course->values[i] = limits[i] * rate * (double)window->work.instructions;
		}
		factors[k] =
		    sum > 0 ? fm_windows_total(course->recording, course->process, course->values).value / sum : 1;
	}
}

double fm_correct_weight(const struct fm_corrected *course)
{
	const unsigned misses = fm_counter_of_cache(0, FM_CACHE_load_misses);
	double seen = counted(course, misses), truth = estimated(course, misses);

	return seen > 0 && truth > 0 ? truth / seen : 1;
}

struct fm_false_misses fm_correct_find_misses(const struct fm_corrected *course, double weight)
{
	struct fm_false_misses misses = {0};

	for (unsigned k = 0; k <= last_cache(course); k++) {
		unsigned index = fm_counter_of_cache(k, FM_CACHE_load_misses);

		misses.seen = weight * counted(course, index);
		misses.of_cache[k] = k ? fmax(0, misses.seen - estimated(course, index)) : 0;
	}
	/* a hit of a cache is no access to the next one */
	for (unsigned k = last_cache(course); k > 1; k--)
		misses.of_cache[k - 1] = fmin(misses.of_cache[k - 1], misses.of_cache[k]);
	return misses;
}

void fm_correct_latency(const struct fm_corrected *course, const struct fm_false_misses *misses, double *factors)
{
	const struct fm_machine_description *machine = &course->recording->machine;
	const unsigned memory = FM_TIMING_latency_stalls + FM_SERVED_MEMORY;
	double in_memory = timed(course, memory),
	       each = misses->seen > 0 ? factors[memory] * in_memory / misses->seen : 0,
	       less = each * fmin(misses->seen, misses->of_cache[last_cache(course)]);

	if (!(less > 0))
		return;
	factors[memory] -= less / in_memory;
	for (unsigned k = 1; k <= last_cache(course); k++) {
		double more = each * (misses->of_cache[k] - misses->of_cache[k - 1]) * machine->caches[k].latency /
		              machine->memory_latency;

		less -= more;
		add(course, FM_TIMING_latency_stalls + k, more, factors);
	}
	add_to_all(course, -less, factors);
}

void fm_correct_hits(const struct fm_corrected *course, double hits, double misses, double *factors)
{
	const struct fm_machine_description *machine = &course->recording->machine;
	const unsigned cache = FM_TIMING_latency_stalls + last_cache(course),
	               memory = FM_TIMING_latency_stalls + FM_SERVED_MEMORY;
	double part = hits > 0 ? fmin(1, misses / hits) : 0, gone = part * factors[cache] * timed(course, cache),
	       longer = (double)machine->memory_latency / machine->caches[last_cache(course)].latency;

	if (!(gone > 0) || !(timed(course, memory) > 0) || !(longer > 1))
		return;
	factors[cache] *= 1 - part;
	add(course, memory, gone * longer, factors);
	add_to_all(course, gone * (longer - 1), factors);
}

/* Requests of the cache before the last one. */
static double lines_of_last(const struct fm_corrected *course)
{
	static const unsigned kinds[] = {FM_CACHE_lines_demand, FM_CACHE_lines_ownership, FM_CACHE_lines_prefetch};
	unsigned before = last_cache(course) ? last_cache(course) - 1 : 0;
	double lines = 0;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		lines += counted(course, fm_counter_of_cache(before, kinds[i]));
	return lines;
}

void fm_correct_reads(const struct fm_corrected *course, double weight, double *factors)
{
	const unsigned memory = FM_TIMING_bandwidth_stalls + FM_SERVED_MEMORY,
	               remote = FM_TIMING_bandwidth_stalls + FM_SERVED_REMOTE,
	               stores = FM_TIMING_stalls + FM_STALL_stores,
	               cache = FM_TIMING_bandwidth_stalls + last_cache(course);
	double seen = weight * counted(course, FM_COUNTS_memory_reads);
	struct fm_false_reads left =
	    fm_false_reads(&course->recording->machine, seen, estimated(course, FM_COUNTS_memory_reads),
	                   weight * lines_of_last(course) - seen);
	double waited = factors[memory] * timed(course, memory) + factors[remote] * timed(course, remote),
	       stored = factors[stores] * timed(course, stores), in_cache = timed(course, cache),
	       less = waited * (1 - left.memory - left.last_cache) + stored * (1 - left.stores);

	if (!(less > 0))
		return;
	/* where nothing waited for that cache there is nothing to add to */
	factors[memory] *= left.memory + (in_cache > 0 ? 0 : left.last_cache);
	factors[remote] *= left.memory + (in_cache > 0 ? 0 : left.last_cache);
	if (in_cache > 0)
		factors[cache] += waited * left.last_cache / in_cache;
	factors[stores] *= left.stores;
	add_to_all(course, -less, factors);
}

void fm_correct_writes(const struct fm_corrected *course, double weight, double *factors)
{
	const unsigned stores = FM_TIMING_stalls + FM_STALL_stores,
	               waiting[] = {FM_TIMING_bandwidth_stalls + FM_SERVED_MEMORY,
	                            FM_TIMING_bandwidth_stalls + FM_SERVED_REMOTE};
	struct fm_memory_use use = {.reads = weight * counted(course, FM_COUNTS_memory_reads),
	                            .writes = weight * counted(course, FM_COUNTS_memory_writes),
	                            .written_to_memory = estimated(course, FM_COUNTS_memory_writes),
	                            .store_stalls = factors[stores] * timed(course, stores)};
	double took[2], more, of_stores;

	for (unsigned k = 0; k < 2; k++) {
		took[k] = factors[waiting[k]] * timed(course, waiting[k]);
		use.bandwidth_stalls += took[k];
	}
	for (unsigned k = 0; k <= last_cache(course); k++)
		use.written[k] = estimated(course, fm_counter_of_cache(k, FM_CACHE_lines_written));
	more = fm_late_writes_cost(&course->recording->machine, &use, &of_stores);
	for (unsigned k = 0; k < 2 && use.bandwidth_stalls > 0; k++)
		add(course, waiting[k], (more - of_stores) * took[k] / use.bandwidth_stalls, factors);
	add(course, stores, of_stores, factors);
	add_to_all(course, more, factors);
}

void fm_correct_timing(const struct fm_corrected *course, bool blocks, double *factors)
{
	double weight = fm_correct_weight(course);

	if (blocks) {
		struct fm_false_misses misses = fm_correct_find_misses(course, weight);
		unsigned last = last_cache(course);

		if (misses.of_cache[last] > 0)
			fm_correct_latency(course, &misses, factors);
		else if (last > 1)
			fm_correct_hits(
			    course,
			    weight * counted(course, fm_counter_of_cache(last - 1, FM_CACHE_load_misses)) - misses.seen,
			    estimated(course, fm_counter_of_cache(last, FM_CACHE_load_misses)) - misses.seen, factors);
	}
	fm_correct_reads(course, weight, factors);
	fm_correct_writes(course, weight, factors);
}
