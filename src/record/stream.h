/* What the runtime leaves in files while a program is recorded, and the tool reads: the only thing both sides know.

   `fathom record -o run.fathom` makes a folder, run.fathom.parts, with one file `session` (struct fm_session) that both
   sides map. Each process that is recorded makes a file of its own there, PID-TICKS: a page with a
   struct fm_stream_process, then chunks of FM_STREAM_CHUNK bytes. A chunk is written by one thread at a time, entry
   after entry; an entry is complete when its `kind` is not 0, and it is the last thing that is written of it. So
   everything is in the page cache, and can be read, however the process ends.

   Entries of one chunk are in the order of time; those of different chunks are sorted by `time`. Nothing in a file can
   be trusted: readers check every length. */
#ifndef FATHOM_RECORD_STREAM_H
#define FATHOM_RECORD_STREAM_H

#include <stdint.h>

#include "base/foreign_kind.h"

enum {
	FM_STREAM_VERSION = 1,
	FM_STREAM_CHUNK = 16384,
	FM_STREAM_HEAD = 4096,     /* bytes before the first chunk */
	FM_STREAM_STACK_MAX = 32,  /* frames of a call stack; deeper ones lose their outermost frames */
	FM_STREAM_TEXT_MAX = 1024, /* bytes of a text, its 0 included */
	FM_STREAM_NO_NODE = -1,
};
#define FM_SESSION_MAGIC 0x7365737366746d31u
#define FM_STREAM_MAGIC 0x70617274664d0001u
#define FM_RECORD_VARIABLE "FATHOM_RECORD" /* of the environment: the folder, as an absolute path */

/* Wishes of the tool, and what all processes share. Written by the tool before the program begins; from `stop` on it
   changes while programs run, by atomic operations. Times are ticks of the time stamp counter. */
struct fm_session {
	uint64_t magic;
	uint32_t version;
	uint32_t children; /* follow processes that are executed, and forked ones */
	double overhead;   /* wanted, as a share of processor time: 0.03; 0: the rate is fixed */
	double rate;       /* samples per second of processor time: fixed, or 0 */
	double ticks_per_second;
	uint64_t begun;       /* ticks */
	uint64_t delay;       /* ticks after `begun` before sampling starts */
	uint64_t duration;    /* ticks of sampling; 0: to the end */
	uint64_t max_bytes;   /* of all files together */
	uint32_t track;       /* allocations are tracked */
	uint32_t arguments;   /* the command line is kept */
	uint32_t coarse_step; /* the time stamp moves in steps of so many ticks; up to 4: finely */
	uint32_t signal_cost; /* ticks that one sample costs beyond what the runtime can see itself */
	uint32_t nodes;       /* NUMA nodes of this machine */
	uint32_t sampling;    /* 0: allocations and markers only (the engine takes the samples) */
	uint32_t filtered;    /* the tool runs with a filter of system calls (seccomp), which programs share */
	uint32_t windows;     /* of references are logged now and then, for miss-ratio curves */
	uint32_t unused[3];
	/* shared */
	uint32_t foreign[FM_FOREIGN_KINDS]; /* processes that were left alone, by reason */
	uint32_t stop;                      /* 1: stop sampling; entries end */
	uint32_t processes;                 /* that have a file */
	uint64_t used_bytes;                /* of all files */
	uint64_t full;                      /* ticks when max_bytes was reached, or the disk was full; 0: not */
	int32_t full_error;                 /* errno then; 0: max_bytes */
	uint32_t lost_processes;            /* that could not make a file */
};

/* The first page of a process's file. */
struct fm_stream_process {
	uint64_t magic;
	uint32_t version;
	uint32_t process, parent;
	uint32_t forked;   /* 1: by fork from `parent` at `begun`: knows its parent's memory; 0: executed */
	uint64_t begun;    /* ticks */
	uint64_t began_ns; /* CLOCK_REALTIME then */
	/* Two moments for the conversion of ticks to nanoseconds of CLOCK_MONOTONIC. The second one moves on. */
	uint64_t first_ticks, first_ns, last_ticks, last_ns;
	uint64_t chunks;        /* how many follow, the last ones maybe unused */
	uint64_t ended;         /* ticks; 0: it did not end by itself */
	uint32_t own_allocator; /* 1: the program's own malloc comes before ours: the heap is not seen */
	uint32_t sampler;       /* enum fm_stream_sampler that was possible; 0: none */
	int32_t sampler_error;  /* errno why there is none */
	int32_t watch_error;    /* errno why lines cannot be watched */
	/* what there was no room for, and what it cost; updated as it goes, see fm_record_costs */
	uint64_t lost_entries, lost_stacks, lost_allocations, lost_threads;
	uint64_t cpu_ns;               /* processor time of the process, when last looked at */
	uint64_t sampling_ticks;       /* spent on sampling, signal_cost included */
	uint64_t allocation_ticks;     /* on tracking allocations */
	uint64_t allocations, tracked; /* calls, and those that were kept */
	uint64_t period_ns;            /* of the timer, now; of the engine: references per sample */
	char program[1024];            /* path */
	char arguments[2048];          /* separated by 0, an empty one ends them; nothing if they are not kept */
	/* ticks when the program limited its own system calls and recording stopped; 0: never */
	uint64_t filtered;
	uint64_t process_space; /* of process numbers (base/foreign.h); 0: not known */
	uint64_t threads_ns; /* of cpu_ns, by threads that could be sampled; known once `ended` is set, 0: it is not */
};

