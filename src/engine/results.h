/* Data shared by the engine and the command: one mapped file, so that counts survive a crash of the program. The engine
   writes, the command reads afterwards and trusts nothing: all element counts are checked against the arrays. */
#ifndef FATHOM_ENGINE_RESULTS_H
#define FATHOM_ENGINE_RESULTS_H

#include <stdint.h>

#include "base/leftovers.h"
#include "base/memory.h"
#include "reuse/bins.h"
#include "simulator/core.h"
#include "simulator/hierarchy.h"
#include "simulator/work.h"

enum {
	FM_RESULT_THREADS_MAX = 1024,
	FM_RESULT_LATE_MAX = 1024, /* simultaneous threads beyond a full table */
	FM_RESULT_REGIONS_MAX = 512,
	FM_RESULT_MODULES_MAX = 128,
	FM_RESULT_EXECS_MAX = 16,
	FM_RESULT_SITES_MAX = 1 << 19,
	FM_RESULT_OBJECTS_MAX = 1 << 14,
	FM_RESULT_ALLOCATION_FRAMES = 12,
	FM_RESULT_LINES_MAX = 256,
	FM_RESULT_MOMENTS_MAX = 1024,
	FM_RESULT_WINDOWS_MAX = 4096,
	FM_RESULT_GROUPS_MAX = 64,
	FM_RESULT_REUSE_PARTS_MAX = 2048,
	FM_RESULT_REUSE_GROUPS = 8, /* of a part */
	FM_RESULT_REUSE_BITS = 4,   /* bins per octave: reuse/lines.h */
	FM_RESULT_REUSE_PART_BITS = 2,
	FM_RESULT_NAME = 96,
	FM_RESULT_BESIDE_MAX = 16,
	FM_RESULT_POSITIONS_MAX = 1 << 17,
	FM_RESULT_CALLERS = 10, /* of a position */
	FM_RESULT_TIMINGS_MAX = 1 << 13,
};

/* Alternative folders for results, after that of the first process. */
#define FM_RESULT_FOLDERS FM_LEFTOVERS_FOLDERS

#define FM_RESULT_MAGIC 0x4174617865746146ull

/* Spin loops of a thread: they only load from one line, to which others store. */
struct fm_result_looking {
	uint64_t references, instructions;
	double ticks;
};

/* A thread of the program; threads are in order of their begin. */
struct fm_result_thread {
	uint32_t host_thread;
	uint32_t core;
	uint32_t shares_core; /* another live thread had this core, too */
	uint32_t ended;
	uint32_t away;  /* without the turn: its core counts for another thread */
	uint64_t clock; /* with timing: its simulated time in cycles */
	struct fm_work work;
	struct fm_core_counts at_begin; /* of its core; the difference to at_end is the thread's */
	struct fm_core_counts at_end;
	struct fm_timing_counts timing_at_begin;
	struct fm_timing_counts timing_at_end;
	/* counts on the cores that it has left */
	uint32_t moves;
	struct fm_core_counts before_moves;
	struct fm_timing_counts timing_before_moves;
	/* native engine: entries of its trace (references and basic blocks) and their duration in ticks; with windows
	   only entries in windows, and of these those after warm-up */
	uint64_t entries, counted_entries;
	uint64_t executed;  /* counted instructions, inside and outside of windows; 0: unknown … */
	uint64_t rested_ns; /* … with those of its native rests, of this processor time */
	double ticks;
	uint64_t waited_ticks; /* waiting for the reader of its trace; known if the thread has ended */
	struct fm_result_looking looking;
};

