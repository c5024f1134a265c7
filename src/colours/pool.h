/* The pages by which colours are told on this machine, in a file in memory that programs with the runtime can open:
   colours belong to pages, whoever has them mapped. Nothing of it is in any folder; it is gone with the process. */
#ifndef FATHOM_COLOURS_POOL_H
#define FATHOM_COLOURS_POOL_H

#include "colours/discover.h"
#include "colours/shared.h"

struct fm_colours_pool {
	struct fm_colours colours;
	struct fm_colours_shared *shared;
	char *memory; /* the pages behind it */
	char **pages; /* in an order that changes */
	unsigned count;
	int file;
	char path[64];             /* for the environment of programs */
	double seconds;            /* that the last discovery took */
	double disagreement;       /* share of pages that got another colour when they were tested again */
	double near_ns, beyond_ns; /* 0: not measured */
};

/* For the geometry of the CPU that the caller runs on; nothing is measured yet. */
int fm_colours_pool_open(struct fm_colours_pool **ret_pool, struct fm_error *error);
void fm_colours_pool_close(struct fm_colours_pool *pool);

/* Finds the colours and tests them again; `hash` is what was found before, 0: it is looked for. The calling thread is
   kept on one CPU meanwhile. -ENOTSUP when it does not close. */
int fm_colours_pool_discover(struct fm_colours_pool *pool, uint64_t hash, struct fm_error *error);

/* Have pages lost their colour? Then those are left out, or everything is found again. */
int fm_colours_pool_recheck(struct fm_colours_pool *pool, struct fm_error *error);

/* Memory of this process and back, page by page in random order: what a program with few colours has given back would
   be given to the next one. */
void fm_colours_scrub(struct fm_random *random);

#endif
