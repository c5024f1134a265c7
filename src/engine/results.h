/* What the engine's plugin and the command share: one file, mapped by both, so that everything counted so far is there
   however the program ends. The plugin writes, the command reads after the end and trusts nothing: every count of
   elements is checked against its array. */
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
	FM_RESULT_LATE_MAX = 1024, /* live at a time, of those that begin when the table is full */
	FM_RESULT_REGIONS_MAX = 512,
	FM_RESULT_MODULES_MAX = 128,
	FM_RESULT_EXECS_MAX = 16,
	FM_RESULT_SITES_MAX = 1 << 19,
	FM_RESULT_OBJECTS_MAX = 1 << 14,
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
};

/* Where results may lie, after the folder of the first process. */
#define FM_RESULT_FOLDERS FM_LEFTOVERS_FOLDERS

#define FM_RESULT_MAGIC 0x3974617865746146ull

/* What a thread did in loops that load from one line, to which others store, and do nothing else. */
struct fm_result_looking {
	uint64_t references, instructions;
	double ticks;
};

/* One thread of the program, in the order in which they began. */
struct fm_result_thread {
	uint32_t host_thread;
	uint32_t core;
	uint32_t shares_core; /* another live thread had it too */
	uint32_t ended;
	uint32_t away;  /* it does not have the turn: what its core counts is another's */
	uint64_t clock; /* with timing: the cycle of simulated time that it has reached */
	struct fm_work work;
	struct fm_core_counts at_begin; /* of its core; the difference is the thread's */
	struct fm_core_counts at_end;
	struct fm_timing_counts timing_at_begin;
	struct fm_timing_counts timing_at_end;
	/* what it did on cores it has left */
	uint32_t moves;
	struct fm_core_counts before_moves;
	struct fm_timing_counts timing_before_moves;
	/* by the native engine: entries of its trace, references and pieces of code, and how long they took it; with
	   windows, of those in windows, and of these those that count */
	uint64_t entries, counted_entries;
	double ticks;
	uint64_t waited_ticks; /* for whoever reads its trace, if it came to its end */
	struct fm_result_looking looking;
};

