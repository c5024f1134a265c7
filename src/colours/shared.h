/* Data shared by the tool and the runtime in the program: a file in memory with this struct, followed by the pages of
   all sets. The runtime opens it through a path in the environment. Without the tool the path is invalid, and programs
   run unchanged. Neither side trusts the data of the other. */
#ifndef FATHOM_COLOURS_SHARED_H
#define FATHOM_COLOURS_SHARED_H

#include "colours/sets.h"

#define FM_COLOURS_VARIABLE "FATHOM_COLOURS"
#define FM_COLOURS_MAGIC 0x31736c6f43687446ull

enum { FM_COLOURS_PROCESSES = 16 };

enum fm_colours_state {
	FM_COLOURS_NONE,
	FM_COLOURS_BEGUN,
	FM_COLOURS_READY, /* the program's memory has the wanted colours */
	FM_COLOURS_OFF,   /* the program runs unchanged; `why` has the reason */
};

/* A program with the runtime. */
struct fm_colours_process {
	int32_t process;
	uint32_t state;
	char why[128];
	uint64_t begun_ns, ready_ns;        /* CLOCK_MONOTONIC: begin and end of the runtime's preparation */
	uint32_t candidates;                /* tested pages */
	uint32_t kept;                      /* pages of the wanted colours */
	uint32_t heap, data, stack, others; /* pages by use; others: mapped memory, stacks of threads */
	uint32_t by_mapping;                /* pages moved as separate mappings, without UFFDIO_MOVE in the kernel */
	/* latency of a chase over three quarters of the capacity, and over one and a half times the capacity; 0: too
	   few pages */
	double near_ns, beyond_ns;
	/* at the program's end */
	uint32_t ended;
	uint32_t forks;
	uint32_t filtered;   /* the program may have installed a filter of system calls, after which the runtime was
	                        inactive */
	uint64_t heap_bytes; /* bytes in use */
	uint64_t data_bytes; /* bytes of variables, up to the last used one */
	uint64_t anonymous_bytes; /* anonymous memory in all */
	uint64_t left_bytes;      /* … with other colours */
};

struct fm_colours_shared {
	uint64_t magic;
	uint32_t bytes; /* size of this struct */
	/* the request */
	uint32_t filtered; /* the tool, and thus its programs, have a filter of system calls */
	uint32_t survey;   /* only measure the memory in use */
	uint32_t keep;     /* number of colours to keep, counted from the first */
	uint32_t shuffled; /* control: same work, but pages of any colour */
	uint32_t heap_pages, data_pages, other_pages, stack_pages, most_pages;
	uint64_t seed;
	uint64_t free_bytes; /* available memory, within the control groups of the tool */
	/* the colours */
	struct fm_colours_geometry geometry;
	struct fm_colours_lines lines;
	uint64_t hash;
	uint32_t threshold, longest, passes;
	uint32_t pool_at, pool_pages; /* offset of the pages in the file in bytes; their number */
	uint32_t set_counts[FM_COLOURS_MOST];
	uint32_t set_pages[FM_COLOURS_MOST][FM_COLOURS_SET_PAGES]; /* numbers of pages */
	/* the results */
	uint32_t process_count;
	struct fm_colours_process processes[FM_COLOURS_PROCESSES];
};

#endif