enum fm_stream_sampler {
	FM_SAMPLER_NONE,
	FM_SAMPLER_PERF,
	FM_SAMPLER_CPU_TIMER,
	FM_SAMPLER_ENGINE, /* the exact engine: see below */
};

/* The exact engine takes its samples outside of the program, and writes a file of its own for each process,
   PID-TICKS-engine, with `sampler` FM_SAMPLER_ENGINE. In the emulated program the runtime, with `sampling` 0, writes
   one as usual. Both have the same process number, and addresses and times that can be compared; a process that
   executed several programs has a pair of them for each, the engine's begun first. Numbers of threads, stacks and names
   are each file's own: threads of both are the same when the kernel's id is. The engine's file has THREAD, THREAD_END,
   MAPPING, STACK, SAMPLE, and, since markers of an emulated program go to the engine, NAME, REGION_BEGIN and
   REGION_END. A process without the runtime (a static program) has the engine's file only, which is not among
   `processes`. */

enum fm_stream_kind {
	FM_STREAM_EMPTY,
	FM_STREAM_THREAD,       /* fm_stream_thread: began, or has a new name */
	FM_STREAM_THREAD_END,   /* nothing follows */
	FM_STREAM_MAPPING,      /* fm_stream_mapping, then the path with its 0 */
	FM_STREAM_STACK,        /* fm_stream_stack, then the addresses, innermost first */
	FM_STREAM_SAMPLE,       /* fm_stream_sample */
	FM_STREAM_MISSED,       /* fm_stream_missed: the timer fired, and there is no sample */
	FM_STREAM_ALLOCATE,     /* fm_stream_allocation */
	FM_STREAM_RELEASE,      /* fm_stream_release */
	FM_STREAM_NAME,         /* fm_stream_name, then the text with its 0 */
	FM_STREAM_OBJECT,       /* fm_stream_object: the program named some memory */
	FM_STREAM_REGION_BEGIN, /* fm_stream_region */
	FM_STREAM_REGION_END,
	FM_STREAM_FORK,    /* fm_stream_child, in the parent */
	FM_STREAM_EXECUTE, /* fm_stream_child, then the path with its 0: this process is about to become that program */
	FM_STREAM_WINDOW,  /* fm_stream_window, then bytes of window_code.h */
	FM_STREAM_WATCHED, /* fm_stream_watched: the end of a watch */
	FM_STREAM_PACE,    /* fm_stream_pace */
	FM_STREAM_KINDS
};

struct fm_stream_entry {
	uint16_t kind;
	uint16_t words;  /* of 8 bytes, this header included */
	uint32_t thread; /* number in its process, from 1; 0: of nobody in particular */
	uint64_t time;   /* ticks */
};

struct fm_stream_thread {
	uint32_t id; /* the kernel's */
	uint32_t unused;
	uint64_t stack_begin, stack_end; /* 0: not known */
	uint64_t local_begin, local_end; /* its thread-local variables; 0: not known */
	char name[16];
};

/* What is mapped there from now on. Also what is not of a file: "[heap]", "[stack]", "" for anonymous memory. */
struct fm_stream_mapping {
	uint64_t begin, end, offset;
	uint32_t protection; /* PROT_... */
	uint32_t flags;      /* 1: this begins a new list of all mappings; those before are void */
};

struct fm_stream_stack {
	uint32_t number; /* from 1; in its process, or in the one that it was forked from */
	uint32_t count;
};

