/* Files of the runtime, which the tool reads: the only thing both sides share.

   `fathom record -o run.fathom` makes a folder, run.fathom.parts, with one file `session` (struct fm_session) that both
   sides map. Each recorded process makes a file PID-TICKS there: a page with a struct fm_stream_process, then chunks of
   FM_STREAM_CHUNK bytes. One thread at a time appends entries to a chunk; `kind` is written last, and an entry with a
   `kind` of 0 is incomplete. All data is in the page cache, and readable however the process ends.

   Entries of a chunk are in order of time; those of different chunks are sorted by `time`. Files are not trusted:
   readers check every length. */
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
#define FM_RECORD_VARIABLE "FATHOM_RECORD" /* environment variable: the folder, as an absolute path */

/* Options of the tool, and data shared by all processes. The tool writes them before the program begins; from `stop`
   on, members change at run time, by atomic operations. Times are ticks of the time stamp counter. */
struct fm_session {
	uint64_t magic;
	uint32_t version;
	uint32_t children; /* follow processes that are executed, and forked ones */
	double overhead;   /* target, as a share of processor time: 0.03; 0: fixed rate */
	double rate;       /* fixed samples per second of processor time, or 0 */
	double ticks_per_second;
	uint64_t begun;       /* ticks */
	uint64_t delay;       /* ticks after `begun` before sampling starts */
	uint64_t duration;    /* ticks of sampling; 0: to the end */
	uint64_t max_bytes;   /* of all files together */
	uint32_t track;       /* allocations are tracked */
	uint32_t arguments;   /* the command line is kept */
	uint32_t coarse_step; /* step of the time stamp counter in ticks; up to 4: fine */
	uint32_t signal_cost; /* ticks of one sample that the runtime cannot measure itself */
	uint32_t nodes;       /* NUMA nodes of this machine */
	uint32_t sampling;    /* 0: allocations and markers only (the engine takes the samples) */
	uint32_t filtered;    /* the tool runs under a system call filter (seccomp), which programs inherit */
	uint32_t windows;     /* windows of references are logged, for miss-ratio curves */
	uint32_t unused[3];
	/* shared */
	uint32_t foreign[FM_FOREIGN_KINDS]; /* processes not recorded, by reason */
	uint32_t stop;                      /* 1: stop sampling; entries end */
	uint32_t processes;                 /* processes with a file */
	uint64_t used_bytes;                /* of all files */
	uint64_t full;                      /* ticks when max_bytes or the disk's capacity was reached; 0: not */
	int32_t full_error;                 /* errno at that time; 0: max_bytes */
	uint32_t lost_processes;            /* processes that could not make a file */
};

/* The first page of a process's file. */
struct fm_stream_process {
	uint64_t magic;
	uint32_t version;
	uint32_t process, parent;
	uint32_t forked;   /* 1: by fork from `parent` at `begun`, with the parent's memory; 0: executed */
	uint64_t begun;    /* ticks */
	uint64_t began_ns; /* CLOCK_REALTIME then */
	/* Two moments for the conversion of ticks to nanoseconds of CLOCK_MONOTONIC. The second one is updated. */
	uint64_t first_ticks, first_ns, last_ticks, last_ns;
	uint64_t chunks;        /* number of chunks, the last ones possibly unused */
	uint64_t ended;         /* ticks; 0: still running, or killed */
	uint32_t own_allocator; /* 1: the program's own malloc precedes the interposed one: the heap is not seen */
	uint32_t sampler;       /* enum fm_stream_sampler in use; 0: none */
	int32_t sampler_error;  /* errno why there is none */
	int32_t watch_error;    /* errno why lines cannot be watched */
	/* losses for lack of room, and costs; updated at run time, see fm_record_costs */
	uint64_t lost_entries, lost_stacks, lost_allocations, lost_threads;
	uint64_t cpu_ns;               /* processor time of the process, at the last check */
	uint64_t sampling_ticks;       /* of sampling, signal_cost included */
	uint64_t allocation_ticks;     /* of tracking allocations */
	uint64_t allocations, tracked; /* calls, and kept ones */
	uint64_t period_ns;            /* current period of the timer; of the engine: references per sample */
	char program[1024];            /* path */
	char arguments[2048];          /* separated by 0, ended by an empty one; empty if not kept */
	/* ticks when the program filtered its own system calls and recording stopped; 0: never */
	uint64_t filtered;
	uint64_t process_space; /* of process numbers (base/foreign.h); 0: not known */
	uint64_t threads_ns;    /* part of cpu_ns in threads that could be sampled; set with `ended`, 0: not known */
};

