/* The time of several threads: what each takes by itself, what it costs that they share lines, spin and wait
   (docs/decisions/threads.md). */
#ifndef FATHOM_MODEL_THREADS_H
#define FATHOM_MODEL_THREADS_H

#include "model/picture.h"

/* picture->times, of the whole program, if it also ran by itself; else it says why not. `predicted` is what the
   simulated cycles gave before: the interval of work is as wide. */
void fm_threads_predict(const struct fm_recording *recording, struct fm_picture *picture);

/* Cycles that a thread spent in loops that only look at a line which others store to, as the exact engine saw them. */
double fm_threads_spun(const struct fm_recording *recording, unsigned thread);

#endif
