/* Shared by the two sides of the native engine. The library in the program runs threads in a code cache and logs their
   references. The consumer, a process of the tool, simulates. One folder per run:

       session           struct fm_trace_session, made by the tool, mapped by all
       PID-TICKS.trace   one per process of the program, made by the library: struct fm_trace_file

   The library never waits long and never fails loudly: without room or consumer it stops tracing, notes that in its
   head, and the program continues natively. The consumer trusts nothing: every number is checked. All memory written by
   the library is reserved before (posix_fallocate): a full disk causes no SIGBUS. */
#ifndef FATHOM_TRACE_SHARED_H
#define FATHOM_TRACE_SHARED_H

#include <stdint.h>

#include "base/foreign_kind.h"

#define FM_TRACE_VARIABLE "FATHOM_NATIVE" /* the folder, an absolute path */
#define FM_TRACE_MAGIC 0x3165636172546d46ull

enum {
	FM_TRACE_VERSION = 13,
	FM_TRACE_UNKNOWN = INT32_MAX, /* in place of a process number */
	FM_TRACE_THREADS = 64,        /* live traced threads at a time; others run natively and are counted */
	FM_TRACE_RING = 1 << 15,      /* entries of a thread's ring */
	FM_TRACE_LARGE = 1 << 20,     /* … and of a large one, which holds a whole window without waiting */
	FM_TRACE_LARGE_RINGS = 16,
	FM_TRACE_SITES = 1 << 20,
	FM_TRACE_PIECES = 1 << 18,
	FM_TRACE_NAMES = 512, /* of regions */
	FM_TRACE_NAME = 96,
	FM_TRACE_REASONS = 64,
	FM_TRACE_EPISODES = 1024,
	FM_TRACE_POSITIONS = 2048, /* of each thread */
	FM_TRACE_CALLERS = 10,     /* of a position */
	FM_TRACE_TIMINGS = 8192,
	FM_TRACE_ALLOCATIONS = 1 << 14,   /* entries of the ring of kept allocations */
	FM_TRACE_ALLOCATION_FRAMES = 12,  /* of a call stack */
	FM_TRACE_ALLOCATION_LARGE = 8192, /* bytes from which on all allocations are kept */
	FM_TRACE_ALLOCATION_STEP = 4096,  /* mean bytes of small allocations from one kept one to the next */
	FM_TRACE_SHORT_KINDS = 8,
	FM_TRACE_STRING_KINDS = 2 * FM_TRACE_SHORT_KINDS,
};

enum fm_trace_mode {
	FM_TRACE_EXACT,   /* every reference, from start to end */
	FM_TRACE_WINDOWS, /* pieces are always counted; references are logged in windows */
};

struct fm_trace_session {
	uint64_t magic;
	uint32_t version;
	uint32_t mode;       /* enum fm_trace_mode */
	uint32_t log_pieces; /* entries for pieces too: the order of all instructions is known */
	uint32_t children;   /* forked and executed processes are traced too */
	uint64_t ticks_per_second;
	/* windows */
	uint64_t window_references; /* references of each thread in a window */
	uint64_t window_warm;       /* of these, at the start, for warm-up only */
	double slowdown;            /* upper limit: time in and around windows, relative to the time without */
	/* Lines followed all the time, also outside of windows: struct fm_translate_filter. limit 0: none */
	uint32_t line_multiplier, line_limit, line_offset;
	uint32_t pace;   /* 1: measure the slowdown by counting and following */
	double overhead; /* permitted to processes with several busy threads, which then rest natively; 0: no rest */
	uint32_t busy_least;        /* threads of a process that rests: they run at the same time */
	uint64_t run_in_ns;         /* processor time of the process before its first rest */
	double laboratory;          /* permitted part of the time; 0: none */
	uint32_t objects;           /* 1: allocations are kept, for the names of heap objects */
	char region[FM_TRACE_NAME]; /* log only inside this region; "": everywhere. Pieces are counted everywhere */
	/* shared */
	uint32_t stop;      /* 1: no reader: trace nothing */
	uint32_t hurry;     /* 1: readers finish with the data already read */
	uint32_t processes; /* processes with a file */
	uint32_t lost_processes;
	uint32_t foreign[FM_FOREIGN_KINDS]; /* processes not traced, by reason */
	uint32_t published; /* a futex, incremented when a quarter of a ring is written and when threads and processes
	                       end. Readers also poll for smaller amounts */
};

