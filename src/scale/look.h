/* An observed run with one number of threads, as rows of the recording of all runs. */
#ifndef FATHOM_SCALE_LOOK_H
#define FATHOM_SCALE_LOOK_H

#include "recording/recording.h"

/* Analyses `seen` and adds its traffic, waits, findings and source lines to `recording`, under this count. With
   `simulated`, its simulated time is also a run of this count. */
int fm_scale_look_add(const struct fm_recording *seen, unsigned count, bool simulated, struct fm_recording *recording,
                      struct fm_error *error);

#endif
