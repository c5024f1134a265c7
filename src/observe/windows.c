/* What was counted in windows, as what the whole run did. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/false_reads.h"
#include "observe/late_writes.h"
#include "observe/parts.h"
#include "recording/estimate.h"
#include "recording/windows.h"
#include "translate/translate.h"

static const char *const reasons[] = {
#define REASON(name, text) text,
#include "translate/reasons.def"
#undef REASON
};

enum {
	COUNTS = sizeof(struct fm_core_counts) / sizeof(uint64_t),
	WORKS = sizeof(struct fm_work) / sizeof(uint64_t),
	TIMINGS = sizeof(struct fm_timing_counts) / sizeof(uint64_t),
	CACHE_COUNTS = sizeof(struct fm_cache_counts) / sizeof(uint64_t)
};

/* By how much each number of a process is to be multiplied: what threads did is added up over the windows, what
   regions, lines and objects did is weighted already. */
struct factors {
	double counts[COUNTS], weighted_counts[COUNTS];
	double unseen[COUNTS]; /* what is to be added instead, all threads together */
	double work[WORKS], weighted_work[WORKS];
	double executed;
	double in_windows; /* instructions that one in the part of a window that counts stands for */
	double timing[TIMINGS];
};

static double number(const void *numbers, unsigned index)
{
	uint64_t value;

	memcpy(&value, (const char *)numbers + index * sizeof(value), sizeof(value));
	return (double)value;
}

static void multiply(void *numbers, unsigned count, const double *factors)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t value = (uint64_t)llround(number(numbers, i) * factors[i]);

		memcpy((char *)numbers + i * sizeof(value), &value, sizeof(value));
	}
}

static uint64_t scaled(uint64_t value, double factor)
{
	return (uint64_t)llround((double)value * factor);
}

/* Of a process, as its threads have it. What a thread did in a window after it was closed early, or in one that is not
   kept, is in these: they tell the threads apart, but not how much there was. */
static double counted_by_threads(const struct fm_recording *recording, uint32_t process, unsigned index)
{
	double sum = 0;

	for (size_t i = 0; i < recording->threads_count; i++)
		if (recording->threads[i].process == process)
			sum += number(&recording->threads[i].counts, index);
	return sum;
}

static double executed_by_threads(const struct fm_recording *recording, uint32_t process)
{
	double sum = 0;

	for (size_t i = 0; i < recording->threads_count; i++)
		if (recording->threads[i].process == process)
			sum += (double)recording->threads[i].work.instructions;
	return sum;
}

/* Of a window in which not all threads were timed, or none: as if the others had been like these, or like those of the
   window before. */
static void find_timing_factors(const struct fm_recording *recording, uint32_t process,
                                const struct fm_recorded_window *windows, size_t count, double *values, double *factors)
{
	double *limits = values + count;

	fm_windows_limit_cycles(recording, process, limits);
	for (unsigned k = 0; k < TIMINGS; k++) {
		double rate = 0, counted = 0;

		for (size_t i = 0; i < count; i++) {
			if (windows[i].timing.instructions)
				rate = number(&windows[i].timing, k) / (double)windows[i].timing.instructions;
			values[i] = limits[i] * rate * (double)windows[i].work.instructions;
			counted += number(&windows[i].timing, k);
		}
		factors[k] = counted > 0 ? fm_windows_total(recording, process, values).value / counted : 1;
	}
}

/* One string line for so many instructions is few. */
enum { STRING_LINES_FEW = 20 };

/* The standard deviation of the logarithm of the sizes of string instructions, by lines, up to which they are alike. */
#define SIMILAR_SIZES 0.7

/* From what pieces of code took, and how often each was executed. */
static void find_piece_factors(const struct fm_results *results, const struct fm_recorded_window *windows, size_t count,
                               double *factors)
{
	/* plain code counts no pieces; it comes at random times, so it takes the cycles of the time it had */
	double all = 1 + fm_same_run_plain(results);

	for (unsigned k = 0; k < TIMINGS; k++) {
		double counted = 0;

		for (size_t i = 0; i < count; i++)
			counted += number(&windows[i].timing, k);
		factors[k] = counted > 0 ? all * number(&results->pieces.timing, k) / counted : 1;
	}
}

