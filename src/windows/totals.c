#include "windows/totals.h"

#include <math.h>

#include "base/balance.h"
#include "base/gap.h"
#include "base/statistics.h"
#include "windows/tuning.h"

bool fm_windows_used(const struct fm_recording *recording)
{
	/* a program that ended before its first window was not seen at all, which is not the same as all of it */
	return recording->windows_count > 0 || (recording->processes_count && recording->processes[0].native > 1);
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

double fm_window_instructions(const struct fm_recorded_window *window)
{
	return (double)window->work.instructions + (double)window->outside + (double)window->string_lines;
}

double fm_window_inside(const struct fm_recorded_window *window)
{
	return window->outside || window->string_lines
	           ? (double)window->work.instructions / fm_window_instructions(window)
	           : 1;
}

/* After the window, up to the next one: without the paces around it. */
static struct fm_gap plain_gap(const struct fm_recorded_window *windows, size_t index)
{
	return (struct fm_gap){.instructions = (double)windows[index + 1].executed - (double)windows[index].executed,
	                       .seconds = windows[index + 1].began - windows[index].ended};
}

static struct fm_gap gap_after(const struct fm_recorded_window *windows, size_t count, size_t index)
{
	struct fm_gap gap = plain_gap(windows, index), before, after;

	if (index) {
		before = plain_gap(windows, index - 1);
		gap.before = fm_gap_pace(&before);
	}
	if (index + 2 < count) {
		after = plain_gap(windows, index + 1);
		gap.after = fm_gap_pace(&after);
	}
	return gap;
}

/* Instructions for which the window stands. */
static double stratum(const struct fm_recorded_window *windows, size_t count, size_t index, double executed)
{
	double here = (double)windows[index].executed, before = here, after = fmax(executed - here, 0);
	struct fm_gap gap;

	if (index) {
		gap = gap_after(windows, count, index - 1);
		before = gap.instructions * (1 - fm_gap_share(&gap));
	}
	if (index + 1 < count) {
		gap = gap_after(windows, count, index);
		after = gap.instructions * fm_gap_share(&gap);
	}
	return fmax(0, before) + fmax(0, after);
}

/* By how much the stratum of a window is larger than its place says: in proportion to its share of plain instructions,
   and of string instructions. */
struct balance {
	double executed;       /* of the process, plain and string lines */
	double plain, strings; /* 1: as its place says */
};

static double string_share(const struct fm_recorded_window *window)
{
	double all = fm_window_instructions(window);

	return all > 0 ? (double)window->string_lines / all : 0;
}

/* The two factors with which the strata have as many plain instructions and as many string lines as were counted. */
static struct balance find_balance(const struct fm_recording *recording, uint32_t process)
{
	const struct fm_recorded_process *whole =
	    process < recording->processes_count ? &recording->processes[process] : NULL;
	const struct fm_recorded_window *windows;
	size_t count = fm_windows_of(recording, process, &windows);
	struct balance balance = {.executed = whole ? (double)whole->instructions + (double)whole->string_lines : 0,
	                          .plain = 1,
	                          .strings = 1};
	double both = 0, plain = 0, strings = 0, factors[2];

	if (!whole || !whole->string_lines)
		return balance;
	for (size_t i = 0; i < count; i++) {
		double share = string_share(&windows[i]), stands = stratum(windows, count, i, balance.executed);

		plain += stands * (1 - share) * (1 - share);
		both += stands * share * (1 - share);
		strings += stands * share * share;
	}
	fm_balance((const double[2][2]){{plain, both}, {both, strings}},
	           (const double[2]){(double)whole->instructions, (double)whole->string_lines}, factors);
	balance.plain = factors[0];
	balance.strings = factors[1];
	return balance;
}

static double balanced(const struct fm_recorded_window *windows, size_t count, size_t index,
                       const struct balance *balance)
{
	double share = string_share(&windows[index]);

	return stratum(windows, count, index, balance->executed) *
	       (balance->plain * (1 - share) + balance->strings * share);
}

static double rate(const struct fm_recorded_window *windows, const double *values, size_t index)
{
	double instructions = fm_window_instructions(&windows[index]);

	return instructions > 0 ? values[index] / instructions : 0;
}

void fm_windows_strata(const struct fm_recording *recording, uint32_t process, double *ret_strata)
{
	const struct fm_recorded_window *windows;
	size_t count = fm_windows_of(recording, process, &windows);
	struct balance balance = find_balance(recording, process);

	for (size_t i = 0; i < count; i++)
		ret_strata[i] = balanced(windows, count, i, &balance);
}

/* Two windows next to each other. */
static bool are_alike(const struct fm_recorded_window *windows, size_t count, size_t index)
{
	struct fm_gap gap = gap_after(windows, count, index);

	return !fm_gap_changes(&gap);
}

/* When exactly the program changed its pace between two windows is known to a part of the gap only. */
static double change_error(const struct fm_recorded_window *windows, const double *values, size_t count, size_t index)
{
	struct fm_gap gap = gap_after(windows, count, index);

	return fmin(gap.instructions, CHANGE_UNCERTAIN * gap.seconds * gap.before) * rate(windows, values, index) +
	       fmin(gap.instructions, CHANGE_UNCERTAIN * gap.seconds * gap.after) * rate(windows, values, index + 1);
}

/* Two values of the same distribution differ by twice its variance. Where the program changes between them, the
   interval becomes too wide, not too narrow. A neighbour in another phase gives no variance; if both are in other
   phases, the more similar one does. */
static double variance_of(const struct fm_recorded_window *windows, const double *values, size_t count, size_t index)
{
	double sum = 0, least = INFINITY;
	unsigned neighbours = 0;

	for (size_t k = index ? index - 1 : 0; k <= index + 1 && k < count; k++) {
		double difference = rate(windows, values, index) - rate(windows, values, k),
		       square = difference * difference / 2;

		if (k == index)
			continue;
		least = fmin(least, square);
		if (are_alike(windows, count, k < index ? k : index)) {
			sum += square;
			neighbours++;
		}
	}
	return neighbours ? sum / neighbours : count > 1 ? least : 0;
}

struct fm_window_total fm_windows_total(const struct fm_recording *recording, uint32_t process, const double *values)
{
	const struct fm_recorded_window *windows;
	size_t count = fm_windows_of(recording, process, &windows);
	struct balance balance = find_balance(recording, process);
	struct fm_window_total total = {.windows = (unsigned)count};
	double variance = 0;

	for (size_t i = 0; i < count; i++) {
		double weight = balanced(windows, count, i, &balance);

		total.value += weight * rate(windows, values, i);
		variance += weight * weight * variance_of(windows, values, count, i);
		if (i + 1 < count && !are_alike(windows, count, i)) {
			double error = change_error(windows, values, count, i);

			variance += error * error;
		}
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
	/* between windows there was no observation: at least the part that one window represents is uncertain */
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
	const struct fm_recorded_window *windows;
	size_t count = fm_windows_of(recording, process, &windows);
	struct balance balance = find_balance(recording, process);
	double hertz = recording->machine.frequency_ghz * 1e9, threads = 0, cycles = 0;

	for (size_t i = 0; i < recording->threads_count; i++)
		threads += recording->threads[i].process == process;
	for (size_t i = 0; i < count; i++) {
		double most = CYCLES_MOST * fmax(threads, 1) * seconds_around(windows, count, i) * hertz, all;

		if (windows[i].timing.instructions)
			cycles = (double)windows[i].timing.cycles / (double)windows[i].timing.instructions;
		all = cycles * balanced(windows, count, i, &balance) * fm_window_inside(&windows[i]);
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
