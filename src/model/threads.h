/* Time of several threads: work alone, plus shared lines, spinning and waiting (docs/decisions/threads.md). */
#ifndef FATHOM_MODEL_THREADS_H
#define FATHOM_MODEL_THREADS_H

#include "model/picture.h"

/* Sets picture->times of the whole program; without native runs, the reason. The relative interval of work is that of
   predicted_seconds. */
void fm_threads_predict(const struct fm_recording *recording, struct fm_picture *picture);

/* Cycles of a thread in spin loops on lines of other threads, from exact counting. */
double fm_threads_spun(const struct fm_recording *recording, unsigned thread);

#endif
