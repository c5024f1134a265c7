/* Time in the kernel, predicted apart from that of the program itself: no simulated core executes the kernel, and what
   it does is known only where it is page faults. */
#ifndef FATHOM_MODEL_KERNEL_TIME_H
#define FATHOM_MODEL_KERNEL_TIME_H

#include "model/picture.h"

/* Less of a program's processor time in the kernel, and it is not worth a word. */
#define FM_KERNEL_MATTERS 0.05

/* Measured processor time in the kernel, and page faults times the measured cost of a first touch. Of the whole program
   only. Neither is part of predicted_seconds, user_seconds or what these are compared by. */
void fm_kernel_time(const struct fm_recording *recording, struct fm_picture *picture);

/* Is it more than FM_KERNEL_MATTERS, and told by enough ticks? */
bool fm_kernel_matters(const struct fm_recorded_native *native);

#endif
