/* Ranks of a parallel program, passed in the environment. */
#ifndef FATHOM_BASE_RANKS_H
#define FATHOM_BASE_RANKS_H

/* Sets FATHOM_RANK, FATHOM_RANKS and the variables of MPI launchers, in the process of the rank or its parent. */
void fm_rank_set(unsigned rank, unsigned ranks);

#endif
