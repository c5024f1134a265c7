/* Totals of a run from what was counted in windows of it.

   A process executes `executed` instructions, which is counted, not sampled. Windows lie at random places of that
   course; each stands for the instructions around it, up to the middle between it and its neighbours (its stratum). The
   total of a quantity is the sum over the windows of its rate per instruction times the instructions of the stratum.
   How much the windows differ from their neighbours tells how far the total may be off.

   A string instruction counts once for each line it moves, here and in all that follows. How many lines there were in
   all is counted too: windows are weighed so that both totals come out. */
#ifndef FATHOM_RECORDING_WINDOWS_H
#define FATHOM_RECORDING_WINDOWS_H

#include "recording/recording.h"

/* So many windows, or nothing is said. */
enum { FM_WINDOWS_LEAST = 4 };

struct fm_window_total {
	double value;
	double error; /* standard error */
	unsigned windows;
};

/* The windows of a process are next to each other. Returns how many there are. */
size_t fm_windows_of(const struct fm_recording *recording, uint32_t process,
                     const struct fm_recorded_window **ret_windows);

/* Instructions in it, and the part of them that is inside the region that alone was wanted: all, if there was none. */
double fm_window_instructions(const struct fm_recorded_window *window);
double fm_window_inside(const struct fm_recorded_window *window);

/* Instructions for which each of them stands. */
void fm_windows_strata(const struct fm_recording *recording, uint32_t process, double *ret_strata);

/* `values` has one for each of them: what was counted in it. */
struct fm_window_total fm_windows_total(const struct fm_recording *recording, uint32_t process, const double *values);

/* All processes together. `values` has one for each window of the recording. */
struct fm_window_total fm_windows_sum(const struct fm_recording *recording, const double *values);

/* What of each window's cycles counts for what it stands for: less than all where that would be more than the time that
   passed there, since then the program did something else for most of it. Of a window in which nothing was timed, those
   of the one before are meant. */
void fm_windows_limit_cycles(const struct fm_recording *recording, uint32_t process, double *ret_factors);

/* Was anything looked at through windows? */
bool fm_windows_used(const struct fm_recording *recording);

/* Instructions of code that no window has seen, of all processes: nobody knows what they refer to, one line each at
   most, and whether that misses. */
double fm_windows_unseen(const struct fm_recording *recording);

/* 95 %: value ± this. */
double fm_window_half_width(const struct fm_window_total *total);

#endif
