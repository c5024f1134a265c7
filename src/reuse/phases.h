/* Phases: runs of clusters whose reuse times resemble each other and differ from those before and after. */
#ifndef FATHOM_REUSE_PHASES_H
#define FATHOM_REUSE_PHASES_H

#include "reuse/times.h"

/* The phase of each cluster, numbered from 0; runs that resemble each other are one phase. Merged times. Returns how
   many there are, at most `most`; -ENOMEM. */
int fm_phases_find(const struct fm_times *times, unsigned most, uint8_t *ret_phases);

#endif
