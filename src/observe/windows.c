/* Counts of windows, scaled to the whole run. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/assumed.h"
#include "observe/parts.h"
#include "windows/correct.h"
#include "windows/estimate.h"
#include "windows/totals.h"
#include "translate/translate.h"

static const char *const reasons[] = {
#define REASON(name, text) text,
#include "translate/reasons.def"
#undef REASON
};

enum { COUNTS = FM_COUNTS_NUMBERS, WORKS = FM_WORK_NUMBERS, TIMINGS = FM_TIMING_NUMBERS };

/* Factors for the numbers of a process: for sums over windows (threads) and weighted sums (regions, lines, objects). */
struct factors {
	double counts[COUNTS], weighted_counts[COUNTS];
	double unseen[COUNTS]; /* the amount to add instead, all threads together */
	double work[WORKS], weighted_work[WORKS];
	double executed;
	double in_windows; /* instructions that one counted instruction of a window represents */
	double timing[TIMINGS];
};

static void multiply(void *numbers, unsigned count, const double *factors)
{
	for (unsigned i = 0; i < count; i++) {
		double value = (double)fm_counter_get(numbers, i) * factors[i];

		fm_counter_set(numbers, i, (uint64_t)llround(value));
	}
}

static uint64_t scaled(uint64_t value, double factor)
{
	return (uint64_t)llround((double)value * factor);
}

/* Counts of a process by thread. They include windows that were closed early or dropped: they give the shares of the
   threads, not the totals. */
static double counted_by_threads(const struct fm_recording *recording, uint32_t process, unsigned index)
{
	double sum = 0;

	for (size_t i = 0; i < recording->threads_count; i++)
		if (recording->threads[i].process == process)
			sum += (double)fm_counter_get(&recording->threads[i].counts, index);
	return sum;
}

static double work_by_threads(const struct fm_recording *recording, uint32_t process, unsigned index)
{
	double sum = 0;

	for (size_t i = 0; i < recording->threads_count; i++)
		if (recording->threads[i].process == process)
			sum += (double)fm_counter_get(&recording->threads[i].work, index);
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

/* From the times of basic blocks, and their numbers of executions. */
static void find_piece_factors(const struct fm_results *results, const struct fm_recorded_window *windows, size_t count,
                               double *factors)
{
	/* plain code counts no pieces; it comes at random times, so it takes the cycles of the time it had */
	double all = 1 + fm_same_run_plain(results);

	for (unsigned k = 0; k < TIMINGS; k++) {
		double counted = 0;

		for (size_t i = 0; i < count; i++)
			counted += (double)fm_counter_get(&windows[i].timing, k);
		factors[k] = counted > 0 ? all * (double)fm_counter_get(&results->pieces.timing, k) / counted : 1;
	}
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
	                     *values = calloc(2 * count + 1, sizeof(*values));
	struct fm_estimates estimates;
	struct fm_corrected course = {.recording = recording,
	                              .process = process,
	                              .windows = windows,
	                              .count = count,
	                              .estimates = &estimates,
	                              .values = values};
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

		ret_factors->counts[k] = counted > 0 ? estimates.numbers[k].value / counted : usual;
		ret_factors->unseen[k] = counted > 0 ? 0 : estimates.numbers[k].value;
		counted = (double)fm_counter_get(&results->weighted.counts, k);
		ret_factors->weighted_counts[k] = counted > 0 ? estimates.numbers[k].value / counted : weighted;
	}
	for (unsigned k = 0; k < WORKS; k++) {
		double counted = work_by_threads(recording, process, k);

		for (size_t i = 0; i < count; i++)
			values[i] = (double)fm_counter_get(&windows[i].work, k);
		/* instructions are counted for the whole run, other work in windows only */
		ret_factors->work[k] = k == FM_WORK_instructions || !(counted > 0)
		                           ? usual
		                           : fm_windows_total(recording, process, values).value / counted;
		ret_factors->weighted_work[k] = weighted;
	}
	ret_factors->executed = executed;
	ret_factors->in_windows = inside > 0 ? executed / inside : 1;
	fm_correct_partial(&course, ret_factors->timing);
	if (recording->processes[process].pieces_timed > 0)
		find_piece_factors(results, windows, count, ret_factors->timing);
	fm_correct_timing(&course, recording->processes[process].pieces_timed > 0, ret_factors->timing);
	free(values);
	return 0;
}

