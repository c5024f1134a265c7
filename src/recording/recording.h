/* The observations: runs, processes, threads, regions, source lines, objects, shared lines, moments, counts, native
   times, each with its origin. Observers fill the recording, the analysis reads it; neither depends on the other. In
   memory it is a set of flat tables (tables.def). recording/store.h keeps these tables as an SQLite file, complete for
   use on another machine. */
#ifndef FATHOM_RECORDING_RECORDING_H
#define FATHOM_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/figure.h"
#include "simulator/core.h"
#include "simulator/description.h"
#include "simulator/work.h"

enum { FM_NAME = 96, FM_FUNCTION = 200, FM_RECORDED_USERS = FM_LINE_USERS };

/* The request, as far as the report depends on it. */
enum fm_question {
	FM_QUESTION_EXACT,            /* the engine on a simulated machine */
	FM_QUESTION_COMBINED,         /* the engine for counts, native runs for time */
	FM_QUESTION_COUNTED_EVENTS,   /* events by name, of this machine */
	FM_QUESTION_COUNTED_LEVELS,   /* levels and cycles by this machine's counters */
	FM_QUESTION_SIMULATED_EVENTS, /* events by name, of the simulated machine */
	FM_QUESTION_SIMULATED_LEVELS, /* levels and cycles by the simulated machine's counters */
	FM_QUESTION_COUNT
};

struct fm_recorded_asked {
	uint32_t question; /* enum fm_question */
	char machine[256]; /* the simulated machine, by name or path */
	bool timing, free_running, system_wide, per_thread;
	char region[FM_NAME]; /* the only region counted; "": everything */
	uint64_t first_instance, last_instance;
	uint64_t window_begin, window_end;
	uint64_t interval_ms, repeats;
	char events[4096];   /* -e */
	char processes[256]; /* -p */
};

struct fm_recorded_run {
	char verb[16];
	char program[512]; /* "" if running processes were observed */
	char host[72];
	char started[32];    /* UTC */
	int64_t exit_status; /* of the program: 0 … 255, or 128 + the signal */
	int64_t signal;
	char engine[24]; /* engine of the run; "": none */
	double engine_seconds;
	int64_t engine_exit_status;
	int64_t engine_output_bytes; /* -1: not known */
	struct fm_figure elapsed;    /* of the program by counters; of several runs the median */
	uint64_t regions_lost;       /* instances without room, by counters */
	double seen_share;           /* relative to the processor time accounted by the kernel; 0: not known */
	char unseen_why[320];        /* where the rest was spent; "": nowhere relevant */
};

/* Native runs of the program. */
struct fm_recorded_native {
	uint32_t runs;
	struct fm_figure seconds; /* of the wall clock: median and range */
	double cpu_seconds;       /* of all threads, in the median run */
	double kernel_seconds;    /* kernel part of cpu_seconds */
	double kernel_share;      /* kernel time over processor time, all runs; in units of ticks, so … */
	double share_seconds;     /* … precise only with much processor time */
	double busiest;           /* average of processors in use, highest of all runs: other load lowers it */
	uint64_t switches;        /* voluntary context switches of the threads in that run */
	uint64_t preemptions;     /* preemptions of its threads */
	uint32_t cpus;            /* CPUs available to the program */
	int64_t exit_status;
	int64_t output_bytes; /* of a run with measured output; -1: none */
	bool signalled;
	bool same_run; /* run only in the engine: time of this run, without the cost of counting */
	bool differs;  /* the runs did different work */
	char difference[200];
	uint64_t regions_lost; /* instances without room; if any, regions have no time */
	/* page faults of the run of kernel_seconds: minor and major ones. At most `huge_faults` of the minor ones made
	   a huge page: the number of all processes together. 0 faults: not counted */
	uint64_t faults, major_faults, huge_faults;
	bool huge_always; /* huge pages for all memory, not only on request */
};

/* A marked region as one thread ran it in native runs. */
struct fm_recorded_native_region {
	char name[FM_NAME];
	uint32_t ordinal; /* among the threads that ran the region, by creation */
	uint64_t instances;
	struct fm_figure seconds; /* all instances: median and range over the runs */
};

