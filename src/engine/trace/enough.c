#include "engine/trace/enough.h"

#include <math.h>

#include "engine/trace/tuning.h"

static double rate_of(const struct fm_result_window *window, unsigned cache)
{
	const struct fm_cache_counts *counts = &window->counts.caches[cache];

	uint64_t instructions = window->work.instructions + window->outside + window->string_lines;

	return instructions ? (double)(counts->lines_demand + counts->lines_ownership + counts->lines_prefetch) /
	                          (double)instructions
	                    : 0;
}

static bool is_known(const struct fm_result_window *windows, unsigned count, unsigned cache, double precision)
{
	double sum = 0, squares = 0, mean;

	for (unsigned i = 0; i < count; i++) {
		double rate = rate_of(&windows[i], cache);

		sum += rate;
		if (i) {
			double difference = rate - rate_of(&windows[i - 1], cache);

			squares += difference * difference / 2;
		}
	}
	mean = sum / count;
	return mean < RARE_LINES || 2 * sqrt(squares / (count - 1) / count) <= precision * mean;
}

bool fm_windows_are_enough(const struct fm_result_window *windows, unsigned count, unsigned caches, double precision)
{
	if (count < WINDOWS_ENOUGH)
		return false;
	for (unsigned i = 0; i < caches; i++)
		if (!is_known(windows, count, i, precision))
			return false;
	return true;
}
