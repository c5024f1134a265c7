/* What the tool and the runtime in the program share: one file in memory, whose first part is this, followed by the
   pages of all sets. The runtime opens it through the path in the environment; when the tool is gone, so is the path,
   and programs run as if there were none. Neither side trusts what the other writes. */
#ifndef FATHOM_COLOURS_SHARED_H
#define FATHOM_COLOURS_SHARED_H

#include "colours/sets.h"

#define FM_COLOURS_VARIABLE "FATHOM_COLOURS"
#define FM_COLOURS_MAGIC 0x31736c6f43687446ull

enum { FM_COLOURS_PROCESSES = 16 };

enum fm_colours_state {
	FM_COLOURS_NONE,
	FM_COLOURS_BEGUN,
	FM_COLOURS_READY, /* its memory is as it should be */
	FM_COLOURS_OFF,   /* it runs as if there were no runtime; `why` says the reason */
};

/* A program that found the runtime. */
struct fm_colours_process {
	int32_t process;
	uint32_t state;
	char why[128];
	uint64_t begun_ns, ready_ns;        /* CLOCK_MONOTONIC: the time between is the runtime's */
	uint32_t candidates;                /* pages that were looked at */
	uint32_t kept;                      /* of the colours wanted */
	uint32_t heap, data, stack, others; /* pages that went there; others: mapped memory, stacks of threads */
	uint32_t by_mapping;                /* moved one mapping each, as the kernel has no UFFDIO_MOVE */
	/* a chase over three quarters of what should fit, and over one and a half times that; 0: not enough pages */
	double near_ns, beyond_ns;
	/* at its end */
	uint32_t ended;
	uint32_t forks;
	uint32_t filtered;        /* it made a filter of system calls, or may have: nothing was done in it after that */
	uint64_t heap_bytes;      /* that were used */
	uint64_t data_bytes;      /* of the program's variables, up to the last one used */
	uint64_t anonymous_bytes; /* memory of its own in all */
	uint64_t left_bytes;      /* … that has other colours */
};

struct fm_colours_shared {
	uint64_t magic;
	uint32_t bytes; /* of this struct */
	/* what is wanted */
	uint32_t filtered; /* the tool itself has a filter of system calls, so that programs have it, too */
	uint32_t survey;   /* only look how much memory the program uses */
	uint32_t keep;     /* colours; the first ones */
	uint32_t shuffled; /* pages of any colour instead, after the same work */
	uint32_t heap_pages, data_pages, other_pages, stack_pages, most_pages;
	uint64_t seed;
	uint64_t free_bytes; /* memory that may be taken, by the tool's control groups, too */
	/* how colours are told */
	struct fm_colours_geometry geometry;
	struct fm_colours_lines lines;
	uint64_t hash;
	uint32_t threshold, longest, passes;
	uint32_t pool_at, pool_pages; /* where the pages begin in the file, in bytes; how many */
	uint32_t set_counts[FM_COLOURS_MOST];
	uint32_t set_pages[FM_COLOURS_MOST][FM_COLOURS_SET_PAGES]; /* numbers of pages */
	/* what became of it */
	uint32_t process_count;
	struct fm_colours_process processes[FM_COLOURS_PROCESSES];
};

#endif
