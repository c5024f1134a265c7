/* Kernel time, predicted separately: no simulated core executes the kernel. Page faults are its only predictable
   work. */
#ifndef FATHOM_MODEL_KERNEL_TIME_H
#define FATHOM_MODEL_KERNEL_TIME_H

#include "model/picture.h"

/* Sets kernel_seconds (measured) and fault_seconds (page faults times the measured cost of a first touch), for the
   whole program only. Neither is part of predicted_seconds, user_seconds or their comparison. */
void fm_kernel_time(const struct fm_recording *recording, struct fm_picture *picture);

/* True if the share of kernel time exceeds FM_KERNEL_MATTERS and rests on enough clock ticks. */
bool fm_kernel_matters(const struct fm_recorded_native *native);

#endif
