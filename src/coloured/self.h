/* The runtime in this process. */
#ifndef FATHOM_COLOURED_SELF_H
#define FATHOM_COLOURED_SELF_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system_call.h"
#include "colours/shared.h"

struct fm_coloured {
	struct fm_colours_shared *shared;
	struct fm_colours_process *process; /* NULL: the runtime is off */
	/* pages of the wanted colours, in turn, that have not been given away */
	char **pages;
	uint32_t page_count, next;
	uint32_t lock;
	bool moves;                  /* the kernel can move pages: UFFDIO_MOVE */
	char *heap_begin, *heap_end; /* what was filled of it */
	/* No system call of ours any more: a filter may end the program for one. 1: it is about to
	   be, 2: it is so. And how many threads make some now. */
	uint32_t quiet, busy;
	char *quiet_top; /* of the heap when that began */
};

extern struct fm_coloured fm_coloured __attribute__((visibility("hidden")));

/* Whoever makes system calls after the program has begun does so between these; false: not any more. */
bool fm_coloured_enter(void);
void fm_coloured_leave(void);

/* The program is about to make a filter of system calls: what is to be found out is found out now. Returns when no
   thread is busy with calls of ours. */
void fm_coloured_be_quiet(void);

/* Signals wait while memory that their handlers may use is being exchanged. */
void fm_coloured_block(sigset_t *ret_old);
void fm_coloured_unblock(const sigset_t *old);

/* Pages of the wanted colours, so many and verified; all others are released in random order, so that the kernel's free
   lists do not keep a pattern. NULL or a reason. */
const char *fm_coloured_collect(struct fm_colours *colours, unsigned wanted, struct fm_colours_process *process);

/* Takes up to so many pages from those that are left; returns how many, from fm_coloured.pages[*ret_first] on. */
unsigned fm_coloured_take(unsigned wanted, unsigned *ret_first);

/* What is there already: it does not matter; it is kept where there is something; it is copied in any case, also from a
   file. */
enum fm_coloured_content { FM_COLOURED_LOSE, FM_COLOURED_KEEP, FM_COLOURED_COPY };

/* Gives pages to private, anonymous memory that nobody else uses meanwhile. Returns how many pages it has got. */
unsigned fm_coloured_fill(char *at, unsigned pages, enum fm_coloured_content content);

/* Exchanges private memory that comes from a file, or may: the whole range is a new mapping afterwards. */
unsigned fm_coloured_exchange(char *at, unsigned pages);

/* Below the caller's frames, on a stack that reaches down to `lowest`. */
unsigned fm_coloured_fill_stack(unsigned pages, const char *lowest);

#endif
