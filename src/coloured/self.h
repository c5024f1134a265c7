/* The state of the runtime in this process. */
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
	/* unused pages of the wanted colours, in turn */
	char **pages;
	uint32_t page_count, next;
	uint32_t lock;
	bool moves;                  /* the kernel supports UFFDIO_MOVE */
	char *heap_begin, *heap_end; /* filled part of the heap */
	/* `quiet`: no further system calls, since a filter may end the program; 1 soon, 2 now. `busy`: threads in
	   system calls of the runtime. */
	uint32_t quiet, busy;
	char *quiet_top; /* top of the heap at that time */
};

extern struct fm_coloured fm_coloured __attribute__((visibility("hidden")));

/* Brackets system calls after the start of the program; false: no longer allowed. */
bool fm_coloured_enter(void);
void fm_coloured_leave(void);

/* Before the program installs a filter of system calls: collects all data and waits until no thread is in a system call
   of the runtime. */
void fm_coloured_be_quiet(void);

/* Blocks signals while pages used by their handlers may be exchanged. */
void fm_coloured_block(sigset_t *ret_old);
void fm_coloured_unblock(const sigset_t *old);

/* Finds `wanted` verified pages of the wanted colours. Other pages are released in random order, to leave no pattern in
   the kernel's free lists. Returns NULL, or the reason of a failure. */
const char *fm_coloured_collect(struct fm_colours *colours, unsigned wanted, struct fm_colours_process *process);

/* Takes up to `wanted` unused pages; returns their number, from fm_coloured.pages[*ret_first] on. */
unsigned fm_coloured_take(unsigned wanted, unsigned *ret_first);

/* The present content: irrelevant; kept; or copied in any case, also from a file. */
enum fm_coloured_content { FM_COLOURED_LOSE, FM_COLOURED_KEEP, FM_COLOURED_COPY };

/* Replaces pages of private, anonymous memory without concurrent use. Returns the number of replaced pages. */
unsigned fm_coloured_fill(char *at, unsigned pages, enum fm_coloured_content content);

/* Replaces private memory that may come from a file: the whole range becomes a new mapping. */
unsigned fm_coloured_exchange(char *at, unsigned pages);

/* Replaces the stack below the caller's frames, down to `lowest`. */
unsigned fm_coloured_fill_stack(unsigned pages, const char *lowest);

#endif