enum fm_stream_sampler {
	FM_SAMPLER_NONE,
	FM_SAMPLER_PERF,
	FM_SAMPLER_CPU_TIMER,
	FM_SAMPLER_ENGINE, /* the emulator: see below */
};

/* The emulator samples outside of the program. It writes its own file for each process, PID-TICKS-engine, with
   `sampler` FM_SAMPLER_ENGINE. In the emulated program the runtime, with `sampling` 0, writes its usual file. Both
   share the process number, addresses and times. A process that executed several programs has a pair of files for each,
   the engine's begun first. Numbers of threads, stacks and names belong to one file: the kernel's id matches threads.
   The engine's file has THREAD, THREAD_END, MAPPING, STACK, SAMPLE and, since markers go to the engine, NAME,
   REGION_BEGIN and REGION_END. A process without the runtime (a static program) has the engine's file only, and is not
   counted in `processes`. */

enum fm_stream_kind {
	FM_STREAM_EMPTY,
	FM_STREAM_THREAD,       /* fm_stream_thread: a new thread, or a new name */
	FM_STREAM_THREAD_END,   /* no body */
	FM_STREAM_MAPPING,      /* fm_stream_mapping, then the path with its 0 */
	FM_STREAM_STACK,        /* fm_stream_stack, then the addresses, innermost first */
	FM_STREAM_SAMPLE,       /* fm_stream_sample */
	FM_STREAM_MISSED,       /* fm_stream_missed: the timer fired without a sample */
	FM_STREAM_ALLOCATE,     /* fm_stream_allocation */
	FM_STREAM_RELEASE,      /* fm_stream_release */
	FM_STREAM_NAME,         /* fm_stream_name, then the text with its 0 */
	FM_STREAM_OBJECT,       /* fm_stream_object: the program named a memory range */
	FM_STREAM_REGION_BEGIN, /* fm_stream_region */
	FM_STREAM_REGION_END,
	FM_STREAM_FORK,    /* fm_stream_child, in the parent */
	FM_STREAM_EXECUTE, /* fm_stream_child, then the path with its 0: this process is about to execute it */
	FM_STREAM_WINDOW,  /* fm_stream_window, then bytes of window_code.h */
	FM_STREAM_WATCHED, /* fm_stream_watched: the end of a watch */
	FM_STREAM_PACE,    /* fm_stream_pace */
	FM_STREAM_KINDS
};

struct fm_stream_entry {
	uint16_t kind;
	uint16_t words;  /* of 8 bytes, this header included */
	uint32_t thread; /* number in its process, from 1; 0: no thread */
	uint64_t time;   /* ticks */
};

struct fm_stream_thread {
	uint32_t id; /* of the kernel */
	uint32_t unused;
	uint64_t stack_begin, stack_end; /* 0: not known */
	uint64_t local_begin, local_end; /* thread-local variables; 0: not known */
	char name[16];
};

/* A new mapping. Without a file: "[heap]", "[stack]", "" for anonymous memory. */
struct fm_stream_mapping {
	uint64_t begin, end, offset;
	uint32_t protection; /* PROT_... */
	uint32_t flags;      /* 1: begins a new list of all mappings; earlier ones are void */
};

struct fm_stream_stack {
	uint32_t number; /* from 1; in its process, or in the parent of its fork */
	uint32_t count;
};

enum { FM_STREAM_LOAD = 1, FM_STREAM_STORE = 2, FM_STREAM_REPEATED = 4 };
enum {
	FM_STREAM_EDGE = 1,    /* timed from an edge of the time stamp counter */
	FM_STREAM_FAULTED = 2, /* the address was not readable: no cost */
	FM_STREAM_UNTIMED = 4, /* not probed: a device, or a conditional access */
	/* The second, timed sample of a burst. It follows after the caches have recovered from the interrupt, and is
	   missing where system calls come soon: it serves levels, not shares. The first, untimed sample serves
	   shares. */
	FM_STREAM_LEVEL_ONLY = 16,
	FM_STREAM_SIMULATED = 8, /* by the engine: `level` is set (memory: one after the last cache). `cost`: latency in
	                            simulated cycles; `cpu`: a simulated one; `period_ns`: number of references */
};
struct fm_stream_sample {
	uint64_t pc, address;
	uint32_t cost;            /* ticks of the timed load of the address */
	uint32_t baseline;        /* ticks of the same load when the line is in the first cache */
	uint32_t neighbour;       /* ticks of the first load, before `cost`, of another line of the same page */
	uint32_t neighbour_again; /* ticks of the load of a third line of that page, its translation loaded */
	uint16_t size;            /* bytes */
	uint8_t kind;             /* FM_STREAM_LOAD … */
	uint8_t flags;
	int16_t node; /* of the CPU; FM_STREAM_NO_NODE: not known */
	int16_t page_node;
	uint32_t cpu;
	uint32_t stack;      /* number; 0: not known. Its first address is pc */
	uint32_t level;      /* 1: the first cache …; 0: not known */
	uint32_t references; /* references before the sample in the burst */
	uint64_t period_ns;  /* processor time that the sample represents; with FM_STREAM_SIMULATED: references */
};