#define TIMING(member) (offsetof(struct fm_timing_counts, member) / sizeof(uint64_t))

#define COUNT(member) (offsetof(struct fm_core_counts, member) / sizeof(uint64_t))

#define LOAD_MISSES(cache) ((unsigned)(COUNT(caches[0].load_misses) + (cache)*CACHE_COUNTS))

/* Of a count, what the windows stand for: without what they cannot know. */
static double seen_in_windows(const struct fm_recording *recording, uint32_t process,
                              const struct fm_recorded_window *windows, size_t count, unsigned index, double *values)
{
	for (size_t i = 0; i < count; i++)
		values[i] = number(&windows[i].counts, index);
	return fm_windows_total(recording, process, values).value;
}

/* Windows stand for the instructions around them: where a phase executes few of them, what its windows saw stands for
   far too much. Misses of the first cache, which every window knows and whose number is known, tell by how much. */
static double weight_of_windows(const struct fm_recording *recording, uint32_t process,
                                const struct fm_recorded_window *windows, size_t count,
                                const struct fm_estimates *estimates, double *values)
{
	double seen = seen_in_windows(recording, process, windows, count, COUNT(caches[0].load_misses), values),
	       truth = estimates->counts[COUNT(caches[0].load_misses)].value;

	return seen > 0 && truth > 0 ? truth / seen : 1;
}

/* Load misses of each cache that were seen, but are none by the estimates: lines of which a window knows nothing, and
   which the simulated caches did not have yet. Returns those of the last one. */
static double find_false_misses(const struct fm_recording *recording, uint32_t process,
                                const struct fm_recorded_window *windows, size_t count,
                                const struct fm_estimates *estimates, double weight, double *values, double *ret_false,
                                double *ret_seen)
{
	unsigned last = recording->machine.cache_count - 1;

	for (unsigned k = 0; k <= last; k++) {
		unsigned index = LOAD_MISSES(k);

		*ret_seen = weight * seen_in_windows(recording, process, windows, count, index, values);
		ret_false[k] = k ? fmax(0, *ret_seen - estimates->counts[index].value) : 0;
	}
	/* what a cache had after all was looked for in all below */
	for (unsigned k = last; k > 1; k--)
		ret_false[k - 1] = fmin(ret_false[k - 1], ret_false[k]);
	return ret_false[last];
}

/* Pieces of code were timed as if all lines that their window knew nothing of came from memory. Those that did not
   waited for the cache that had them instead, in proportion to its latency. */
static void correct_latency(const struct fm_recording *recording, const struct fm_recorded_window *windows,
                            size_t count, const double *false_misses, double seen, double *factors)
{
	const struct fm_machine_description *machine = &recording->machine;
	const unsigned memory = TIMING(latency_stalls) + FM_SERVED_MEMORY;
	unsigned last = machine->cache_count - 1;
	double counted[TIMINGS] = {0}, each, less;

	for (unsigned k = 0; k < TIMINGS; k++)
		for (size_t i = 0; i < count; i++)
			counted[k] += number(&windows[i].timing, k);
	each = seen > 0 ? factors[memory] * counted[memory] / seen : 0;
	less = each * fmin(seen, false_misses[last]);
	if (!(less > 0))
		return;
	factors[memory] -= less / counted[memory];
	for (unsigned k = 1; k <= last; k++) {
		const unsigned level = TIMING(latency_stalls) + k;
		double more = each * (false_misses[k] - false_misses[k - 1]) * machine->caches[k].latency /
		              machine->memory_latency;

		less -= more;
		if (counted[level] > 0)
			factors[level] += more / counted[level];
	}
	for (unsigned k = 0; k < 2; k++) {
		const unsigned which = k ? TIMING(no_execute) : TIMING(cycles);

		if (counted[which] > 0)
			factors[which] = fmax(0, factors[which] - less / counted[which]);
	}
}