/* Counts outside of all windows that are known nevertheless: each thread has its share. */
static void add_unseen(struct fm_recorded_thread *thread, const struct factors *factors)
{
	double share = factors->executed > 0 ? fmin(1, (double)thread->work.instructions / factors->executed) : 0;

	for (unsigned k = 0; k < COUNTS; k++) {
		double value = (double)fm_counter_get(&thread->counts, k) + factors->unseen[k] * share;

		fm_counter_set(&thread->counts, k, (uint64_t)llround(value));
	}
}

/* The progress of the process at the end of each. It never falls, since threads may have slept in a window. Data of
   another process are not trusted to be in order. */
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
		                                  .cold = group->cold,
		                                  .unknown_hits = group->unknown_hits,
		                                  .unknown_misses = group->unknown_misses};
		memcpy(row->brought, group->brought, sizeof(row->brought));
		memcpy(row->owned, group->owned, sizeof(row->owned));
		memcpy(row->written, group->written, sizeof(row->written));
	}
	return 0;
}

/* The most frequent reasons first, up to the end of the text. */
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
	return cycles > 0
	           ? fmin(FM_TIMING_ERROR_MOST, FM_TIMING_ERROR_LEAST + 2 * sqrt(results->timing_variance) / cycles)
	           : 0;
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
	process->rested = fm_same_run_rested(results);
	/* The time of a string instruction depends on its lines. With many short ones of different sizes, executions of
	   the same basic block do not determine it. */
	if (results->pieces.timing.instructions &&
	    (FM_STRING_LINES_RARE * results->short_string_lines < results->all_work.instructions ||
	     results->string_sizes_deviation < FM_STRING_SIZES_ALIKE)) {
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

static uint64_t executed_by(const struct fm_results *results, const struct fm_recorded_thread *thread)
{
	return !thread->others && thread->thread < FM_RESULT_THREADS_MAX ? results->threads[thread->thread].executed
	                                                                 : 0;
}

/* Windows of some milliseconds see the threads that have a processor at that time: of few windows, the numbers of a
   thread show how many of them it was in. The instructions of each thread are counted for the whole run, so its numbers
   are scaled to these. The sums over all threads get their factors afterwards. */
static void balance_threads(const struct fm_engine_run *run, struct fm_recording *recording, uint32_t process)
{
	const struct fm_results *results = results_of(run, process);
	double executed = 0, seen = 0;

	for (size_t i = 0; i < recording->threads_count; i++) {
		const struct fm_recorded_thread *thread = &recording->threads[i];

		if (thread->process != process)
			continue;
		/* one without a count of its own: nothing is known of the others' shares */
		if (thread->work.instructions && !executed_by(results, thread))
			return;
		if (thread->work.instructions) {
			executed += (double)executed_by(results, thread);
			seen += (double)thread->work.instructions;
		}
	}
	for (size_t i = 0; i < recording->threads_count && executed > 0 && seen > 0; i++) {
		struct fm_recorded_thread *thread = &recording->threads[i];
		double factors[COUNTS + WORKS + TIMINGS], factor;

		if (thread->process != process || !thread->work.instructions)
			continue;
		factor = (double)executed_by(results, thread) / executed / ((double)thread->work.instructions / seen);
		for (unsigned k = 0; k < COUNTS + WORKS + TIMINGS; k++)
			factors[k] = factor;
		multiply(&thread->counts, COUNTS, factors);
		multiply(&thread->work, WORKS, factors);
		multiply(&thread->timing, TIMINGS, factors);
	}
}

static int scale(const struct fm_engine_run *run, struct fm_recording *recording)
{
	struct factors *factors = calloc(recording->processes_count + 1, sizeof(*factors));
	struct sums accesses[2] = {{0}}, levels[FM_SIMULATED_CACHES_MAX] = {{0}};
	double by_access[2], by_level[FM_SIMULATED_CACHES_MAX];
	int r = factors ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < recording->processes_count && !r; i++) {
		const struct fm_core_counts *weighted = &results_of(run, i)->weighted.counts;

		balance_threads(run, recording, i);
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

/* Of the counts of the whole program, only windows know the share of a region. Code outside of all windows is taken to
   be in the region as often as other code. */
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

	recording->machine = *machine; /* input of the estimates */
	for (size_t i = 0; i < recording->processes_count; i++)
		recording->processes[i].resident = (uint64_t)run->used.ru_maxrss << 10;

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