/* Entries of a ring. The highest bits of `what` are one of these: */
enum {
	FM_TRACE_REFERENCE = 0, /* | number of the site; `address` */
	/* the first reference of a repeated string instruction is followed by an entry of the same site, with the
	   number of elements as its address */
	FM_TRACE_PIECE = 1 << 28,   /* | number of the piece that begins; the address is undefined */
	FM_TRACE_CONTROL = 2 << 28, /* | enum fm_trace_control; the address is its value */
	/* | number of the site; `address`: outside of windows, of a followed line, or a repeated string instruction
	   (two entries). Not every access: the lines of the latest entries are logged again only after some others. */
	FM_TRACE_LINE = 3 << 28,
	FM_TRACE_NUMBER = (1 << 28) - 1,
};
enum fm_trace_control {
	/* The next entries were executed between these two moments (time stamp), by which the consumer orders
	   threads. */
	FM_TRACE_BEGAN,
	FM_TRACE_ENDED,
	FM_TRACE_THREAD_BEGIN, /* value: the kernel's id. The first entry of a thread */
	FM_TRACE_THREAD_END,   /* the last entry; value: ticks of waiting for the reader */
	FM_TRACE_REGION_BEGIN, /* value: number of the name */
	FM_TRACE_REGION_END,
	FM_TRACE_WINDOW_BEGIN, /* value: number of the window in the process, from 1 */
	FM_TRACE_WINDOW_WARM,  /* end of the warm-up */
	FM_TRACE_WINDOW_END,   /* value: instructions of all threads of the process so far */
	FM_TRACE_LOST,         /* value: number of entries missing here */
	FM_TRACE_RESTED,       /* the thread ran natively up to here; value: the phase of its process that begins */
};
struct fm_trace_entry { /* as struct fm_translate_entry */
	uint64_t address;
	uint64_t what;
};

/* One memory operand of one instruction (as struct fm_translate_site). */
struct fm_trace_site {
	uint64_t pc;
	uint16_t size;
	uint8_t kind; /* FM_TRANSLATE_... */
	uint8_t operand;
	uint32_t ready; /* 1: written */
};

/* A piece of straight code. */
struct fm_trace_piece {
	uint64_t pc;
	uint16_t bytes, instructions;
	uint16_t ready;
	uint16_t end;           /* enum fm_translate_end */
	uint16_t loads, stores; /* except those of repeated string instructions */
	uint32_t load_bytes, store_bytes;
	uint64_t executed; /* executions in all threads, as last published: at window ends, ticks and the end */
};

/* A place for a thread; reused by later threads. */
struct fm_trace_thread {
	_Alignas(64) uint64_t written; /* all entries so far; written by the library */
	uint32_t used;                 /* 1: in use; 0: free, after everything was read */
	uint32_t waiting;              /* 1: the thread waits for room: wake it after reading */
	uint32_t large;                /* number of its large ring, from 1; 0: none. Changes before `written` … */
	uint64_t executed;             /* counted instructions of the present thread, as last published */
	uint64_t rested_ns;            /* processor time of its rests */
	uint32_t large_size;           /* … its entries, a power of two; 0: FM_TRACE_LARGE */
	uint64_t large_from;           /* … entries from this one on are in it, earlier ones in the small ring */
	_Alignas(64) uint64_t read;    /* by the consumer; its low half is a futex for a writer without room */
};

/* Where a thread was at a tick of its processor time while it ran natively, or in plain code. */
struct fm_trace_position {
	uint64_t pc;           /* of the program's own code; after a system call: the thread was in the kernel */
	uint32_t at;           /* units of FM_TRACE_POSITION_NS since the process began, by the wall clock */
	uint32_t thread;       /* the kernel's number */
	uint32_t ns;           /* processor time that it represents */
	uint32_t plain;        /* 1: in plain code … */
	uint32_t instructions; /* … which has executed this number in that time; 0: unknown */
	uint64_t callers[FM_TRACE_CALLERS]; /* return addresses, the innermost first; 0: none */
};
enum { FM_TRACE_POSITION_NS = 1 << 16 };

/* Of the threads of one place, in the order of time. Without room, every second position is dropped, and the remaining
   ones represent more time. */
struct fm_trace_positions {
	uint32_t count;
	uint32_t every; /* ticks from one kept position to the next, minus 1 */
	struct fm_trace_position list[FM_TRACE_POSITIONS];
};

/* What the laboratory has timed: laboratory.h. */
enum fm_timing_kind {
#define KIND(name, text) FM_TIMING_##name,
#define PROBLEM(name, text)
#include "base/timings.def"
#undef PROBLEM
#undef KIND
	FM_TIMING_KINDS
};
enum fm_timing_problem {
#define KIND(name, text)
#define PROBLEM(name, text) FM_TIMING_##name,
#include "base/timings.def"
#undef PROBLEM
#undef KIND
	FM_TIMING_PROBLEMS
};
struct fm_trace_timing {
	uint64_t mark;  /* address behind the branch whose executions are counted as visits */
	uint64_t ticks; /* of all visits */
	uint32_t visits;
	uint32_t instructions; /* of all visits; 0: unknown */
	uint16_t kind;         /* enum fm_timing_kind */
	uint16_t problem;      /* enum fm_timing_problem; not FM_TIMING_DONE: nothing was timed */
	uint16_t lines, pages; /* placed */
};
struct fm_trace_timings {
	uint32_t count;
	uint32_t lost; /* without room */
	struct fm_trace_timing list[FM_TRACE_TIMINGS];
};

