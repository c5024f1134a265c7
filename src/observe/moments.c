/* Time series from windows: each window represents the code around it. The time is native, as far as it is known: the
   extra time of windows is subtracted, and the rest is divided by one slowdown. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "observe/parts.h"
#include "windows/estimate.h"
#include "windows/totals.h"

enum {
	COUNTS = FM_COUNTS_NUMBERS,
	NUMBERS = COUNTS + FM_TIMING_NUMBERS,
	MOMENTS_MAX = 4096,
};

/* The end of the stretch that a window represents: seconds, and all counts until then. */
struct mark {
	double at;
	double numbers[NUMBERS];
};

static double number(const struct fm_recorded_window *window, unsigned index)
{
	return (double)(index < COUNTS ? fm_counter_get(&window->counts, index)
	                               : fm_counter_get(&window->timing, index - COUNTS));
}

/* Of a window in which nothing was timed: as in the one before. */
static double rate_of(const struct fm_recorded_window *windows, size_t index, unsigned which)
{
	double inside = fm_window_inside(&windows[index]), instructions = fm_window_instructions(&windows[index]);

	if (which < COUNTS)
		return instructions > 0 ? number(&windows[index], which) / instructions : 0;
	while (index && !windows[index].timing.instructions)
		index--;
	instructions = (double)windows[index].timing.instructions;
	return instructions > 0 ? inside * number(&windows[index], which) / instructions : 0;
}

/* Windows and their marks, one more than there are windows: the first is the beginning. */
static struct mark *make_marks(const struct fm_recording *recording, const struct fm_recorded_window *windows,
                               size_t count)
{
	struct mark *marks = calloc(count + 1, sizeof(*marks));
	double *strata = calloc(2 * count + 1, sizeof(*strata)), *limits = strata ? strata + count : NULL, last;
	struct fm_estimates estimates;

	if (!marks || !strata || fm_estimate_process(recording, 0, &estimates)) {
		free(marks);
		free(strata);
		return NULL;
	}
	fm_windows_strata(recording, 0, strata);
	fm_windows_limit_cycles(recording, 0, limits);
	for (size_t i = 0; i < count; i++) {
		double gap = i + 1 < count ? (windows[i + 1].began - windows[i].ended) / 2 : 0,
		       before = i ? (windows[i].began - windows[i - 1].ended) / 2 : 0;

		marks[i + 1].at = marks[i].at + fmax(0, before) + fmax(0, gap);
		for (unsigned k = 0; k < NUMBERS; k++)
			marks[i + 1].numbers[k] =
			    marks[i].numbers[k] + strata[i] * rate_of(windows, i, k) * (k < COUNTS ? 1 : limits[i]);
	}
	last = marks[count].at;
	for (size_t i = 1; i <= count; i++) {
		marks[i].at *= last > 0 ? recording->native.seconds.value / last : 0;
		for (unsigned k = 0; k < COUNTS; k++)
			if (marks[count].numbers[k] > 0 && i < count)
				marks[i].numbers[k] *= estimates.numbers[k].value / marks[count].numbers[k];
	}
	for (unsigned k = 0; k < COUNTS; k++)
		marks[count].numbers[k] = estimates.numbers[k].value;
	free(strata);
	return marks;
}

static void fill(struct fm_recorded_moment *moment, const struct mark *before, const struct mark *after, double at,
                 double hertz)
{
	double part = after->at > before->at ? (at - before->at) / (after->at - before->at) : 1;

	moment->cycle = (uint64_t)llround(at * hertz);
	moment->running = 1;
	for (unsigned k = 0; k < NUMBERS; k++) {
		uint64_t value =
		    (uint64_t)llround(before->numbers[k] + part * (after->numbers[k] - before->numbers[k]));
		char *to = k < COUNTS ? (char *)&moment->counts + k * sizeof(value)
		                      : (char *)&moment->timing + (k - COUNTS) * sizeof(value);

		memcpy(to, &value, sizeof(value));
	}
}

int fm_windows_moments(struct fm_recording *recording, double interval, struct fm_error *error)
{
	double all = recording->native.seconds.available ? recording->native.seconds.value : 0,
	       hertz = recording->machine.frequency_ghz * 1e9;
	const struct fm_recorded_window *windows;
	size_t count = fm_windows_of(recording, 0, &windows), at = 1;
	struct mark *marks;
	unsigned moments;

	if (count < FM_WINDOWS_LEAST || !(all > 0))
		return 0;
	/* no finer than there are windows */
	moments = (unsigned)fmin(fmin(ceil(all / interval), MOMENTS_MAX), (double)count);
	marks = make_marks(recording, windows, count);
	if (!marks)
		return fm_error_set(error, ENOMEM, "out of memory");
	for (unsigned i = 1; i <= moments; i++) {
		double time = i == moments ? all : fmax(interval, all / moments) * i;
		struct fm_recorded_moment *moment;

		if (time > all)
			break;
		while (at < count && marks[at].at < time)
			at++;
		moment = fm_recording_add(recording, moments);
		if (!moment) {
			free(marks);
			return fm_error_set(error, ENOMEM, "out of memory");
		}
		fill(moment, &marks[at - 1], &marks[at], fmin(time, marks[count].at), hertz);
	}
	free(marks);
	return 0;
}
