/* What the native engine's two sides share: the library in the program, whose threads run in a code cache and log what
   they refer to, and the consumer, a process of the tool that simulates. One folder per run:

       session           struct fm_trace_session, made by the tool, mapped by all
       PID-TICKS.trace   one per process of the program, made by the library: struct fm_trace_file

   The library never waits for long and never fails loudly: without room, or without a consumer, it stops tracing, says
   so in its head, and the program goes on natively. The consumer trusts nothing: every number is checked. All memory
   that the library writes is reserved before (posix_fallocate), so that a full disk is no SIGBUS. */
#ifndef FATHOM_NATIVE_TRACE_H
#define FATHOM_NATIVE_TRACE_H

#include <stdint.h>

#include "base/foreign_kind.h"

#define FM_TRACE_VARIABLE "FATHOM_NATIVE" /* the folder, an absolute path */
#define FM_TRACE_MAGIC 0x3165636172546d46ull

enum {
	FM_TRACE_VERSION = 8,
	FM_TRACE_UNKNOWN = INT32_MAX, /* in the place of a process's number */
	FM_TRACE_THREADS = 64,        /* live ones that are traced at a time; others run natively and are counted */
	FM_TRACE_RING = 1 << 15,      /* entries of a thread's ring */
	FM_TRACE_LARGE = 1 << 20,     /* … and of a large one, which holds a window, so that nobody waits in it */
	FM_TRACE_LARGE_RINGS = 4,
	FM_TRACE_SITES = 1 << 20,
	FM_TRACE_PIECES = 1 << 18,
	FM_TRACE_NAMES = 512, /* of regions */
	FM_TRACE_NAME = 96,
	FM_TRACE_REASONS = 64,
	FM_TRACE_EPISODES = 1024,
	FM_TRACE_SHORT_KINDS = 8,
	FM_TRACE_STRING_KINDS = 2 * FM_TRACE_SHORT_KINDS,
};

enum fm_trace_mode {
	FM_TRACE_EXACT,   /* every reference, from the beginning to the end */
	FM_TRACE_WINDOWS, /* pieces are counted always; references are logged in windows */
};

struct fm_trace_session {
	uint64_t magic;
	uint32_t version;
	uint32_t mode;       /* enum fm_trace_mode */
	uint32_t log_pieces; /* entries for pieces too, so that the order of all instructions is known */
	uint32_t children;   /* processes that are forked or executed are traced too */
	uint64_t ticks_per_second;
	/* windows */
	uint64_t window_references; /* of each thread: how long a window is */
	uint64_t window_warm;       /* of these, at the beginning, that only warm the caches */
	double slowdown;            /* time in windows and around them, compared with what it would be without: up to
	                               this */
	/* Lines that are followed all the time, outside of windows too: struct fm_translate_filter. limit 0: none */
	uint32_t line_multiplier, line_limit, line_offset;
	uint32_t pace;              /* 1: find out how much slower it all is */
	char region[FM_TRACE_NAME]; /* log only inside; "": everywhere. Pieces are counted everywhere */
	/* shared */
	uint32_t stop;      /* 1: nobody reads any more: trace nothing */
	uint32_t hurry;     /* 1: readers finish with what they have read */
	uint32_t processes; /* that have a file */
	uint32_t lost_processes;
	uint32_t foreign[FM_FOREIGN_KINDS]; /* that were left alone, and why */
	uint32_t published; /* a futex: counts up when a quarter of a ring is written, and where threads and processes
	                       end. Little that was written does not wake: readers look by themselves, too */
};

/* Entries of a ring. `what` is, by its highest bits, one of these: */
enum {
	FM_TRACE_REFERENCE = 0, /* | number of the site; `address` */
	/* the first reference of a repeated string instruction is followed by an entry of the same site with the number
	   of elements as its address */
	FM_TRACE_PIECE = 1 << 28,   /* | number of the piece that begins; the address means nothing */
	FM_TRACE_CONTROL = 2 << 28, /* | enum fm_trace_control; the address is its value */
	/* | number of the site; `address`: outside of windows, of a line that is followed, or a repeated string
	   instruction (two entries). Not every access to it: lines of the latest entries
	   are logged again only after some others. */
	FM_TRACE_LINE = 3 << 28,
	FM_TRACE_NUMBER = (1 << 28) - 1,
};
enum fm_trace_control {
	/* What follows was executed between these two moments (time stamp): the consumer orders threads by them. */
	FM_TRACE_BEGAN,
	FM_TRACE_ENDED,
	FM_TRACE_THREAD_BEGIN, /* value: the kernel's id. The first entry of a thread */
	FM_TRACE_THREAD_END,   /* the last one; value: ticks for which it has waited for the reader */
	FM_TRACE_REGION_BEGIN, /* value: number of the name */
	FM_TRACE_REGION_END,
	FM_TRACE_WINDOW_BEGIN, /* value: number of the window in the process, from 1 */
	FM_TRACE_WINDOW_WARM,  /* from here on it counts */
	FM_TRACE_WINDOW_END,   /* value: instructions, all threads', that the process has executed so far */
	FM_TRACE_LOST,         /* value: how many entries are missing here */
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
	uint16_t loads, stores; /* not of repeated string instructions */
	uint32_t load_bytes, store_bytes;
	uint64_t executed; /* times, all threads, as last published: at window ends, ticks and the end */
};