/* A thread of the native run with the median time, up to its last observation; in seconds. */
struct fm_recorded_native_thread {
	uint32_t ordinal;
	double ran;     /* on a processor */
	double delayed; /* ready, waiting for a processor */
	double lived;   /* lifetime; blocked for the rest of it */
};

struct fm_recorded_process {
	uint32_t process, parent;
	bool executed; /* began with a followed exec */
	bool timing;
	char program[256];
	uint64_t turns, forced_turns;
	uint64_t unlogged; /* operands whose accesses are missing */
	uint64_t lost_sites, lost_threads, lost_regions, lost_objects, lost_processes;
	uint64_t kernel_bytes; /* written by system calls into its buffers, unseen by the engine */
	uint64_t simulator_bytes;
	uint64_t accesses_lost; /* not yet simulated when the process was ended */
	/* with only one region counted: calls of the function of that name, up to the first marker of that name */
	uint64_t region_calls;
	bool region_marked;
	/* engine: 0 QEMU, 1 native with every reference, 2 native with windows */
	uint32_t native;
	/* of the native engine: */
	uint64_t instructions;                           /* all executed instructions */
	uint64_t found_inside, found_outside;            /* threads found by a timer in the code cache, or outside */
	uint64_t native_threads;                         /* threads not followed */
	char left[200];                                  /* most frequent reasons to leave the code cache */
	uint64_t loads, stores, load_bytes, store_bytes; /* with windows: counted, all; 0: not known */
	uint64_t string_lines; /* of these, lines of string instructions: instructions in weights of windows */
	uint64_t unseen;       /* of the instructions, those in code without windows */
	double pieces_timed, /* with windows: share of the instructions in timed pieces; 0: cycles are not by pieces */
	    pieces_error,    /* … 95 % of errors are within this share of the cycles */
	    timing_error;    /* if only stretches were timed: 95 % of errors are within this share of the cycles */
	double uncounted;    /* uncounted instructions over counted ones: added, with an uncertainty */
	double rested;       /* of these, instructions of native rests */
	uint64_t resident;   /* most memory of any process of the program, bytes; 0: unknown */
	double window_share; /* share of the processor time spent in windows */
};

/* The counts of one window of all threads of a process. All other counts of such a process derive from these: see
   windows/totals.h. */
struct fm_recorded_window {
	uint32_t process;
	double began, ended; /* seconds since the start of the process */
	uint64_t executed;   /* instructions and string lines of the process, up to the window's end */
	struct fm_work work; /* with only one region counted: inside the region */
	uint64_t outside;    /* instructions outside of the region */
	uint64_t string_lines;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	uint64_t unknown[FM_SIMULATED_CACHES_MAX]; /* accesses with unknown result in this cache */
	/* of these, accesses to followed lines, with a known result; misses counted as hits, and hits counted as
	   misses */
	uint64_t known[FM_SIMULATED_CACHES_MAX], too_few[FM_SIMULATED_CACHES_MAX], too_many[FM_SIMULATED_CACHES_MAX];
	uint64_t touched[FM_SIMULATED_CACHES_MAX]; /* lines of this cache touched in the window */
	/* accesses to followed lines: a sample, see windows/estimate.h */
	uint64_t brought[FM_SIMULATED_CACHES_MAX], owned[FM_SIMULATED_CACHES_MAX], written[FM_SIMULATED_CACHES_MAX];
};

/* A group of lines followed for the whole run. All groups together are one in `share` lines. */
struct fm_recorded_group {
	uint32_t process, share;
	uint64_t accesses;
	uint64_t brought[FM_SIMULATED_CACHES_MAX]; /* lines brought into this cache */
	uint64_t owned[FM_SIMULATED_CACHES_MAX];   /* of these, lines for stores */
	uint64_t written[FM_SIMULATED_CACHES_MAX]; /* lines written from this cache to the next */
	uint64_t memory_reads, memory_writes;
	uint64_t cold; /* touched for the first time */
	/* requests of the last cache after a native rest, outcome unknown: simulated as hits, as misses */
	uint64_t unknown_hits, unknown_misses;
};