static double timed_in_windows(const struct fm_recorded_window *windows, size_t count, unsigned index)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += number(&windows[i].timing, index);
	return sum;
}

/* The reverse: lines that earlier windows left in the simulated last cache, and that were gone when they were used
   again. What waited for that cache would have waited for memory. */
static void correct_hits(const struct fm_recording *recording, const struct fm_recorded_window *windows, size_t count,
                         double hits, double misses, double *factors)
{
	const struct fm_machine_description *machine = &recording->machine;
	const struct fm_cache_description *last = &machine->caches[machine->cache_count - 1];
	const unsigned cache = TIMING(latency_stalls) + machine->cache_count - 1,
	               memory = TIMING(latency_stalls) + FM_SERVED_MEMORY, all[] = {TIMING(cycles), TIMING(no_execute)};
	double in_cache = timed_in_windows(windows, count, cache), in_memory = timed_in_windows(windows, count, memory),
	       part = hits > 0 ? fmin(1, misses / hits) : 0, gone = part * factors[cache] * in_cache,
	       longer = (double)machine->memory_latency / last->latency;

	if (!(gone > 0) || !(in_memory > 0) || !(longer > 1))
		return;
	factors[cache] *= 1 - part;
	factors[memory] += gone * longer / in_memory;
	for (unsigned k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		double counted = timed_in_windows(windows, count, all[k]);

		if (counted > 0)
			factors[all[k]] += gone * (longer - 1) / counted;
	}
}

/* That the cache before the last one asked for. */
static double lines_of_last(const struct fm_recording *recording, uint32_t process,
                            const struct fm_recorded_window *windows, size_t count, double *values)
{
	static const unsigned kinds[] = {COUNT(caches[0].lines_demand), COUNT(caches[0].lines_ownership),
	                                 COUNT(caches[0].lines_prefetch)};
	unsigned before = recording->machine.cache_count > 1 ? recording->machine.cache_count - 2 : 0;
	double lines = 0;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		lines += seen_in_windows(recording, process, windows, count, kinds[i] + before * CACHE_COUNTS, values);
	return lines;
}

/* Lines that a cache had, and windows did not know of: what waited for the bandwidth of memory waited less, and for
   that cache. */
static void correct_reads(const struct fm_recording *recording, uint32_t process,
                          const struct fm_recorded_window *windows, size_t count, const struct fm_estimates *estimates,
                          double weight, double *values, double *factors)
{
	const unsigned memory = TIMING(bandwidth_stalls) + FM_SERVED_MEMORY,
	               remote = TIMING(bandwidth_stalls) + FM_SERVED_REMOTE, stores = TIMING(stalls) + FM_STALL_stores,
	               cache = TIMING(bandwidth_stalls) + recording->machine.cache_count - 1,
	               all[] = {TIMING(cycles), TIMING(no_execute)};
	double seen = weight * seen_in_windows(recording, process, windows, count, COUNT(memory_reads), values);
	struct fm_false_reads left =
	    fm_false_reads(&recording->machine, seen, estimates->counts[COUNT(memory_reads)].value,
	                   weight * lines_of_last(recording, process, windows, count, values) - seen);
	double waited = factors[memory] * timed_in_windows(windows, count, memory) +
	                factors[remote] * timed_in_windows(windows, count, remote),
	       stored = factors[stores] * timed_in_windows(windows, count, stores),
	       in_cache = timed_in_windows(windows, count, cache),
	       less = waited * (1 - left.memory - left.last_cache) + stored * (1 - left.stores);

	if (!(less > 0))
		return;
	/* where nothing waited for that cache there is nothing to add to */
	factors[memory] *= left.memory + (in_cache > 0 ? 0 : left.last_cache);
	factors[remote] *= left.memory + (in_cache > 0 ? 0 : left.last_cache);
	if (in_cache > 0)
		factors[cache] += waited * left.last_cache / in_cache;
	factors[stores] *= left.stores;
	for (unsigned k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		double counted = timed_in_windows(windows, count, all[k]);

		if (counted > 0)
			factors[all[k]] = fmax(0, factors[all[k]] - less / counted);
	}
}