struct fm_stream_missed {
	uint64_t pc;
	uint64_t period_ns;
	uint32_t reason; /* enum fm_stream_miss; reasons of the translator are added to FM_MISSED_TRANSLATOR */
	uint32_t unused;
};
enum fm_stream_miss {
	FM_MISSED_OWN,             /* in the runtime or its own library */
	FM_MISSED_BUSY,            /* other threads used all translators */
	FM_MISSED_BURST,           /* the thread was still in a burst */
	FM_MISSED_FAULT,           /* the program faulted in the burst */
	FM_MISSED_SIGNAL_STACK,    /* no room for a burst where the signal arrived */
	FM_MISSED_MEMORY,          /* no memory for a translator */
	FM_MISSED_TRANSLATOR = 16, /* + enum fm_translate_reason */
};

enum fm_stream_allocator { FM_ALLOCATED_HEAP, FM_ALLOCATED_NEW, FM_ALLOCATED_MAPPED, FM_ALLOCATED_ARENA };
struct fm_stream_allocation {
	uint64_t address, size;
	uint32_t stack;     /* number; its first address is the return address into the caller of malloc */
	uint32_t allocator; /* enum fm_stream_allocator; ARENA: mapped by an allocator for its own use */
	double weight;      /* number of allocations that this one represents: 1 if all are kept */
};

/* Ends the allocation at this address; with a size (munmap): all mapped memory from there on. */
struct fm_stream_release {
	uint64_t address, size;
};

struct fm_stream_name {
	uint32_t number; /* from 1; in its process */
	uint32_t unused;
};

struct fm_stream_object {
	uint64_t address, size; /* 0: the name is void */
	uint32_t name, group;   /* numbers of names; group 0: none */
};

struct fm_stream_region {
	uint32_t name;
	uint32_t unused;
};

struct fm_stream_child {
	uint32_t process;
	uint32_t error; /* errno of a failed exec */
};

/* A window: all consecutive references of a thread. A window too long for one entry continues in the next entries of
   the thread. */
struct fm_stream_window {
	uint32_t number; /* in its process, from 1 */
	uint32_t references;
	uint32_t all_bytes, first_byte; /* bytes of all its entries, and offset of this entry */
	uint32_t bytes;                 /* bytes that follow in this entry */
	uint32_t watched;   /* position + 1 of the reference whose line is watched from the window's end on */
	uint64_t ticks;     /* in the code cache, without translation */
	uint64_t period_ns; /* processor time that the window represents */
};

enum fm_stream_watch_end {
	FM_WATCH_REUSED,
	FM_WATCH_GIVEN_UP, /* after a duration drawn in advance */
	FM_WATCH_ENDED,    /* the thread ended */
	FM_WATCH_LOST,     /* later events are unknown */
};
struct fm_stream_watched {
	uint32_t window, position;
	uint32_t end;   /* enum fm_stream_watch_end */
	float share;    /* probability that a visit begins with one of the watched words */
	uint64_t ns;    /* the program's share of the thread's processor time since the window's end */
	uint64_t burst; /* references in bursts meanwhile */
};

/* Pace: the time between references. With `intervals`: a regularly touched word was watched in native code; its
   references per touch were counted just before, in the code cache. Without: the time is of the code cache, where
   references are logged. */
struct fm_stream_pace {
	double gap;         /* references between touches, average */
	double variation;   /* standard deviation of the gaps, relative to the average */
	double ns;          /* average processor time of the thread between touches, without the runtime's */
	double trap_ns;     /* additional time of each touch */
	uint32_t gaps;      /* number of gaps counted */
	uint32_t intervals; /* number of gaps timed; 0: none */
};

#endif