/* A kept allocation. */
struct fm_trace_allocation {
	uint64_t address, size;
	uint64_t frames[FM_TRACE_ALLOCATION_FRAMES]; /* return addresses, the innermost first; 0: none */
	uint32_t ready;                              /* its number + 1 (low half): written */
	uint32_t unused;
};

/* A ring: allocation n is list[n % FM_TRACE_ALLOCATIONS]. */
struct fm_trace_allocations {
	_Alignas(64) uint64_t written; /* numbers given so far */
	uint64_t reserved;             /* entries that are writable */
	uint64_t lost;                 /* without room */
	_Alignas(64) uint64_t read;    /* by the consumer */
	_Alignas(64) struct fm_trace_allocation list[FM_TRACE_ALLOCATIONS];
};

/* The same branches in normal code outside of windows, and in plain code, which neither counts nor follows lines. */
struct fm_trace_episode {
	uint64_t counted_ns, counted_passes, plain_ns, plain_passes;
};

struct fm_trace_head {
	uint64_t magic;
	uint32_t version;
	uint32_t process, parent;
	uint32_t known_as;      /* by the tool: number of the process in its own namespace; 0: the same */
	uint64_t process_space; /* of process numbers (base/foreign.h) */
	uint32_t forked;        /* 1: from `parent`; 0: executed */
	uint64_t begun;         /* ticks … */
	uint64_t begun_ns;      /* … and CLOCK_MONOTONIC */
	uint64_t ended;         /* ticks; 0: still running, or killed */
	uint32_t site_count;    /* complete sites */
	uint32_t piece_count;
	uint32_t name_count;
	uint32_t mappings; /* incremented when code is mapped or unmapped: /proc/PID/maps is to be read again */
	/* coverage */
	uint64_t ticks_in_cache,
	    ticks_outside; /* of its threads, by timer signals that found them in or outside of the cache, in signals */
	uint64_t native_threads; /* threads run natively for lack of a place or memory */
	uint64_t lost_entries, lost_sites, lost_pieces;
	/* string instructions outside of windows that were only counted: short ones by fm_translate_short_kind(), then
	   those without room */
	struct fm_trace_short {
		uint64_t elements, times;
	} not_logged[FM_TRACE_STRING_KINDS];
	uint64_t left[FM_TRACE_REASONS]; /* exits of the cache, by enum fm_translate_reason */
	uint64_t window_ticks, waited_ticks, translator_ticks, cpu_ns; /* cost of tracing, and processor time in all */
	uint64_t threads_ns;                                           /* part of cpu_ns in traced threads */
	uint64_t windows;
	/* by the consumer */
	uint32_t enough;      /* 1: all figures are precise: windows become rare */
	uint32_t large_rings; /* large rings that the consumer can read and has memory for */
	uint32_t processors;  /* processors that the consumer may use at a time */
	uint32_t team;        /* threads of the process that run at a time */
	uint32_t
	    resting; /* 1: they run natively, or in plain code; a futex for the consumer, which does not disturb them */
	uint64_t read_ns, read_wall_ns; /* processor time and duration of its reading */
	uint64_t plain_ns;              /* processor time in plain code … */
	uint64_t plain_instructions;    /* … and instructions executed in it, estimated … */
	uint64_t plain_unknown_ns;      /* … without this time */
	uint64_t rest_ns;               /* the same of native rests (rest.h) */
	uint64_t beats;                 /* incremented by the consumer during long work */
	uint64_t episode_count;
	struct fm_trace_episode episodes[FM_TRACE_EPISODES];
	uint32_t objects;  /* 1: `allocations` is in use */
	int32_t error;     /* errno why nothing is traced, 0: traced */
	uint32_t filtered; /* 1: the program limits its system calls; tracing stopped there */
	uint32_t limited;  /* 1: tracing stopped, since the processor time is limited */
	char program[1024];
	char names[FM_TRACE_NAMES][FM_TRACE_NAME];
};

struct fm_trace_file {
	struct fm_trace_head head;
	_Alignas(4096) struct fm_trace_thread threads[FM_TRACE_THREADS];
	_Alignas(4096) struct fm_trace_site sites[FM_TRACE_SITES];
	_Alignas(4096) struct fm_trace_piece pieces[FM_TRACE_PIECES];
	_Alignas(4096) struct fm_trace_positions positions[FM_TRACE_THREADS];
	_Alignas(4096) struct fm_trace_timings timings;
	_Alignas(4096) struct fm_trace_allocations allocations;
	_Alignas(4096) struct fm_trace_entry rings[FM_TRACE_THREADS][FM_TRACE_RING];
};

/* The large rings, behind struct fm_trace_file in long enough files. Each is mapped only when used: programs may have
   few addresses left. */
struct fm_trace_large {
	struct fm_trace_entry rings[FM_TRACE_LARGE_RINGS][FM_TRACE_LARGE];
};

#endif