/* Lines that are written to memory long after the windows that wrote them. */
static void correct_writes(const struct fm_recording *recording, uint32_t process,
                           const struct fm_recorded_window *windows, size_t count, const struct fm_estimates *estimates,
                           double weight, double *values, double *factors)
{
	enum { BANDWIDTH, REMOTE, STORES, CYCLES, NO_EXECUTE, CHANGED };
	static const unsigned changed[CHANGED] = {
	    [BANDWIDTH] = TIMING(bandwidth_stalls) + FM_SERVED_MEMORY,
	    [REMOTE] = TIMING(bandwidth_stalls) + FM_SERVED_REMOTE,
	    [STORES] = TIMING(stalls) + FM_STALL_stores,
	    [CYCLES] = TIMING(cycles),
	    [NO_EXECUTE] = TIMING(no_execute),
	};
	struct fm_memory_use use = {
	    .reads = weight * seen_in_windows(recording, process, windows, count, COUNT(memory_reads), values),
	    .writes = weight * seen_in_windows(recording, process, windows, count, COUNT(memory_writes), values),
	    .written_to_memory = estimates->counts[COUNT(memory_writes)].value};
	double counted[CHANGED], took[CHANGED], more[CHANGED];

	for (unsigned k = 0; k < CHANGED; k++) {
		counted[k] = timed_in_windows(windows, count, changed[k]);
		took[k] = factors[changed[k]] * counted[k];
	}
	for (unsigned k = 0; k < recording->machine.cache_count; k++)
		use.written[k] = estimates->counts[COUNT(caches[0].lines_written) + k * CACHE_COUNTS].value;
	use.bandwidth_stalls = took[BANDWIDTH] + took[REMOTE];
	use.store_stalls = took[STORES];
	more[CYCLES] = more[NO_EXECUTE] = fm_late_writes_cost(&recording->machine, &use, &more[STORES]);
	for (unsigned k = BANDWIDTH; k <= REMOTE; k++)
		more[k] = use.bandwidth_stalls > 0 ? (more[CYCLES] - more[STORES]) * took[k] / use.bandwidth_stalls : 0;
	for (unsigned k = 0; k < CHANGED; k++)
		if (counted[k] > 0)
			factors[changed[k]] += more[k] / counted[k];
}

void fm_region_scale_timing(struct fm_recorded_region *region)
{
	double factors[TIMINGS];

	if (!region->timing.instructions)
		return;
	for (unsigned k = 0; k < TIMINGS; k++)
		factors[k] = (double)region->work.instructions / (double)region->timing.instructions;
	multiply(&region->timing, TIMINGS, factors);
	region->elapsed = region->timing.cycles;
}

/* All of them, which were counted, unless a part of the program was not asked for. */
static double instructions_inside(const struct fm_recording *recording, uint32_t process,
                                  const struct fm_recorded_window *windows, size_t count, double *values)
{
	bool outside = false;

	for (size_t i = 0; i < count; i++) {
		values[i] = (double)windows[i].work.instructions;
		outside |= windows[i].outside > 0;
	}
	if (!outside && recording->processes[process].instructions)
		return (double)recording->processes[process].instructions;
	return fm_windows_total(recording, process, values).value;
}

static int find_factors(const struct fm_recording *recording, const struct fm_results *results, uint32_t process,
                        struct factors *ret_factors)
{
	const struct fm_recorded_window *windows;
	size_t count = fm_windows_of(recording, process, &windows);
	double instructions, inside = 0, weighted = (double)results->weighted.work.instructions, executed, usual,
	                     weight, *values = calloc(2 * count + 1, sizeof(*values));
	const unsigned last = recording->machine.cache_count - 1;
	struct fm_estimates estimates;
	int r = values ? fm_estimate_process(recording, process, &estimates) : -ENOMEM;