/* A program that a process executed, not followed. */
struct fm_recorded_execution {
	uint32_t process; /* index */
	char program[256];
};

/* A program beside the first process, on the same simulated machine, until the end of the first. */
struct fm_recorded_beside {
	char command[512];
	uint32_t core; /* core of its first thread */
	uint32_t runs; /* number of its starts */
	uint32_t processes, threads;
	bool ended; /* before the program, without another start */
	int64_t exit_status;
	uint64_t instructions;
	struct fm_core_counts counts;
};

struct fm_recorded_thread {
	uint32_t process; /* index of its process; the first is 0 */
	uint32_t thread;  /* number in its process */
	uint32_t core;
	bool shares_core;
	uint64_t others; /* > 0: represents this number of threads without a record of their own */
	uint64_t clock;  /* with timing: the cycle of simulated time it reached */
	/* native: factor from noted to all uses of its shared lines and to its spinning, 0: one; entries of its trace
	   searched for these */
	double represents;
	uint64_t entries;
	double spinning; /* share of its time in loops that only load a line stored to by others */
	uint64_t spins;  /* loads in these loops */
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* A marked region in one thread, with the engine. */
struct fm_recorded_region {
	uint32_t process, thread;
	char name[FM_NAME];
	uint64_t instances;
	uint64_t counted; /* of these, the chosen ones */
	uint64_t elapsed; /* with timing: cycles of simulated time, waits included */
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* A source line, or a function without one, where threads were at ticks of their time while they ran natively. */
struct fm_recorded_running {
	char function[FM_FUNCTION];
	char inlined[FM_FUNCTION]; /* the innermost function inlined there; "": none */
	char file[256];            /* "": not known */
	int64_t line;
	char module[64];
};

/* One such tick. */
struct fm_recorded_position {
	uint32_t process; /* index */
	uint32_t thread;  /* number in its process */
	uint32_t running; /* index of the source line */
	float at;         /* seconds since the start of the process */
	float seconds;    /* processor time that it represents */
	bool plain;       /* in copied code that counts only branches, at nearly native speed */
	bool kernel;      /* in a system call */
	bool locks;       /* in a system call in which threads wait for each other */
	bool waits;       /* in a loop that only waits for a change of memory */
	uint32_t
	    caller;   /* in a library: 1 + index of the line of the program's own source that called it; 0: not known */
	float shares; /* 0 … 1: at an access to a line that may have to come from another thread's cache */
};

/* A round of the laboratory (trace/laboratory.h): a stretch of the program was timed as it is, or with all of its cache
   lines placed. In the order of the run. */
struct fm_recorded_timing {
	uint32_t process; /* index */
	uint64_t mark;    /* address behind the branch whose executions are visits */
	uint32_t running; /* index of its source line */
	char kind[8];     /* "natural", "L1" or "L2": where the lines were placed */
	char problem[96]; /* why nothing was timed; "": it was */
	double seconds;
	uint32_t visits, instructions; /* timed */
	uint32_t lines, pages;         /* placed */
};

/* All cores of the first process, from the start to this moment. The last one is the end. */
struct fm_recorded_moment {
	uint64_t cycle;
	uint64_t running; /* threads with work */
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* The estimate of a counter for the whole run, from windows (windows/estimate.h). */
struct fm_recorded_estimate {
	char name[40];
	double value, low, high; /* 95 % */
};

/* Accesses by stack distance (reuse/stack.h), in bins. */
struct fm_recorded_distance {
	int64_t bin; /* -1: first touches of lines; -2: all accesses */
	double accesses;
};

/* A source line, or an instruction without one, of all processes together. */
struct fm_recorded_place {
	char function[FM_FUNCTION];
	char inlined[FM_FUNCTION]; /* the innermost function inlined there; "": none */
	char chain[320];           /* "kernel.h:12 (add) inlined into solver.c:40 (step)"; "": nothing inlined */
	char file[256];            /* "": not known */
	int64_t line;
	char module[64];
	uint64_t loads, stores;
	uint64_t misses[FM_SIMULATED_CACHES_MAX];
	uint64_t moved[FM_SIMULATED_CACHES_MAX]; /* lines brought into this cache by its accesses */
	uint64_t regular, irregular;             /* misses of the first cache at an even distance, and others */
};

struct fm_recorded_object {
	char name[FM_FUNCTION];
	char module[64];
	uint64_t bytes;
	bool rest; /* all memory except static variables */
	uint64_t loads, stores;
	uint64_t misses[FM_SIMULATED_CACHES_MAX];
	uint64_t moved[FM_SIMULATED_CACHES_MAX];
};

/* A line with transfers between cores, most transfers first. */
struct fm_recorded_shared {
	uint64_t line; /* address */
	uint64_t modified, clean, invalidations;
	uint64_t true_transfers, false_transfers; /* of transfers with noted bytes */
	char object[FM_FUNCTION];                 /* "": not a static variable */
};

struct fm_recorded_user {
	uint32_t shared;                         /* index of the line */
	int64_t thread;                          /* -1: not known */
	uint64_t read, written;                  /* bytes, one bit each */
	uint64_t loads, stores;                  /* accesses since the line first moved */
	uint64_t atomics;                        /* of the stores, those of atomic operations */
	uint64_t got;                            /* transfers of the line from another core to this thread */
	uint64_t near, span, looks, look_cycles; /* as in struct fm_line_user */
	char field[FM_FUNCTION];                 /* its first bytes written, or read, in the line */
	char function[FM_FUNCTION];
	char file[256];
	int64_t source_line;
};

/* Observations by counters. */

struct fm_recorded_event {
	char name[192];
	char recipe[96]; /* its name in a recipe, shared by several boxes; "": none */
	char pmu[64];
	char unit[12];
	int64_t cpu; /* counted on this CPU only; -1: with the task */
	bool needs_pmu;
};

/* The whole (thread 0), or one thread of a running process. */
struct fm_recorded_part {
	int64_t thread;
};

struct fm_recorded_count {
	uint32_t owner; /* index of the part or the marked region */
	uint32_t event;
	uint64_t value, enabled, running;
	bool user_only;
	struct fm_figure figure;
};

/* A marked region in one thread, by counters. */
struct fm_recorded_marked {
	char name[FM_NAME];
	uint32_t ordinal;
	uint64_t instances;
	double seconds;
};

struct fm_recorded_interval {
	double at; /* seconds since the startning */
	uint32_t part, event;
	struct fm_figure figure; /* counts since the previous moment */
};

/* Sampled references. Times are seconds since the start of the recording. Indexes are rows of other tables; -1:
   none. */

struct fm_recorded_sampling {
	char sampler[16];      /* burst, exact; "": references were not sampled */
	char state[16];        /* "finished", "unfinished" (see `parts`), "recovered" after the tool was killed */
	char parts[256];       /* folder beside an unfinished recording */
	double overhead_asked; /* share; 0: fixed rate */
	double rate_asked;     /* fixed rate per second of processor time */
	struct fm_figure overhead, rate; /* achieved */
	double seconds, cpu_seconds;
	double threads_seconds; /* part of cpu_seconds in threads that could be sampled */
	double ticks_per_second;
	uint32_t coarse_step; /* ticks of the time stamp counter */
	uint32_t levels;      /* distinguishable levels: 1 is the first cache, the last is memory */
	char level_names[64]; /* "L1 L2 L3 memory" */
	uint64_t lost_entries, lost_stacks, lost_allocations, lost_threads, lost_processes;
	char loss[256]; /* in words: "the disk was full after 3.2 s"; "": nothing was lost */
	uint64_t allocations, tracked;
	double sampling_seconds, allocation_seconds; /* processor time of the recording itself */
	uint32_t nodes;
	uint64_t every; /* sampling period of the engine in references; 0: not by the engine */
};

struct fm_recorded_sampled_process {
	uint32_t process, parent; /* the kernel's numbers */
	bool forked;
	char program[256];
	char arguments[512];
	double began, ended;
	bool own_allocator;
	char remark[200]; /* reasons for unsampled time */
};

struct fm_recorded_sampled_thread {
	uint32_t process; /* index */
	uint32_t thread;  /* the kernel's number */
	char name[16];
	double began, ended;
};

struct fm_recorded_code {
	uint32_t process; /* index of the first process with this mapping */
	uint64_t address;
	char function[FM_FUNCTION];
	char inlined[FM_FUNCTION];
	char chain[320];
	char file[256];
	int64_t line;
	char module[64];
	uint64_t offset; /* in the module's file */
};

struct fm_recorded_frame {
	uint32_t code;
	int64_t caller; /* index of the calling frame; -1: outermost known */
};

enum fm_memory_kind {
	FM_MEMORY_UNKNOWN,
	FM_MEMORY_STATIC,
	FM_MEMORY_THREAD_LOCAL,
	FM_MEMORY_HEAP,      /* one allocation */
	FM_MEMORY_POOL,      /* small allocations of one call site */
	FM_MEMORY_UNTRACKED, /* heap without allocation tracking */
	FM_MEMORY_STACK,
	FM_MEMORY_MAPPED, /* anonymous */
	FM_MEMORY_FILE,
	FM_MEMORY_CODE,  /* constants among the code */
	FM_MEMORY_NAMED, /* by fathom_object() */
	FM_MEMORY_KINDS
};

struct fm_recorded_memory {
	uint32_t kind;
	char name[FM_FUNCTION]; /* variable, "solver.c:40 (make_grid)", path, "stack of thread 12" */
	char group_name[FM_NAME];
	char type[FM_NAME]; /* of a variable, if known */
	char module[64];
	int64_t process, thread; /* indexes; -1: several, or none */
	uint64_t address;        /* in that process; 0: several */
	uint64_t bytes;          /* of a pool: of its largest estimated live total */
	int64_t frame;           /* of the allocation; -1 */
	double began, ended;
	double allocations; /* their number, estimated if they were sampled */
	double weight;      /* of its samples: 1, or the mean number of allocations per tracked one */
	char site[320];     /* "solver.c:40 (make_grid) < main.c:12 (main)" */
};

struct fm_recorded_instance {
	char name[FM_NAME];
	uint32_t process, thread; /* indexes */
	double began, ended;
};

/* Up to ten million rows, so members are narrow: 72 bytes. */
struct fm_recorded_sample {
	double at;
	uint64_t address;
	float weight; /* processor time that it represents, s */
	uint32_t process, thread, code;
	int32_t frame, memory;
	int32_t instance;                                    /* innermost */
	uint32_t cost, baseline, neighbour, neighbour_again; /* ticks */
	uint16_t cpu, size;
	int16_t node, page_node; /* -1: not known */
	uint8_t kind, flags;
	uint8_t level; /* most likely, 1 …; 0: not known */
};
_Static_assert(sizeof(struct fm_recorded_sample) == 72, "samples take most of the memory of a report");

/* Values of `kind` and `flags` of a sample, as record/stream.h has them. */
enum { FM_SAMPLE_LOAD = 1, FM_SAMPLE_STORE = 2 };
enum {
	FM_SAMPLE_FAULTED = 2,
	FM_SAMPLE_UNTIMED = 4,
	FM_SAMPLE_SIMULATED = 8,
	FM_SAMPLE_LEVEL_ONLY = 16, /* not for shares of references: see record/stream.h */
};

struct fm_recorded_missed {
	char reason[96];
	char function[FM_FUNCTION];
	char module[64];
	uint64_t count;
	double seconds;
};

/* The subject of a curve. Parts are shares of all references of the program, so that they add up. */
enum fm_curve_kind { FM_CURVE_PROGRAM, FM_CURVE_REGION, FM_CURVE_OBJECT, FM_CURVE_LINE, FM_CURVE_KINDS };

struct fm_recorded_curve {
	uint32_t kind;                /* enum fm_curve_kind */
	char name[FM_FUNCTION];       /* "": the whole program */
	uint64_t windows, references; /* of all windows */
	uint64_t watched, reused;     /* watched lines, and those with an observed reuse */
	uint64_t phases;
	double samples;
	double largest_bytes; /* above this size no reuse was observed; 0: no such size */
	double pace;          /* references per ns outside of windows */
	double clock_error;   /* its relative standard error */
	uint64_t paces;       /* number of its measurements; 0: a guess */
	/* from lines followed for the whole run: one in `one_in`, in `groups` groups; 0: from windows */
	uint64_t one_in, groups;
	double own_references; /* of a part: its own, an estimate; 0: not known */
	char remark[200];      /* its limitations; "": none */
};

struct fm_recorded_curve_point {
	uint32_t curve;
	double bytes, value, low, high;
};

struct fm_recorded_cache {
	char name[16];
	double bytes;
};

struct fm_recorded_calibration {
	uint32_t level;
	uint32_t cost, baseline, neighbour, neighbour_again;
	uint32_t kind; /* 0: loads with cached translations; 1: without */
};

/* Runs with reduced cache and bandwidth: squeeze/squeeze.h */

struct fm_recorded_squeeze {
	char backend[16];
	char level[12]; /* the squeezed cache, and its number */
	uint32_t cache;
	double bytes, gbs;                          /* its size, and the bandwidth of memory */
	double noticeable;                          /* a run slower by this share is degraded */
	uint64_t planned;                           /* runs planned but not made */
	char stopped[160];                          /* the reason; "": all runs were made */
	char predict[256];                          /* --predict, separated by blanks */
	bool live;                                  /* on this machine: times vary, and runs are in pairs */
	char calibration[512];                      /* calibration of the squeezing threads */
	char capacity_why[160], bandwidth_why[160]; /* why cache or bandwidth cannot be reduced; "": it can */
	/* live: latency of this cache and of the levels behind it, for predictions */
	struct fm_figure near_ns, beyond_ns;
	double footprint_bytes; /* memory of the program; live */
	bool map;               /* runs with both reduced were requested, too */
	char region[96];        /* live: seconds are per instance of this region; "": whole runs */
	uint32_t ranks;         /* copies of the program; 0: it runs alone */
	char mappings[64];      /* ranks per cache, several numbers with blanks */
};

struct fm_recorded_squeeze_step {
	double bytes, gbs;       /* left to the program */
	uint64_t cycles;         /* of the slowest thread */
	uint64_t latency_cycles; /* instructions plus latencies of misses in sequence: the clock of --beside */
	uint64_t instructions, references;
	uint64_t requests, misses; /* accesses to that cache */
	uint64_t lines;            /* lines brought into the cache, prefetched ones included */
	uint64_t memory_bytes;     /* read and written */
	/* live */
	double seconds;    /* of the wall clock */
	uint32_t role;     /* enum fm_squeeze_role */
	uint64_t pair;     /* runs with the same number are compared; 0: none */
	bool disturbed;    /* the hypervisor used the CPU for a noticeable part of the run */
	double near_ns;    /* a chase over a set that should fit … */
	double beyond_ns;  /* … and over twice its size, in the program's process before its start; 0: not done */
	double left_bytes; /* memory of the program that was not confined */
};

/* Runs of the program with several numbers of threads: scale/scale.h */

struct fm_recorded_scale {
	char by[12];      /* "threads" or "cpus" */
	char set_by[160]; /* how the program receives the number: "{threads}", names of variables */
	uint32_t cpus;    /* available CPUs; of a simulated machine its cores */
	bool simulated;
	bool asked;        /* for these numbers, and not the usual ones */
	uint64_t planned;  /* runs that were planned and not made */
	char stopped[160]; /* the reason; "": all runs were made */
};

struct fm_recorded_scale_run {
	uint32_t count;              /* of threads or CPUs */
	uint32_t round;              /* runs of one round are compared; 0: the first run, whose output is shown */
	double seconds;              /* wall clock */
	double cpu_seconds;          /* of all threads … */
	double kernel_seconds;       /* … in the kernel */
	double delayed;              /* all threads together, ready and without a processor */
	double alone, alone_longest; /* time with only one running thread: any thread; the thread with the most */
	double busiest, worked;      /* on a processor: the busiest thread, all workers together */
	uint32_t workers;            /* threads that ran for a noticeable part of the busiest thread's time */
	uint32_t threads;            /* all observed threads */
	uint64_t switches;           /* voluntary */
	bool disturbed;              /* the hypervisor used the CPU for a noticeable part of the run */
};

/* Observed with counters or windows at one thread count. Shares are of the threads' time. */
struct fm_recorded_scale_look {
	uint32_t count, threads;
	struct fm_figure seconds;
	struct fm_figure blocked, spinning, transferring;
	struct fm_figure imbalance; /* useful work of the busiest thread, divided by the mean */
	double runtime_share;       /* of all accesses, in libraries that manage threads */
	char runtime[64];           /* … the largest of these */
	char line[320];             /* source lines with most of the accesses */
	char transfers_line[320];   /* … with most of the cache line transfers */
};

struct fm_recorded_scale_level {
	uint32_t count;
	char name[12];
	struct fm_figure bytes, write_share, gbs;
	struct fm_figure peak_gbs; /* for this count and mixture, of a simulated machine */
	struct fm_figure wait;     /* share of cycles waiting for its bandwidth */
};

struct fm_recorded_scale_finding {
	uint32_t count;
	char name[32];
	uint32_t verdict; /* enum fm_verdict */
	double confidence;
	char evidence[240];
};

/* The first of several ranks that share a cache. */
struct fm_recorded_rank_step {
	uint32_t ranks;                                                /* in that cache */
	double bytes, gbs;                                             /* left to all of them */
	uint64_t cycles, instructions, requests, misses, memory_bytes; /* of the first */
};

/* Texts for the analysis: name, content. */
struct fm_document {
	char name[24];
	char *text;
};

struct fm_recording {
#define SINGLE(name, type, words) struct fm_recorded_##type name;
#define TABLE(name, type, words)         \
	struct fm_recorded_##type *name; \
	size_t name##_count;
#define TABLE_END
#define COLUMN(kind, member)
#include "recording/tables.def"
#undef SINGLE
#undef TABLE
#undef TABLE_END
#undef COLUMN
	/* "profile" and "metrics" (JSON), "machine", "machine events", "group", "vendor group"; of a live squeeze
	   "curve_why" */
	struct fm_document documents[8];
	unsigned document_count;
	/* derived from the documents */
	struct fm_machine_description machine; /* the simulated machine */
	bool has_machine;
	struct fm_machine *profile; /* NULL: none */
};

/* Number of samples that count as references. */
size_t fm_recording_references(const struct fm_recording *recording);

struct fm_recording *fm_recording_create(void);
void fm_recording_free(struct fm_recording *recording);

/* Appends a zeroed row to a table and returns it; NULL without memory: fm_recording_add(recording, threads). */
#define fm_recording_add(recording, table)                                                                            \
	((__typeof__((recording)->table))fm_recording_grow((void **)&(recording)->table, &(recording)->table##_count, \
	                                                   sizeof(*(recording)->table)))
void *fm_recording_grow(void **items, size_t *count, size_t size);

/* Stores a copy of a document. 0 or -ENOMEM. */
int fm_recording_set(struct fm_recording *recording, const char *name, const char *text);
const char *fm_recording_get(const struct fm_recording *recording, const char *name); /* NULL: none */

/* Completes a recording: makes `machine` and `profile` from the documents, makes texts printable, and checks references
   between rows. Trusts no value. An analysis takes only settled recordings, so that its report is the same before and
   after saving. */
int fm_recording_settle(struct fm_recording *recording, struct fm_error *error);

/* False if most transfers of the line brought no new data; "unknown" with too few notes. */
const char *fm_sharing_kind(const struct fm_recorded_shared *shared);

#endif