enum { FM_STREAM_LOAD = 1, FM_STREAM_STORE = 2, FM_STREAM_REPEATED = 4 };
enum {
	FM_STREAM_EDGE = 1,    /* timed from an edge of the time stamp */
	FM_STREAM_FAULTED = 2, /* the address could not be read: no cost */
	FM_STREAM_UNTIMED = 4, /* not probed: a device, or an access that may not happen at all */
	/* The second sample of a burst, which is timed. It comes late enough for the caches to have recovered from the
	   interrupt, and so is missing where system calls come soon: it tells of levels, but not of shares. The first
	   one, untimed, tells of shares. */
	FM_STREAM_LEVEL_ONLY = 16,
	FM_STREAM_SIMULATED =
	    8, /* by the engine: `level` is set (the one after the last cache is memory), cost is its latency in cycles
	          of the simulated machine, cpu a simulated one, and period_ns the number of references it stands for */
};
struct fm_stream_sample {
	uint64_t pc, address;
	uint32_t cost;            /* ticks of the timed load of the address */
	uint32_t baseline;        /* ticks of the same load when the line is in the first cache */
	uint32_t neighbour;       /* ticks of the first load of another line of the same page, before `cost` */
	uint32_t neighbour_again; /* ticks of the load of a third line of that page, with the translation known */
	uint16_t size;            /* bytes */
	uint8_t kind;             /* FM_STREAM_LOAD … */
	uint8_t flags;
	int16_t node; /* of the CPU; FM_STREAM_NO_NODE: not known */
	int16_t page_node;
	uint32_t cpu;
	uint32_t stack;      /* number; 0: not known. The first address is pc */
	uint32_t level;      /* 1: the first cache …; 0: not known */
	uint32_t references; /* that ran before it in the burst */
	uint64_t period_ns;  /* processor time this sample stands for; with FM_STREAM_SIMULATED: references */
};

struct fm_stream_missed {
	uint64_t pc;
	uint64_t period_ns;
	uint32_t reason; /* enum fm_stream_miss; those of the translator are added to FM_MISSED_TRANSLATOR */
	uint32_t unused;
};
enum fm_stream_miss {
	FM_MISSED_OWN,             /* in the runtime itself, or its own library */
	FM_MISSED_BUSY,            /* other threads had all translators */
	FM_MISSED_BURST,           /* the thread was still in a burst */
	FM_MISSED_FAULT,           /* the program itself faulted in the burst */
	FM_MISSED_SIGNAL_STACK,    /* no room for a burst where the signal arrived */
	FM_MISSED_MEMORY,          /* no memory for a translator */
	FM_MISSED_TRANSLATOR = 16, /* + enum fm_translate_reason */
};

enum fm_stream_allocator { FM_ALLOCATED_HEAP, FM_ALLOCATED_NEW, FM_ALLOCATED_MAPPED, FM_ALLOCATED_ARENA };
struct fm_stream_allocation {
	uint64_t address, size;
	uint32_t stack;     /* number; the first address is the return address into the caller of malloc */
	uint32_t allocator; /* enum fm_stream_allocator; ARENA: mapped by an allocator for its own use */
	double weight;      /* how many allocations it stands for: 1 where each is kept */
};

/* Whatever was allocated at this address ends; with a size (munmap): all mapped memory from there on. */
struct fm_stream_release {
	uint64_t address, size;
};

struct fm_stream_name {
	uint32_t number; /* from 1; in its process */
	uint32_t unused;
};

struct fm_stream_object {
	uint64_t address, size; /* 0: the name is void from now on */
	uint32_t name, group;   /* numbers of names; group 0: none */
};

struct fm_stream_region {
	uint32_t name;
	uint32_t unused;
};

struct fm_stream_child {
	uint32_t process;
	uint32_t error; /* errno of an exec that failed */
};

/* A window: references of a thread one after the other, all of them. Those of one that is too long for an entry go on
   in the next entries of the thread. */
struct fm_stream_window {
	uint32_t number; /* in its process, from 1 */
	uint32_t references;
	uint32_t all_bytes, first_byte; /* of all its entries, and where this one begins */
	uint32_t bytes;                 /* that follow here */
	uint32_t watched;               /* the position of the reference whose line is watched from its end on, + 1 */
	uint64_t ticks;                 /* that it took in the code cache, translation not included */
	uint64_t period_ns;             /* processor time that it stands for */
};

enum fm_stream_watch_end {
	FM_WATCH_REUSED,
	FM_WATCH_GIVEN_UP, /* after a time that was drawn in advance */
	FM_WATCH_ENDED,    /* with its thread */
	FM_WATCH_LOST,     /* nobody knows what happened since */
};
struct fm_stream_watched {
	uint32_t window, position;
	uint32_t end;   /* enum fm_stream_watch_end */
	float share;    /* how likely a visit begins with one of the words that were watched */
	uint64_t ns;    /* of the thread's processor time that the program itself had, from the window's end on */
	uint64_t burst; /* references that were made in bursts meanwhile */
};

/* How fast references follow each other. With intervals: a word that is touched regularly was watched for some touches,
   in native code; how many references lie between them was counted just before, in the code cache. Without: the time
   is that in the code cache, where references are logged. */
struct fm_stream_pace {
	double gap;       /* references between touches, on average */
	double variation; /* standard deviation of gaps, as a share of it */
	double ns;      /* of the thread's processor time between touches, on average, the runtime's own not included */
	double trap_ns; /* that each touch took beyond that */
	uint32_t gaps;  /* that were counted */
	uint32_t intervals; /* that were timed; 0: none */
};

#endif
