/* The cause that ends the scaling. */
#ifndef FATHOM_SCALE_VERDICT_H
#define FATHOM_SCALE_VERDICT_H

#include "scale/scale.h"

/* Finds the cause from counts[] of the scale. */
void fm_scale_judge(const struct fm_scale *scale, struct fm_scale_verdict *ret_verdict);

#endif