/* Threads that ended and had no record of their own: all of them together. */
struct fm_result_others {
	uint64_t threads;
	uint64_t clock; /* the latest of their ends */
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* A marked region as one thread ran it. */
struct fm_result_region {
	char name[FM_RESULT_NAME];
	uint32_t thread;
	uint32_t depth; /* open begins not yet ended */
	uint64_t instances;
	uint64_t counted; /* of these, those that were chosen */
	uint64_t elapsed; /* with timing: cycles of simulated time, waiting included */
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* All cores together, from the beginning until then. */
struct fm_result_moment {
	uint64_t cycle;   /* of the thread furthest behind */
	uint64_t running; /* threads that had something to do */
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

struct fm_references {
	uint64_t loads, stores, load_bytes, store_bytes;
};

/* What lines of one group did that were followed for the whole run: engine/native/followed.h. All cores together. */
struct fm_result_group {
	uint64_t accesses;
	uint64_t brought[FM_SIMULATED_CACHES_MAX]; /* lines into this cache */
	uint64_t owned[FM_SIMULATED_CACHES_MAX];   /* of these, because of stores */
	uint64_t written[FM_SIMULATED_CACHES_MAX]; /* dirty lines from this cache to the next */
	uint64_t memory_reads, memory_writes;
	uint64_t cold; /* lines that were touched for the first time */
};

/* Of the accesses of which nobody knows whether they hit a cache, those to lines that are followed: of these it is
   known; those that missed and were said to hit, and those that hit and were said to miss. */
struct fm_result_known {
	uint64_t accesses[FM_SIMULATED_CACHES_MAX], too_few[FM_SIMULATED_CACHES_MAX], too_many[FM_SIMULATED_CACHES_MAX];
};

/* What was counted in one window of all threads; everything else in the results is the sum of all windows then. */
struct fm_result_window {
	uint64_t begun, ended; /* ticks */
	uint64_t executed;     /* instructions and string lines of the whole process, all threads, up to its end */
	/* in the part that counts, of all cores; with only one region counted, inside it */
	struct fm_work work;
	struct fm_core_counts counts;
	uint64_t outside;      /* instructions of this part outside of that region */
	uint64_t string_lines; /* lines of string instructions */
	/* of stretches in the part that counts, scaled up to all its instructions; instructions 0: there are none */
	struct fm_timing_counts timing;
	uint64_t timed; /* instructions of these stretches */
	/* Accesses of the part that counts to lines of a cache of which nobody knows whether they were there: they were
	   not touched since the window began, nor is the set known to hold other lines. In `counts` they are what the
	   lines left from earlier windows say: hits if it is still there. */
	uint64_t unknown[FM_SIMULATED_CACHES_MAX];
	struct fm_result_known known;
	/* lines of each cache that were touched in the window, warming included, and lines that it has */
	uint64_t touched[FM_SIMULATED_CACHES_MAX];
	struct fm_result_group followed; /* what lines that are followed did, in the part that counts */
};

/* What all windows together had, each as often as what it stands for: to compare lines of code, variables and regions
   with, which are added up in the same way. */
struct fm_result_weighted {
	struct fm_work work;
	struct fm_core_counts counts;
};

/* Core timing of the whole run, from what each piece of code took in the stretches that were timed and how often all of
   them were executed. timing.instructions is 0 when that is not known. */
struct fm_result_pieces {
	struct fm_timing_counts timing;
	double timed; /* share of the instructions that are in pieces which were timed */
	double error; /* 95 %: of the cycles, as a part of them */
};

struct fm_result_followed {
	uint32_t group_count; /* 0: no lines were followed */
	uint32_t share;       /* one line of so many was */
	struct fm_result_group groups[FM_RESULT_GROUPS_MAX];
};

/* How many accesses came how far after the last touch of their line: reuse/stack.h. All cores together. */
struct fm_result_distances {
	double bins[FM_DISTANCE_BINS];
	double cold;       /* lines not touched before */
	double references; /* all loads and stores; 0: nothing was noted */
};

/* What a part of the distances of followed lines belongs to. Numbers are those of the regions, objects and sites of the
   results; an object's plus one, 0 being all memory that has no name. */
enum fm_reuse_kind { FM_REUSE_REGION = 1, FM_REUSE_OBJECT, FM_REUSE_SITE, FM_REUSE_KINDS };

struct fm_result_reuse_part {
	uint32_t kind, number;
	double bins[FM_RESULT_REUSE_GROUPS][FM_LINES_BINS(FM_RESULT_REUSE_PART_BITS)];
};

/* Touches of lines that were followed for the whole run, by how many other followed lines were touched since: for
   misses of caches of any size, without every access. Parts have only distances of FM_LINES_LEAST and more. */
struct fm_result_reuse {
	uint32_t group_count; /* 0: nothing was noted */
	uint32_t share;       /* one line of so many was followed */
	uint32_t part_count;
	uint64_t lost_parts; /* touches of instructions for which there was no room */
	double groups[FM_RESULT_GROUPS_MAX][FM_LINES_BINS(FM_RESULT_REUSE_BITS)];
	struct fm_result_reuse_part parts[FM_RESULT_REUSE_PARTS_MAX];
};

/* A program beside this one, which had the same caches: all its processes, until this one ended. */
struct fm_result_beside {
	uint32_t processes, threads;
	uint32_t first_core;
	uint64_t instructions;
	struct fm_core_counts counts;
};

/* A file that code came from. */
struct fm_result_module {
	uint64_t begin, end, offset;
	char path[256];
};

/* A variable with a place of its own in a file: what ELF calls an object. */
struct fm_result_object {
	uint64_t begin, size; /* 0 in a forked process: the parent's of the same number */
	char name[FM_RESULT_NAME];
	uint32_t module;
	uint32_t unnamed; /* data of the module without a symbol */
	uint64_t loads, stores;
	uint64_t misses[FM_SIMULATED_CACHES_MAX];
	uint64_t
	    moved[FM_SIMULATED_CACHES_MAX]; /* lines of it that came into this cache, for loads, stores, prefetchers */
};

/* An instruction that accesses memory. One line of the host's cache: it is written at every access. */
struct fm_result_site {
	/* The two objects, or spaces between objects, that it accessed last: many instructions go to and fro between
	   two. When another one comes, the counts of the one that has to go are settled. */
	struct fm_result_slot {
		uint64_t begin, size;
		uint64_t loads, stores;
	} slots[2];
};

/* The rest of what is known of it. */
struct fm_result_place {
	uint64_t address;                         /* 0 in a forked process: the parent's of the same number */
	uint32_t objects[2];                      /* of the slots, plus one; 0: none */
	uint64_t loads, stores;                   /* settled ones */
	uint64_t misses[FM_SIMULATED_CACHES_MAX]; /* accesses that missed this cache */
	/* lines that came into this cache because of it: for its loads, its stores, and by the prefetchers it set off
	 */
	uint64_t moved[FM_SIMULATED_CACHES_MAX];
	/* its misses of the first cache: as far from the one before as that one from its own predecessor, or not */
	uint64_t regular, irregular;
	uint64_t locked; /* 1: an atomic operation */
};

/* Accesses on their way to the simulator, by number. Equal but for a violent end. */
struct fm_result_queue {
	_Alignas(FM_APART) _Atomic uint64_t written;
	_Alignas(FM_APART) _Atomic uint64_t read;
};

/* How fast the program was in the code cache outside of windows, compared with code that counts nothing. */
struct fm_result_pace {
	double ratio, low, high; /* times slower; 0: not known */
	uint32_t episodes;
	uint64_t plain_ns;           /* processor time of code that counted nothing … */
	uint64_t plain_instructions; /* … and what it executed, about */
	uint64_t transfers;          /* branches to anywhere, of those that were counted: the cache makes them slower */
};

struct fm_results {
	uint64_t magic;
	uint32_t process;
	uint32_t parent; /* of a forked one */
	uint32_t thread_count;
	uint32_t region_count;
	uint32_t module_count;
	uint32_t exec_count;
	uint32_t site_count;
	uint32_t object_count;
	uint32_t executed; /* this process began with an exec that was followed */
	char program[256];
	uint32_t forks;
	uint32_t deterministic;
	uint32_t native;         /* by the native engine: enum fm_trace_mode + 1; 0: by QEMU */
	uint32_t window_count;   /* kept; with more of them every second is dropped and two neighbours become one */
	struct fm_work all_work; /* by windows: all that was executed, counted */
	struct fm_references all_references; /* and all that it referred to */
	uint64_t all_string_lines;   /* of these, lines of string instructions: in weights of windows each counts as an
	                                instruction, since one instruction may move hundreds of megabytes */
	uint64_t short_string_lines; /* … of those that are timed as parts of the code around them */
	double string_sizes_deviation; /* of these, of the logarithm of the lines of a string instruction, each line
	                                  counted */
	uint64_t signals_in_cache, signals_outside; /* where the timer found the threads: coverage */
	uint64_t native_threads, lost_accesses;
	uint64_t left[64]; /* by enum fm_translate_reason */
	uint64_t ticks_per_second;
	uint64_t unseen_instructions; /* by windows: executed in pieces of code that no window has seen */
	uint64_t window_ticks, waited_ticks, translator_ticks, cpu_ns; /* what tracing cost, and all of it */
	uint64_t threads_ns; /* of this, by threads that were traced; native engine only */
	struct fm_result_pace pace;
	uint32_t timing_sampled; /* only stretches had core timing, and stand for the rest … */
	double timing_variance;  /* … of all their cycles together */
	struct fm_result_pieces pieces;
	int32_t native_error;
	uint32_t timing;
	uint64_t turns;        /* from one thread to another */
	uint64_t forced_turns; /* turns that had to be given out of order */
	uint64_t lost_sites, lost_threads, lost_regions, lost_objects;
	uint64_t unlogged; /* operands for which the native engine had no number, each time they were translated */
	uint64_t
	    lost_processes;    /* in the first process's: forked or executed ones that found no room for their counts */
	uint64_t kernel_bytes; /* written by system calls into the program's buffers, as far as known */
	uint64_t simulator_bytes;
	/* with only one region counted: calls of the function of that name, and whether markers of it came, which end
	 * that */
	uint64_t region_calls;
	uint64_t region_marked;
	struct fm_result_queue queue;
	char execs[FM_RESULT_EXECS_MAX][256];
	struct fm_result_others others;
	struct fm_result_weighted weighted;
	uint32_t line_count;
	uint32_t beside_count; /* programs beside it; 0: none */
	uint32_t moment_count;
	uint32_t late_count; /* places of late threads ever used */
	uint32_t core_count;
	/* up to here every process has room, and for as many cores as there are; of the rest, what it uses */
	struct fm_simulated_core cores[FM_SIMULATED_CORES_MAX];
	struct fm_timing_counts timings[FM_SIMULATED_CORES_MAX];
	struct fm_result_thread threads[FM_RESULT_THREADS_MAX];
	/* live ones without a record of their own; at their end they are added to the others, and the place is used
	 * again */
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
	struct fm_result_object objects[FM_RESULT_OBJECTS_MAX];
	_Alignas(64) struct fm_result_site sites[FM_RESULT_SITES_MAX];
	struct fm_result_place places[FM_RESULT_SITES_MAX];
};

#endif
