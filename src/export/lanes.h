/* Slices on one track must be nested. Other overlapping regions get separate lanes. */
#ifndef FATHOM_EXPORT_LANES_H
#define FATHOM_EXPORT_LANES_H

#include "recording/recording.h"

enum { FM_LANES_MAX = 8 };

/* The lane of each instance, from 0: [instances_count], freed by the caller. The last lane may have overlaps. */
int fm_lanes_make(const struct fm_recording *recording, uint8_t **ret_lanes);

#endif
