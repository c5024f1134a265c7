/* Uncertainty of figures on the simulated `host`, propagated from the intervals of the profile. A machine from a file
   is exact. */
#ifndef FATHOM_MODEL_UNCERTAINTY_H
#define FATHOM_MODEL_UNCERTAINTY_H

#include "model/picture.h"

/* From the interval of a cache's capacity to that of its misses, by a power law of misses over capacity between the
   simulated caches. */
void fm_uncertain_traffic(const struct fm_recording *recording, struct fm_picture *picture);

/* Intervals of figures from windows: by the differences between windows and the unknown contents of caches. Call after
   fm_uncertain_traffic(). */
void fm_uncertain_windows(const struct fm_recording *recording, struct fm_picture *picture);

/* Makes figures unavailable if the run has too few windows for an estimate. */
void fm_uncertain_few_windows(const struct fm_recording *recording, struct fm_picture *picture);

/* From the intervals of latencies and bandwidths to those of the cycles that wait for them. */
void fm_uncertain_cycles(const struct fm_recording *recording, struct fm_picture *picture);

/* Intervals of cycles if only stretches of the run had core timing. Call after fm_uncertain_cycles(). */
void fm_uncertain_stretches(const struct fm_recording *recording, struct fm_picture *picture);
/* … if only stretches of windows were timed: intervals of the cycles, and of the time predicted from them. */
void fm_uncertain_window_cycles(const struct fm_recording *recording, struct fm_picture *picture);
void fm_uncertain_window_time(const struct fm_recording *recording, struct fm_figure *predicted);

/* Compares predicted and measured time: sets the interval and error of the prediction, and picture->doubtful. */
void fm_uncertain_prediction(const struct fm_recording *recording, struct fm_picture *picture);

/* Sets the signs of waiting threads: blocked in the kernel, and cache line transfers. */
void fm_synchronisation(const struct fm_recording *recording, const struct fm_core_counts *counts,
                        struct fm_picture *picture);

/* If much of the time was unobserved: withdraws the prediction, with the reason, and makes verdicts doubtful. Call
   after fm_uncertain_prediction(). */
void fm_uncertain_unseen(const struct fm_recording *recording, struct fm_picture *picture);

#endif
