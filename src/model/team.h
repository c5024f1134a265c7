/* What the threads of a program did with its processors, at native speed: working, at cache lines of other threads,
   spinning, blocked. By the positions of threads at ticks of their time (trace/positions.h) and the scheduler's
   accounts; no simulated cycles are used. */
#ifndef FATHOM_MODEL_TEAM_H
#define FATHOM_MODEL_TEAM_H

#include "model/picture.h"

/* Fills picture->team, and the working time of its threads. Not known without enough positions, for parts of a program,
   and with one worker. */
void fm_team_build(const struct fm_recording *recording, struct fm_picture *picture);

#endif
