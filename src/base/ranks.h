/* Ranks of a parallel program: each copy learns from its environment which one it is. */
#ifndef FATHOM_BASE_RANKS_H
#define FATHOM_BASE_RANKS_H

/* FATHOM_RANK and FATHOM_RANKS, and what launchers of MPI programs set. In a process that is about to become the rank,
   or whose children are. */
void fm_rank_set(unsigned rank, unsigned ranks);

#endif
