#include "recording/windows.h"

#include <math.h>

#include "base/statistics.h"

bool fm_windows_used(const struct fm_recording *recording)
{
	return recording->windows_count > 0;
}

size_t fm_windows_of(const struct fm_recording *recording, uint32_t process,
                     const struct fm_recorded_window **ret_windows)
{
	size_t first = 0, count = 0;

	while (first < recording->windows_count && recording->windows[first].process != process)
		first++;
	while (first + count < recording->windows_count && recording->windows[first + count].process == process)
		count++;
	*ret_windows = recording->windows + first;
	return count;
}

/* Instructions for which the window stands. */
static double stratum(const struct fm_recorded_window *windows, size_t count, size_t index, double executed)
{
	double here = (double)windows[index].executed,
	       begin = index ? ((double)windows[index - 1].executed + here) / 2 : 0,
	       end = index + 1 < count ? (here + (double)windows[index + 1].executed) / 2 : fmax(executed, here);

	return fmax(0, end - begin);
}

static double rate(const struct fm_recorded_window *windows, const double *values, size_t index)
{
	double instructions = (double)windows[index].work.instructions;

	return instructions > 0 ? values[index] / instructions : 0;
}

void fm_windows_strata(const struct fm_recording *recording, uint32_t process, double *ret_strata)
{
	const struct fm_recorded_window *windows;
	size_t count = fm_windows_of(recording, process, &windows);
	double executed = process < recording->processes_count ? (double)recording->processes[process].instructions : 0;

	for (size_t i = 0; i < count; i++)
		ret_strata[i] = stratum(windows, count, i, executed);
}

struct fm_window_total fm_windows_total(const struct fm_recording *recording, uint32_t process, const double *values)
{
	const struct fm_recorded_window *windows;
	size_t count = fm_windows_of(recording, process, &windows);
	double executed = process < recording->processes_count ? (double)recording->processes[process].instructions : 0;
	struct fm_window_total total = {.windows = (unsigned)count};
	double variance = 0;

	for (size_t i = 0; i < count; i++) {
		double own = rate(windows, values, i), weight = stratum(windows, count, i, executed), squares = 0;
		unsigned neighbours = 0;

		total.value += weight * own;
		/* two values of the same distribution differ by twice its variance; where the program changes between
		   them this is more, and the interval too wide rather than too narrow */
		for (size_t k = i ? i - 1 : 0; k <= i + 1 && k < count; k++)
			if (k != i) {
				double difference = own - rate(windows, values, k);

				squares += difference * difference / 2;
				neighbours++;
			}
		if (neighbours)
			variance += weight * weight * squares / neighbours;
	}
	total.error = sqrt(variance);
	return total;
}

struct fm_window_total fm_windows_sum(const struct fm_recording *recording, const double *values)
{
	struct fm_window_total sum = {0};
	double variance = 0;

	for (size_t i = 0; i < recording->windows_count; i++) {
		uint32_t process = recording->windows[i].process;
		struct fm_window_total one;

		if (i && recording->windows[i - 1].process == process)
			continue;
		one = fm_windows_total(recording, process, values + i);
		sum.value += one.value;
		variance += one.error * one.error;
		sum.windows += one.windows;
	}
	sum.error = sqrt(variance);
	return sum;
}

double fm_window_half_width(const struct fm_window_total *total)
{
	if (total->windows < FM_WINDOWS_LEAST)
		return INFINITY;
	/* what lies between windows was not looked at: as much as one of them stands for may have been different */
	return fmax(fm_statistics_student(total->windows - 1) * total->error, total->value / total->windows);
}

/* Between the middles of the gaps around it. */
static double seconds_around(const struct fm_recorded_window *windows, size_t count, size_t index)
{
	const struct fm_recorded_window *window = &windows[index];
	double begin = index ? (windows[index - 1].ended + window->began) / 2 : window->began,
	       end = index + 1 < count ? (window->ended + windows[index + 1].began) / 2 : window->ended;

	/* how long it was before the first and after the last is not known: as long as on the other side */
	if (!index)
		begin -= end - window->ended;
	if (index + 1 == count)
		end += window->began - begin;
	return end - begin;
}

void fm_windows_limit_cycles(const struct fm_recording *recording, uint32_t process, double *ret_factors)
{
	const double generous = 2; /* the machine that is simulated may be slower */
	const struct fm_recorded_window *windows;
	size_t count = fm_windows_of(recording, process, &windows);
	double hertz = recording->machine.frequency_ghz * 1e9, executed, threads = 0, cycles = 0;

	executed = process < recording->processes_count ? (double)recording->processes[process].instructions : 0;
	for (size_t i = 0; i < recording->threads_count; i++)
		threads += recording->threads[i].process == process;
	for (size_t i = 0; i < count; i++) {
		double most = generous * fmax(threads, 1) * seconds_around(windows, count, i) * hertz, all;

		if (windows[i].timing.instructions)
			cycles = (double)windows[i].timing.cycles / (double)windows[i].timing.instructions;
		all = cycles * stratum(windows, count, i, executed);
		ret_factors[i] = all > most && most > 0 ? most / all : 1;
	}
}

double fm_windows_unseen(const struct fm_recording *recording)
{
	double unseen = 0;

	for (size_t i = 0; i < recording->processes_count; i++)
		unseen += (double)recording->processes[i].unseen;
	return unseen;
}