	if (r) {
		free(values);
		return r;
	}
	for (size_t i = 0; i < count; i++)
		inside += (double)windows[i].work.instructions;
	instructions = executed_by_threads(recording, process);
	executed = instructions_inside(recording, process, windows, count, values);
	usual = instructions > 0 ? executed / instructions : 1;
	weighted = weighted > 0 ? executed / weighted : 1;
	for (unsigned k = 0; k < COUNTS; k++) {
		double counted = counted_by_threads(recording, process, k);

		ret_factors->counts[k] = counted > 0 ? estimates.counts[k].value / counted : usual;
		ret_factors->unseen[k] = counted > 0 ? 0 : estimates.counts[k].value;
		counted = number(&results->weighted.counts, k);
		ret_factors->weighted_counts[k] = counted > 0 ? estimates.counts[k].value / counted : weighted;
	}
	for (unsigned k = 0; k < WORKS; k++) {
		ret_factors->work[k] = usual;
		ret_factors->weighted_work[k] = weighted;
	}
	ret_factors->executed = executed;
	ret_factors->in_windows = inside > 0 ? executed / inside : 1;
	find_timing_factors(recording, process, windows, count, values, ret_factors->timing);
	weight = weight_of_windows(recording, process, windows, count, &estimates, values);
	if (recording->processes[process].pieces_timed > 0) {
		double false_misses[FM_SIMULATED_CACHES_MAX] = {0}, seen = 0;

		find_piece_factors(results, windows, count, ret_factors->timing);
		if (find_false_misses(recording, process, windows, count, &estimates, weight, values, false_misses,
		                      &seen) > 0)
			correct_latency(recording, windows, count, false_misses, seen, ret_factors->timing);
		else if (last > 1)
			correct_hits(recording, windows, count,
			             weight * seen_in_windows(recording, process, windows, count, LOAD_MISSES(last - 1),
			                                      values) -
			                 seen,
			             estimates.counts[LOAD_MISSES(last)].value - seen, ret_factors->timing);
	}
	correct_reads(recording, process, windows, count, &estimates, weight, values, ret_factors->timing);
	correct_writes(recording, process, windows, count, &estimates, weight, values, ret_factors->timing);
	free(values);
	return 0;
}

/* What no window has seen, and is known all the same: each thread has its share. */
static void add_unseen(struct fm_recorded_thread *thread, const struct factors *factors)
{
	double share = factors->executed > 0 ? fmin(1, (double)thread->work.instructions / factors->executed) : 0;

	for (unsigned k = 0; k < COUNTS; k++) {
		uint64_t value = (uint64_t)llround(number(&thread->counts, k) + factors->unseen[k] * share);

		memcpy((char *)&thread->counts + k * sizeof(value), &value, sizeof(value));
	}
}

/* How far the process was by the end of each. No window is later than the next: its threads may have slept in it. What
   comes from another process is not believed to be in order, either. */
static void find_places(const struct fm_results *results, unsigned count, uint64_t *ret_executed)
{
	uint64_t latest = results->all_work.instructions + results->all_string_lines;

	for (unsigned i = count; i-- > 0;) {
		uint64_t executed = results->windows[i].executed;

		if (executed && executed < latest)
			latest = executed;
		ret_executed[i] = latest;
	}
}