/* A place for a thread; used again by later ones. */
struct fm_trace_thread {
	_Alignas(64) uint64_t written; /* entries ever; the library's */
	uint32_t used;                 /* 1: a thread has it; 0: free, once everything is read */
	uint32_t waiting;              /* 1: the thread waits for room: wake it when something was read */
	uint32_t large;             /* number of its large ring, from 1; 0: none. Changes before `written` does … */
	uint64_t large_from;        /* … and entries from this one on are in it, those before in the small one */
	_Alignas(64) uint64_t read; /* the consumer's; its low half is a futex on which a writer without room waits */
};

/* The same branches in code as usual outside of windows, and in plain code, which neither counts nor follows lines. */
struct fm_trace_episode {
	uint64_t counted_ns, counted_passes, plain_ns, plain_passes;
};

struct fm_trace_head {
	uint64_t magic;
	uint32_t version;
	uint32_t process, parent;
	uint32_t known_as;      /* the tool's: the number of the process in its own namespace; 0: the same */
	uint64_t process_space; /* of process numbers (base/foreign.h) */
	uint32_t forked;        /* 1: from `parent`; 0: executed */
	uint64_t begun;         /* ticks */
	uint64_t ended;         /* ticks; 0: not, or not by itself */
	uint32_t site_count;    /* written and ready */
	uint32_t piece_count;
	uint32_t name_count;
	uint32_t mappings; /* counts up when code was mapped or unmapped: /proc/PID/maps is to be read again */
	/* coverage */
	uint64_t ticks_in_cache, ticks_outside; /* of its threads, as timer signals found them, in signals */
	uint64_t native_threads;                /* that ran natively, since there was no place or no memory */
	uint64_t lost_entries, lost_sites, lost_pieces;
	/* string instructions outside of windows that were counted only: short ones by fm_translate_short_kind(), then
	   those for which there was no room */
	struct fm_trace_short {
		uint64_t elements, times;
	} not_logged[FM_TRACE_STRING_KINDS];
	uint64_t left[FM_TRACE_REASONS]; /* times the cache was left, by enum fm_translate_reason */
	uint64_t window_ticks, waited_ticks, translator_ticks, cpu_ns; /* what tracing cost, and all of it */
	uint64_t threads_ns;                                           /* of this, by threads that were traced */
	uint64_t windows;
	/* the consumer's */
	uint32_t enough;                /* 1: all figures are precise: windows become rare */
	uint32_t large_rings;           /* that it can read, and for which there is memory */
	uint32_t processors;            /* that it may use at a time */
	uint64_t read_ns, read_wall_ns; /* processor time that it has spent reading, and how long it took */
	uint64_t plain_ns;              /* processor time in plain code … */
	uint64_t plain_instructions;    /* … and how many it has executed, about … */
	uint64_t plain_unknown_ns;      /* … without those of this time */
	uint64_t beats;                 /* the consumer's: it is at work on something long */
	uint64_t episode_count;
	struct fm_trace_episode episodes[FM_TRACE_EPISODES];
	int32_t error;     /* errno why nothing is traced, 0: it is */
	uint32_t filtered; /* 1: the program limits its system calls; from then on nothing was traced */
	uint32_t limited;  /* 1: nothing more was traced, since its processor time is limited */
	char program[1024];
	char names[FM_TRACE_NAMES][FM_TRACE_NAME];
};

struct fm_trace_file {
	struct fm_trace_head head;
	_Alignas(4096) struct fm_trace_thread threads[FM_TRACE_THREADS];
	_Alignas(4096) struct fm_trace_site sites[FM_TRACE_SITES];
	_Alignas(4096) struct fm_trace_piece pieces[FM_TRACE_PIECES];
	_Alignas(4096) struct fm_trace_entry rings[FM_TRACE_THREADS][FM_TRACE_RING];
};

/* Behind it, in files that are long enough. Each is mapped only where it is used: programs may have little room for
   addresses. */
struct fm_trace_large {
	struct fm_trace_entry rings[FM_TRACE_LARGE_RINGS][FM_TRACE_LARGE];
};

#endif
