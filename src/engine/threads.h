/* Counts of threads, summed by the plugin and by the command. */
#ifndef FATHOM_ENGINE_THREADS_H
#define FATHOM_ENGINE_THREADS_H

#include "engine/results.h"
#include "simulator/numbers.h"

/* Counts of the thread: those of its core from the thread's begin to its end, or until now. */
static inline void fm_result_sum(const struct fm_results *results, const struct fm_result_thread *thread,
                                 struct fm_core_counts *ret_counts, struct fm_timing_counts *ret_timing)
{
	unsigned core = thread->core < FM_SIMULATED_CORES_MAX ? thread->core : 0;

	*ret_counts = thread->before_moves;
	*ret_timing = thread->timing_before_moves;
	if (thread->away && !thread->ended)
		return;
	fm_numbers_add(ret_counts, thread->ended ? &thread->at_end : &results->cores[core].counts, sizeof(*ret_counts));
	fm_numbers_add(ret_timing, thread->ended ? &thread->timing_at_end : &results->timings[core],
	               sizeof(*ret_timing));
	fm_numbers_subtract(ret_counts, &thread->at_begin, sizeof(*ret_counts));
	fm_numbers_subtract(ret_timing, &thread->timing_at_begin, sizeof(*ret_timing));
}

/* Adds a thread without its own record to the sum of such threads. */
static inline void fm_result_fold(struct fm_results *results, const struct fm_result_thread *thread)
{
	struct fm_result_others *others = &results->others;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;

	fm_result_sum(results, thread, &counts, &timing);
	others->threads++;
	if (thread->clock > others->clock)
		others->clock = thread->clock;
	fm_work_add(&others->work, &thread->work);
	fm_numbers_add(&others->counts, &counts, sizeof(counts));
	fm_numbers_add(&others->timing, &timing, sizeof(timing));
}

#endif