static int add_windows(const struct fm_results *results, uint32_t index, struct fm_recording *recording)
{
	double ticks_per_second = results->ticks_per_second ? (double)results->ticks_per_second : 1e9,
	       all = 1 + fm_same_run_uncounted(results);
	unsigned count = results->window_count < FM_RESULT_WINDOWS_MAX ? results->window_count : FM_RESULT_WINDOWS_MAX;
	uint64_t begun = count ? results->windows[0].begun : 0, *executed = calloc(count + 1, sizeof(*executed));
	int r = executed ? 0 : -ENOMEM;

	if (executed)
		find_places(results, count, executed);
	for (unsigned i = 0; i < count && !r; i++) {
		const struct fm_result_window *window = &results->windows[i];
		struct fm_recorded_window *row;

		if (!(window->work.instructions + window->outside + window->string_lines) || window->begun < begun)
			continue;
		row = fm_recording_add(recording, windows);
		if (!row) {
			r = -ENOMEM;
			break;
		}
		*row = (struct fm_recorded_window){.process = index,
		                                   .began = (double)(window->begun - begun) / ticks_per_second,
		                                   .ended = (double)(window->ended - begun) / ticks_per_second,
		                                   .executed = scaled(executed[i], all),
		                                   .work = window->work,
		                                   .outside = window->outside,
		                                   .string_lines = window->string_lines,
		                                   .counts = window->counts,
		                                   .timing = window->timing};
		memcpy(row->unknown, window->unknown, sizeof(row->unknown));
		memcpy(row->known, window->known.accesses, sizeof(row->known));
		memcpy(row->too_few, window->known.too_few, sizeof(row->too_few));
		memcpy(row->too_many, window->known.too_many, sizeof(row->too_many));
		memcpy(row->touched, window->touched, sizeof(row->touched));
		memcpy(row->brought, window->followed.brought, sizeof(row->brought));
		memcpy(row->owned, window->followed.owned, sizeof(row->owned));
		memcpy(row->written, window->followed.written, sizeof(row->written));
	}
	free(executed);
	return r;
}

static int add_groups(const struct fm_results *results, uint32_t index, struct fm_recording *recording)
{
	const struct fm_result_followed *followed = &results->followed;

	for (unsigned i = 0; i < followed->group_count && i < FM_RESULT_GROUPS_MAX; i++) {
		const struct fm_result_group *group = &followed->groups[i];
		struct fm_recorded_group *row = fm_recording_add(recording, groups);

		if (!row)
			return -ENOMEM;
		*row = (struct fm_recorded_group){.process = index,
		                                  .share = followed->share,
		                                  .accesses = group->accesses,
		                                  .memory_reads = group->memory_reads,
		                                  .memory_writes = group->memory_writes,
		                                  .cold = group->cold};
		memcpy(row->brought, group->brought, sizeof(row->brought));
		memcpy(row->owned, group->owned, sizeof(row->owned));
		memcpy(row->written, group->written, sizeof(row->written));
	}
	return 0;
}

/* The most frequent reasons first, as many as there is room for. */
static void name_reasons(const uint64_t *left, char *text, size_t size)
{
	bool named[FM_LEFT_REASONS] = {false};
	size_t used = 0;

	*text = 0;
	for (unsigned round = 0; round < 3 && used < size; round++) {
		unsigned most = FM_LEFT_REASONS;

		for (unsigned reason = 0; reason < FM_LEFT_REASONS; reason++)
			if (reason != FM_LEFT_ASKED && reason != FM_LEFT_FUEL && left[reason] && !named[reason] &&
			    (most == FM_LEFT_REASONS || left[reason] > left[most]))
				most = reason;
		if (most == FM_LEFT_REASONS)
			return;
		named[most] = true;
		used += (size_t)snprintf(text + used, size - used, "%s%llu times %s", used ? ", " : "",
		                         (unsigned long long)left[most], reasons[most]);
	}
}

/* Of the cycles; where stretches were few it is not known better than by half. */
static double timing_error(const struct fm_results *results)
{
	double cycles = 0;

	for (unsigned i = 0; i < results->core_count && i < FM_SIMULATED_CORES_MAX; i++)
		cycles += (double)results->timings[i].cycles;
	return cycles > 0 ? fmin(0.5, 0.02 + 2 * sqrt(results->timing_variance) / cycles) : 0;
}

