/* What a simulated host does not know: the profile's own intervals, carried into what rests on them. A machine that is
   given as a file is exact, and so are its figures. */
#ifndef FATHOM_MODEL_UNCERTAINTY_H
#define FATHOM_MODEL_UNCERTAINTY_H

#include "model/picture.h"

/* More than this between predicted and measured user time, and the simulated machine does not fit the program. */
#define FM_DOUBTFUL 0.30

/* The interval of a cache's capacity becomes one of the lines that miss it. Misses against capacity are taken as a
   power law between the caches that were simulated. */
void fm_uncertain_traffic(const struct fm_recording *recording, struct fm_picture *picture);

/* What was only seen through windows is sampled: the interval comes from how much the windows differ, and from what
   they could not know of the caches. After fm_uncertain_traffic(). */
void fm_uncertain_windows(const struct fm_recording *recording, struct fm_picture *picture);

/* A run with fewer windows than any estimate needs: what was counted in them is withheld. */
void fm_uncertain_few_windows(const struct fm_recording *recording, struct fm_picture *picture);

/* The intervals of latencies and bandwidths become those of the cycles waited for them. */
void fm_uncertain_cycles(const struct fm_recording *recording, struct fm_picture *picture);

/* The same for cycles, in which only short stretches of windows are known. After fm_uncertain_cycles(). And for the
   time that is made of them. */
/* The same where only stretches of the run had core timing. */
void fm_uncertain_stretches(const struct fm_recording *recording, struct fm_picture *picture);
void fm_uncertain_window_cycles(const struct fm_recording *recording, struct fm_picture *picture);
void fm_uncertain_window_time(const struct fm_recording *recording, struct fm_figure *predicted);

/* Predicted against measured time: the interval of the prediction, its error, and whether to doubt the rest. */
void fm_uncertain_prediction(const struct fm_recording *recording, struct fm_picture *picture);

/* What threads lose by waiting for each other: blocked in the kernel, and handing lines over from core to core. */
void fm_synchronisation(const struct fm_recording *recording, const struct fm_core_counts *counts,
                        struct fm_picture *picture);

/* A program that was out of the engine's sight for long is not predicted by the rest: takes the prediction back, with
   the reason, and makes verdicts doubtful. After fm_uncertain_prediction(). */
void fm_uncertain_unseen(const struct fm_recording *recording, struct fm_picture *picture);

#endif
