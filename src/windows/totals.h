/* Totals of a run from counts in windows of it.

   The executed instructions of a process are counted, not sampled. Windows lie at random places of the run; each
   represents the instructions around it, up to the middle between it and its neighbours (its stratum). The total of a
   quantity is the sum over the windows: rate per instruction times instructions of the stratum. The differences between
   neighbouring windows give the error of the total.

   A string instruction counts once for each line that it moves, here and below. These lines are counted, too: windows
   are weighted so that both totals are met. */
#ifndef FATHOM_WINDOWS_TOTALS_H
#define FATHOM_WINDOWS_TOTALS_H

#include "recording/recording.h"

/* The least number of windows for a total. */
enum { FM_WINDOWS_LEAST = 4 };

struct fm_window_total {
	double value;
	double error; /* standard error */
	unsigned windows;
};

/* The windows of a process, which are adjacent. Returns their number. */
size_t fm_windows_of(const struct fm_recording *recording, uint32_t process,
                     const struct fm_recorded_window **ret_windows);

/* Instructions of a window, and those in the requested region: all, without such a region. */
double fm_window_instructions(const struct fm_recorded_window *window);
double fm_window_inside(const struct fm_recorded_window *window);

/* Instructions that each window represents. */
void fm_windows_strata(const struct fm_recording *recording, uint32_t process, double *ret_strata);

/* Total of a process. `values`: the count in each of its windows. */
struct fm_window_total fm_windows_total(const struct fm_recording *recording, uint32_t process, const double *values);

/* Total of all processes. `values`: the count in each window of the recording. */
struct fm_window_total fm_windows_sum(const struct fm_recording *recording, const double *values);

/* The factor of each window's cycles: below 1 where its represented cycles exceed the time of its stratum, because the
   program mostly did other work there. A window without timing has the cycles of the one before. */
void fm_windows_limit_cycles(const struct fm_recording *recording, uint32_t process, double *ret_factors);

/* Does the recording have windows? */
bool fm_windows_used(const struct fm_recording *recording);

/* Instructions in code that no window covers, of all processes. Their accesses, at most one line each, and misses are
   unknown. */
double fm_windows_unseen(const struct fm_recording *recording);

/* Half of the 95 % interval: value ± this. */
double fm_window_half_width(const struct fm_window_total *total);

#endif
