/* The figures of one number of threads, from its runs. */
#ifndef FATHOM_SCALE_COUNTED_H
#define FATHOM_SCALE_COUNTED_H

#include "scale/scale.h"

/* Fills counts[] of the scale, ascending, from zeroed members. 0; -ENODATA without counts; -ENOMEM. */
int fm_scale_count_all(struct fm_scale *scale);

#endif
