/* Slices on one track must lie within each other. Regions that overlap otherwise get a lane of their own. */
#ifndef FATHOM_EXPORT_LANES_H
#define FATHOM_EXPORT_LANES_H

#include "recording/recording.h"

enum { FM_LANES_MAX = 8 };

/* The lane of each instance, from 0: [instances_count], to be freed. In the last lane they may overlap after all. */
int fm_lanes_make(const struct fm_recording *recording, uint8_t **ret_lanes);

#endif