void fm_native_record(const struct fm_results *results, struct fm_recorded_process *process)
{
	uint64_t left[FM_LEFT_REASONS] = {0};
	double all = 1 + fm_same_run_uncounted(results);

	process->native = results->native;
	if (!results->native)
		return;
	process->instructions = scaled(results->all_work.instructions, all);
	process->uncounted = all - 1;
	/* how long a string instruction takes is a matter of its lines: where there are many short ones, of very
	   different numbers, executions of the same piece of code do not tell */
	if (results->pieces.timing.instructions &&
	    (STRING_LINES_FEW * results->short_string_lines < results->all_work.instructions ||
	     results->string_sizes_deviation < SIMILAR_SIZES)) {
		process->pieces_timed = results->pieces.timed;
		process->pieces_error = results->pieces.error;
	}
	if (results->timing_sampled)
		process->timing_error = timing_error(results);
	process->unseen = scaled(results->unseen_instructions, all);
	process->string_lines = scaled(results->all_string_lines, all);
	process->loads = scaled(results->all_references.loads, all);
	process->stores = scaled(results->all_references.stores, all);
	process->load_bytes = scaled(results->all_references.load_bytes, all);
	process->store_bytes = scaled(results->all_references.store_bytes, all);
	process->found_inside = results->signals_in_cache;
	process->found_outside = results->signals_outside;
	process->native_threads = results->native_threads;
	process->accesses_lost += results->lost_accesses;
	for (unsigned i = 0; i < FM_LEFT_REASONS && i < sizeof(results->left) / sizeof(results->left[0]); i++)
		left[i] = results->left[i];
	name_reasons(left, process->left, sizeof(process->left));
	if (results->cpu_ns && results->ticks_per_second)
		process->window_share = (double)results->window_ticks / (double)results->ticks_per_second /
		                        ((double)results->cpu_ns * 1e-9);
}

/* Lines and objects are those of all processes together. */
struct sums {
	double counted, total;
};

static double ratio(const struct sums *sums, double otherwise)
{
	return sums->counted > 0 ? sums->total / sums->counted : otherwise;
}

static void scale_places(struct fm_recording *recording, const double *accesses, const double *levels)
{
	for (size_t i = 0; i < recording->lines_count; i++) {
		struct fm_recorded_place *line = &recording->lines[i];

		line->loads = (uint64_t)llround((double)line->loads * accesses[0]);
		line->stores = (uint64_t)llround((double)line->stores * accesses[1]);
		line->regular = (uint64_t)llround((double)line->regular * levels[0]);
		line->irregular = (uint64_t)llround((double)line->irregular * levels[0]);
		multiply(line->misses, FM_SIMULATED_CACHES_MAX, levels);
		multiply(line->moved, FM_SIMULATED_CACHES_MAX, levels);
	}
	for (size_t i = 0; i < recording->objects_count; i++) {
		struct fm_recorded_object *object = &recording->objects[i];

		object->loads = (uint64_t)llround((double)object->loads * accesses[0]);
		object->stores = (uint64_t)llround((double)object->stores * accesses[1]);
		multiply(object->misses, FM_SIMULATED_CACHES_MAX, levels);
		multiply(object->moved, FM_SIMULATED_CACHES_MAX, levels);
	}
}

static double missed(const struct fm_core_counts *counts, unsigned cache)
{
	return (double)(counts->caches[cache].load_misses + counts->caches[cache].store_misses);
}

static const struct fm_results *results_of(const struct fm_engine_run *run, uint32_t process)
{
	return process ? run->forked[process - 1] : run->results;
}

/* Shared lines are noted in the first part of a window too, which only warms the caches. */
static double represents(const struct fm_results *results, const struct fm_recorded_thread *thread,
                         const struct factors *factors)
{
	const struct fm_result_thread *record =
	    !thread->others && thread->thread < FM_RESULT_THREADS_MAX ? &results->threads[thread->thread] : NULL;

	if (!record || !record->entries || !record->counted_entries)
		return factors->in_windows;
	return factors->in_windows * (double)record->counted_entries / (double)record->entries;
}