/* Sum of the ended threads without their own record. */
struct fm_result_others {
	uint64_t threads;
	uint64_t clock; /* time of the last end */
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* A marked region in one thread. */
struct fm_result_region {
	char name[FM_RESULT_NAME];
	uint32_t thread;
	uint32_t depth; /* open begins */
	uint64_t instances;
	uint64_t counted; /* selected instances */
	uint64_t elapsed; /* with timing: cycles of simulated time, waiting included */
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* Sums of all cores from the start to this moment. */
struct fm_result_moment {
	uint64_t cycle;   /* of the thread furthest behind */
	uint64_t running; /* threads that did not wait */
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

struct fm_references {
	uint64_t loads, stores, load_bytes, store_bytes;
};

/* Events of one group of followed lines in the whole run, all cores: engine/trace/followed.h. */
struct fm_result_group {
	uint64_t accesses;
	uint64_t brought[FM_SIMULATED_CACHES_MAX]; /* lines filled into this cache */
	uint64_t owned[FM_SIMULATED_CACHES_MAX];   /* of these, for stores */
	uint64_t written[FM_SIMULATED_CACHES_MAX]; /* dirty lines written back to the next level */
	uint64_t memory_reads, memory_writes;
	uint64_t cold; /* first touches of lines */
	/* requests of the last cache with unknown outcome, since the program ran natively before: reported as hits, as
	   misses */
	uint64_t unknown_hits, unknown_misses;
};

/* Accesses with unknown outcome in a window, but to followed lines, which give the true outcome: all; misses counted as
   hits; hits counted as misses. */
struct fm_result_known {
	uint64_t accesses[FM_SIMULATED_CACHES_MAX], too_few[FM_SIMULATED_CACHES_MAX], too_many[FM_SIMULATED_CACHES_MAX];
};

/* Counts of one window, all threads. With windows, all other counts in the results are sums over windows. */
struct fm_result_window {
	uint64_t begun, ended; /* ticks */
	uint64_t executed;     /* instructions and string lines of all threads of the process, up to the end of the
	                          window */
	/* counts after warm-up, of all cores; with a single counted region, inside that region */
	struct fm_work work;
	struct fm_core_counts counts;
	uint64_t outside;      /* instructions after warm-up outside of that region */
	uint64_t string_lines; /* lines of string instructions */
	/* core timing of stretches after warm-up, scaled to all instructions after warm-up; instructions 0: no
	   stretch */
	struct fm_timing_counts timing;
	uint64_t timed; /* instructions in these stretches */
	/* Accesses after warm-up with unknown outcome in a cache: the line was not touched before in this window, and
	   its set may still hold older lines. `counts` has their outcome with the lines of earlier windows. */
	uint64_t unknown[FM_SIMULATED_CACHES_MAX];
	struct fm_result_known known;
	/* lines of each cache touched in the window, including warm-up */
	uint64_t touched[FM_SIMULATED_CACHES_MAX];
	struct fm_result_group followed; /* events of followed lines after warm-up */
};

/* Weighted sum of all windows, comparable with source lines, variables and regions, which have the same weights. */
struct fm_result_weighted {
	struct fm_work work;
	struct fm_core_counts counts;
};

/* Core timing of the whole run: the time of each basic block in timed stretches, times its executions.
   timing.instructions 0: unknown. */
struct fm_result_pieces {
	struct fm_timing_counts timing;
	double timed; /* share of the instructions in timed basic blocks */
	double error; /* relative half-width of the 95 % interval of the cycles */
};

struct fm_result_followed {
	uint32_t group_count; /* 0: no followed lines */
	uint32_t share;       /* one line in `share` was followed */
	struct fm_result_group groups[FM_RESULT_GROUPS_MAX];
};

/* Histogram of stack distances of all cores: reuse/stack.h. */
struct fm_result_distances {
	double bins[FM_DISTANCE_BINS];
	double cold;       /* first touches of lines */
	double references; /* all loads and stores; 0: no histogram */
};

/* Owner of a part of the distances of followed lines. Numbers are indexes of regions, objects or sites of the results;
   of objects the index + 1, 0 for memory without a name. */
enum fm_reuse_kind { FM_REUSE_REGION = 1, FM_REUSE_OBJECT, FM_REUSE_SITE, FM_REUSE_KINDS };

struct fm_result_reuse_part {
	uint32_t kind, number;
	double bins[FM_RESULT_REUSE_GROUPS][FM_LINES_BINS(FM_RESULT_REUSE_PART_BITS)];
};

/* Histogram of the stack distances of followed lines in the whole run: misses of caches of any size without logging
   every access. Parts contain only distances from FM_LINES_LEAST on. */
struct fm_result_reuse {
	uint32_t group_count; /* 0: no histogram */
	uint32_t share;       /* one line in `share` was followed */
	uint32_t part_count;
	uint64_t lost_parts; /* touches of instructions without room for a part */
	double groups[FM_RESULT_GROUPS_MAX][FM_LINES_BINS(FM_RESULT_REUSE_BITS)];
	struct fm_result_reuse_part parts[FM_RESULT_REUSE_PARTS_MAX];
};

/* A program beside this one, sharing its caches: all its processes, until this program ended. */
struct fm_result_beside {
	uint32_t processes, threads;
	uint32_t first_core;
	uint64_t instructions;
	struct fm_core_counts counts;
};

/* A mapped file with code. */
struct fm_result_module {
	uint64_t begin, end, offset;
	char path[256];
};

/* A variable with a symbol in a file: an ELF object. */
struct fm_result_object {
	uint64_t begin, size; /* 0 in a forked process: see the parent's entry of this index */
	char name[FM_RESULT_NAME];
	uint32_t module;
	uint32_t unnamed; /* data of the module without a symbol */
	/* heap memory of this call stack: return addresses, the innermost first; 0: none. `size`: its largest block */
	uint64_t allocated[FM_RESULT_ALLOCATION_FRAMES];
	uint64_t loads, stores;
	uint64_t misses[FM_SIMULATED_CACHES_MAX];
	uint64_t moved[FM_SIMULATED_CACHES_MAX]; /* its lines filled into this cache, by loads, stores, prefetchers */
};

/* An instruction that accesses memory; written at every access, so one cache line of the host. */
struct fm_result_site {
	/* The two last accessed objects, or spaces between objects: many instructions alternate between two. Before a
	   slot is replaced, its counts are settled. */
	struct fm_result_slot {
		uint64_t begin, size;
		uint64_t loads, stores;
	} slots[2];
};

/* The other figures of a site. */
struct fm_result_place {
	uint64_t address;                         /* 0 in a forked process: see the parent's entry of this index */
	uint32_t objects[2];                      /* index + 1, of the slots; 0: none */
	uint64_t loads, stores;                   /* settled counts */
	uint64_t misses[FM_SIMULATED_CACHES_MAX]; /* accesses that missed this cache */
	/* lines filled into this cache for its loads, its stores, and by prefetchers that it triggered */
	uint64_t moved[FM_SIMULATED_CACHES_MAX];
	/* its first-cache misses: at a distance that recent misses had, or at another */
	uint64_t regular, irregular;
	uint64_t locked; /* 1: an atomic operation */
};

/* Sequence numbers of accesses queued for the simulator; they differ only after a crash. */
struct fm_result_queue {
	_Alignas(FM_APART) _Atomic uint64_t written;
	_Alignas(FM_APART) _Atomic uint64_t read;
};

/* Slowdown of the program in the code cache outside of windows, relative to code without counting. */
struct fm_result_pace {
	double ratio, low, high; /* slowdown factor; 0: unknown */
	uint32_t episodes;
	uint64_t plain_ns;                   /* processor time of code without counting … */
	uint64_t plain_instructions;         /* … and its instructions, estimated */
	uint64_t rest_ns, rest_instructions; /* the same of native rests (trace/rest.h), at the pace of plain code */
	uint64_t pieces;                     /* counted executions of basic blocks */
	uint64_t transfers;                  /* counted indirect branches, which the code cache makes slower */
};

/* Where a thread was at a tick while it ran natively: trace/positions.h. */
struct fm_result_position {
	uint64_t pc;
	uint32_t at;        /* units of 65,536 ns since the process began */
	uint32_t thread;    /* index of its record; FM_RESULT_THREADS_MAX: it has none */
	uint32_t ns;        /* processor time that it represents */
	uint8_t plain : 1;  /* in plain code */
	uint8_t kernel : 1; /* in a system call … */
	uint8_t locks : 1;  /* … in which threads wait for each other: futex, sched_yield */
	uint8_t waits : 1;  /* in a loop that only waits for a change of memory */
	uint8_t shares;     /* percent: it accesses a line that other threads use, too, and may wait for its transfer */
	uint64_t callers[FM_RESULT_CALLERS]; /* return addresses, the innermost first; 0: none */
};

/* A round of the laboratory: trace/shared.h, struct fm_trace_timing. */
struct fm_result_timing {
	uint64_t mark;
	uint64_t ns;
	uint32_t visits, instructions;
	uint8_t kind, problem;
	uint16_t lines, pages;
};

struct fm_results {
	uint64_t magic;
	uint32_t process;
	uint32_t parent; /* of a forked process */
	uint32_t thread_count;
	uint32_t region_count;
	uint32_t module_count;
	uint32_t exec_count;
	uint32_t site_count;
	uint32_t object_count;
	uint32_t executed; /* this process began with a followed exec */
	char program[256];
	uint32_t forks;
	uint32_t deterministic;
	uint32_t native;         /* native engine: enum fm_trace_mode + 1; 0: QEMU */
	uint32_t window_count;   /* number of kept windows; if the table is full, neighbouring windows are merged in
	                            pairs */
	struct fm_work all_work; /* with windows: counts of all executed code */
	struct fm_references all_references; /* and all its references */
	uint64_t all_string_lines;     /* of these, lines of string instructions; in weights of windows each line counts
	                                  as an instruction, since one instruction may move hundreds of megabytes */
	uint64_t short_string_lines;   /* … of short string instructions, timed as part of the surrounding code */
	double string_sizes_deviation; /* of these: standard deviation of the logarithm of lines per string instruction,
	                                  weighted by lines */
	uint64_t signals_in_cache, signals_outside; /* places of threads at timer signals: coverage */
	uint64_t native_threads, lost_accesses;
	uint64_t left[64]; /* by enum fm_translate_reason */
	uint64_t ticks_per_second;
	uint64_t unseen_instructions; /* with windows: executed in basic blocks that no window contains */
	uint64_t window_ticks, waited_ticks, translator_ticks, cpu_ns; /* cost of tracing, and the whole processor
	                                                                  time */
	uint64_t threads_ns; /* of this, by traced threads; native engine only */
	struct fm_result_pace pace;
	uint32_t timing_sampled; /* core timing of stretches that represent the rest … */
	double timing_variance;  /* … variance of the sum of cycles */
	struct fm_result_pieces pieces;
	int32_t native_error;
	uint32_t timing;
	uint64_t turns;        /* changes of the running thread */
	uint64_t forced_turns; /* turns out of order */
	uint64_t lost_sites, lost_threads, lost_regions, lost_objects;
	uint64_t unlogged;       /* translated operands for which the native engine had no site number left */
	uint64_t lost_processes; /* in the first process's results: forked or executed processes without room for their
	                            counts */
	uint64_t kernel_bytes;   /* written by system calls into the program's buffers, if known */
	uint64_t simulator_bytes;
	/* with a single counted region: calls of the function of that name; 1 if markers of that name replaced them */
	uint64_t region_calls;
	uint64_t region_marked;
	struct fm_result_queue queue;
	char execs[FM_RESULT_EXECS_MAX][256];
	struct fm_result_others others;
	struct fm_result_weighted weighted;
	uint32_t line_count;
	uint32_t beside_count; /* programs beside this one; 0: none */
	uint32_t moment_count;
	uint32_t late_count; /* used entries of `late` */
	uint32_t position_count;
	uint32_t timing_count, timings_lost;
	uint32_t core_count;
	/* reserved for every process: the members above, and the entries of existing cores below; the rest on first
	   use */
	struct fm_simulated_core cores[FM_SIMULATED_CORES_MAX];
	struct fm_timing_counts timings[FM_SIMULATED_CORES_MAX];
	struct fm_result_thread threads[FM_RESULT_THREADS_MAX];
	/* live threads without their own record; at their end they are added to `others`, and the entry is reused */
	struct fm_result_thread late[FM_RESULT_LATE_MAX];
	struct fm_result_region regions[FM_RESULT_REGIONS_MAX];
	struct fm_result_module modules[FM_RESULT_MODULES_MAX];
	struct fm_shared_line lines[FM_RESULT_LINES_MAX];
	struct fm_line_users line_users[FM_RESULT_LINES_MAX];
	struct fm_result_moment moments[FM_RESULT_MOMENTS_MAX];
	struct fm_result_window windows[FM_RESULT_WINDOWS_MAX];
	struct fm_result_followed followed;
	struct fm_result_beside beside[FM_RESULT_BESIDE_MAX];
	struct fm_result_distances distances;
	struct fm_result_reuse reuse;
	struct fm_result_position positions[FM_RESULT_POSITIONS_MAX];
	struct fm_result_timing timed[FM_RESULT_TIMINGS_MAX];
	struct fm_result_object objects[FM_RESULT_OBJECTS_MAX];
	_Alignas(64) struct fm_result_site sites[FM_RESULT_SITES_MAX];
	struct fm_result_place places[FM_RESULT_SITES_MAX];
};

#endif
