/* The pages that define the colours of this machine. They are in an unnamed memory file, which programs with the
   runtime open: a page keeps its colour in any mapping. The file ends with the process. */
#ifndef FATHOM_COLOURS_POOL_H
#define FATHOM_COLOURS_POOL_H

#include "colours/discover.h"
#include "colours/shared.h"

struct fm_colours_pool {
	struct fm_colours colours;
	struct fm_colours_shared *shared;
	char *memory; /* memory of the pages */
	char **pages; /* in changing order */
	unsigned count;
	int file;
	char path[64];             /* path for the environment of programs */
	double seconds;            /* duration of the last discovery */
	double disagreement;       /* share of pages with another colour in the second test */
	double near_ns, beyond_ns; /* 0: not measured */
};

/* Creates the pool for the geometry of the current CPU, without measurements. */
int fm_colours_pool_open(struct fm_colours_pool **ret_pool, struct fm_error *error);
void fm_colours_pool_close(struct fm_colours_pool *pool);

/* Finds and verifies the colours; `hash` is a known hash, or 0. The calling thread is pinned meanwhile. -ENOTSUP if the
   discovery fails. */
int fm_colours_pool_discover(struct fm_colours_pool *pool, uint64_t hash, struct fm_error *error);

/* Verifies the pages. Removes pages with another colour, or repeats the discovery. */
int fm_colours_pool_recheck(struct fm_colours_pool *pool, struct fm_error *error);

/* Allocates and frees memory page by page in random order; otherwise the next program gets pages of few colours, freed
   by the last program. */
void fm_colours_scrub(struct fm_random *random);

#endif