static int scale(const struct fm_engine_run *run, struct fm_recording *recording)
{
	struct factors *factors = calloc(recording->processes_count + 1, sizeof(*factors));
	struct sums accesses[2] = {{0}}, levels[FM_SIMULATED_CACHES_MAX] = {{0}};
	double by_access[2], by_level[FM_SIMULATED_CACHES_MAX];
	int r = factors ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < recording->processes_count && !r; i++) {
		const struct fm_core_counts *weighted = &results_of(run, i)->weighted.counts;

		r = find_factors(recording, results_of(run, i), i, &factors[i]);
		for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++)
			levels[k].counted += missed(weighted, k);
		accesses[0].counted += (double)weighted->loads;
		accesses[1].counted += (double)weighted->stores;
	}
	for (size_t i = 0; i < recording->threads_count && !r; i++) {
		struct fm_recorded_thread *thread = &recording->threads[i];
		const struct factors *own = &factors[thread->process];

		thread->represents = represents(results_of(run, thread->process), thread, own);
		multiply(&thread->counts, COUNTS, own->counts);
		multiply(&thread->work, WORKS, own->work);
		add_unseen(thread, own);
		multiply(&thread->timing, TIMINGS, own->timing);
		/* each number has its own factor */
		if (thread->timing.no_execute > thread->timing.cycles)
			thread->timing.no_execute = thread->timing.cycles;
		thread->clock = thread->timing.cycles;
		for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++)
			levels[k].total += missed(&thread->counts, k);
		accesses[0].total += (double)thread->counts.loads;
		accesses[1].total += (double)thread->counts.stores;
	}
	for (size_t i = 0; i < recording->regions_count && !r; i++) {
		struct fm_recorded_region *region = &recording->regions[i];

		multiply(&region->counts, COUNTS, factors[region->process].weighted_counts);
		multiply(&region->work, WORKS, factors[region->process].weighted_work);
		fm_region_scale_timing(region);
	}
	if (!r) {
		by_access[0] = ratio(&accesses[0], 1);
		by_access[1] = ratio(&accesses[1], by_access[0]);
		for (unsigned k = 0; k < FM_SIMULATED_CACHES_MAX; k++)
			by_level[k] = ratio(&levels[k], by_access[0]);
		scale_places(recording, by_access, by_level);
	}
	free(factors);
	return r;
}

/* Of what was counted everywhere, how much was in the region only windows know. Code that none of them has seen is in
   it as often as other code. */
static int keep_region(struct fm_recording *recording, uint32_t process)
{
	struct fm_recorded_process *row = &recording->processes[process];
	const struct fm_recorded_window *windows;
	size_t count = fm_windows_of(recording, process, &windows);
	double *values = calloc(count + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	if (row->instructions)
		row->unseen =
		    scaled(row->unseen, fmin(1, instructions_inside(recording, process, windows, count, values) /
		                                    (double)row->instructions));
	row->loads = row->stores = row->load_bytes = row->store_bytes = 0;
	free(values);
	return 0;
}

int fm_windows_record(const struct fm_engine_run *run, const struct fm_machine_description *machine,
                      struct fm_recording *recording, struct fm_error *error)
{
	int r = add_windows(run->results, 0, recording);

	recording->machine = *machine; /* what the estimates need to know */

	for (unsigned i = 0; i < run->forked_count && !r; i++)
		r = add_windows(run->forked[i], i + 1, recording);
	for (uint32_t i = 0; i < recording->processes_count && recording->asked.region[0] && !r; i++)
		r = keep_region(recording, i);
	if (!r)
		r = add_groups(run->results, 0, recording);
	for (unsigned i = 0; i < run->forked_count && !r; i++)
		r = add_groups(run->forked[i], i + 1, recording);
	if (!r)
		r = scale(run, recording);
	return r ? fm_error_set(error, ENOMEM, "out of memory") : 0;
}
