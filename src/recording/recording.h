/* What was observed: runs, processes, threads, regions, source lines, objects, shared lines, moments, counts, native
   times, each with its origin. It stands between observing and analysing: an observer fills it, the analysis reads it,
   and neither knows the other. In memory it is a set of flat tables (tables.def); recording/store.h keeps the same
   tables as an SQLite file, with everything that is needed to open it on another machine. */
#ifndef FATHOM_RECORDING_RECORDING_H
#define FATHOM_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/figure.h"
#include "machine/machine.h"
#include "simulator/core.h"
#include "simulator/description.h"
#include "simulator/work.h"

enum { FM_NAME = 96, FM_FUNCTION = 200, FM_RECORDED_USERS = FM_LINE_USERS };

/* What was asked, as far as it decides what a report says. */
enum fm_question {
	FM_QUESTION_EXACT,            /* the engine on a simulated machine */
	FM_QUESTION_COMBINED,         /* the engine for counts, the program by itself for time */
	FM_QUESTION_COUNTED_EVENTS,   /* events by name, of this machine */
	FM_QUESTION_COUNTED_LEVELS,   /* levels and cycles by this machine's counters */
	FM_QUESTION_SIMULATED_EVENTS, /* events by name, of the simulated machine */
	FM_QUESTION_SIMULATED_LEVELS, /* levels and cycles as the simulated machine's counters tell them */
	FM_QUESTION_COUNT
};

struct fm_recorded_asked {
	uint32_t question; /* enum fm_question */
	char machine[256]; /* the simulated one, by name or path */
	bool timing, free_running, system_wide, per_thread;
	char region[FM_NAME]; /* only this one; "": everything */
	uint64_t first_instance, last_instance;
	uint64_t window_begin, window_end;
	uint64_t interval_ms, repeats;
	char events[4096];   /* -e */
	char processes[256]; /* -p */
};

struct fm_recorded_run {
	char verb[16];
	char program[512]; /* "" when running processes were observed */
	char host[72];
	char started[32];    /* UTC */
	int64_t exit_status; /* of the program: 0 … 255, or 128 + the signal */
	int64_t signal;
	char engine[24]; /* that ran it; "": none */
	double engine_seconds;
	int64_t engine_exit_status;
	int64_t engine_output_bytes; /* -1: not known */
	struct fm_figure elapsed;    /* of the program by counters; of several runs the median */
	uint64_t regions_lost;       /* instances that had no room, by counters */
	double seen_share;           /* of the processor time that the kernel accounted for; 0: not known */
	char unseen_why[320];        /* where the rest was spent; "": nowhere that matters */
};

/* The program by itself, without the engine. */
struct fm_recorded_native {
	uint32_t runs;
	struct fm_figure seconds; /* of the wall clock: median and range */
	double cpu_seconds;       /* of all threads together, of the median run */
	double kernel_seconds;    /* of these, in the kernel */
	double kernel_share;      /* of the processor time of all runs, in the kernel; it is told in ticks, so … */
	double share_seconds;     /* … the more processor time it rests on, the better */
	double busiest;       /* processors in use on average, in the run that used the most: others take time away */
	uint64_t switches;    /* how often its threads gave their processor away to wait, in that run */
	uint64_t preemptions; /* how often their processor was taken from them */
	uint32_t cpus;        /* that it could run on */
	int64_t exit_status;
	int64_t output_bytes; /* of a run whose output was measured; -1: none was */
	bool signalled;
	bool same_run; /* it ran only in the engine: the time is that of this run, less what counting cost */
	bool differs;  /* its runs did not do the same */
	char difference[200];
	uint64_t regions_lost; /* instances for which there was no room; then regions have no time */
	/* page faults of the run whose kernel time is above: without and with waiting for a disk; of the former, at
	   most so many that made a huge page, as all processes together had no more; 0 faults: not counted */
	uint64_t faults, major_faults, huge_faults;
	bool huge_always; /* huge pages were for everybody, not only for those who ask for them */
};

/* A marked region as one thread ran it in native runs. */
struct fm_recorded_native_region {
	char name[FM_NAME];
	uint32_t ordinal; /* among the threads that ran it, in the order in which they were made */
	uint64_t instances;
	struct fm_figure seconds; /* all instances together: median and range over the runs */
};

/* A thread of the native run whose time is the median, up to when it was last seen; s. */
struct fm_recorded_native_thread {
	uint32_t ordinal;
	double ran;     /* on a processor */
	double delayed; /* ready, and waiting for one */
	double lived;   /* the rest it was blocked: waiting for something */
};

struct fm_recorded_process {
	uint32_t process, parent;
	bool executed; /* it began with an exec that was followed */
	bool timing;
	char program[256];
	uint64_t turns, forced_turns;
	uint64_t unlogged; /* operands whose accesses are missing */
	uint64_t lost_sites, lost_threads, lost_regions, lost_objects, lost_processes;
	uint64_t kernel_bytes; /* that system calls wrote into its buffers, unseen by the engine */
	uint64_t simulator_bytes;
	uint64_t accesses_lost; /* that had not been simulated when it was ended */
	/* with only one region counted: calls of the function of that name, until a marker of that name came, if one
	 * did */
	uint64_t region_calls;
	bool region_marked;
	/* how it was run: 0 by QEMU, 1 natively with every reference seen, 2 natively and looked at through windows */
	uint32_t native;
	/* natively: */
	uint64_t instructions;                /* executed, all of them */
	uint64_t found_inside, found_outside; /* where a timer found its threads: in the code cache, or not */
	uint64_t native_threads;              /* that were not followed */
	char left[200];                       /* why the code cache was left, the most frequent reasons */
	uint64_t loads, stores, load_bytes, store_bytes; /* by windows: counted, all of them; 0: not known */
	uint64_t
	    string_lines;    /* of these, lines of string instructions: in weights of windows each is an instruction */
	uint64_t unseen;     /* of the instructions, those of code that no window has seen */
	double pieces_timed, /* by windows: share of the instructions in pieces of code that were timed; 0: cycles are
	                        not by pieces */
	    pieces_error,    /* … 95 % of cases are within this part of the cycles */
	    timing_error; /* where only stretches had core timing: 95 % of cases are within this part of the cycles */
	double uncounted; /* executed without being counted, compared with what was: added, and not known as well */
	double window_share; /* of the processor time, spent in windows */
};

/* What was counted in one window of all threads of a process. All other counts of such a process are made of these:
   see recording/windows.h. */
struct fm_recorded_window {
	uint32_t process;
	double began, ended; /* seconds since the beginning of the process */
	uint64_t executed;   /* instructions and string lines of the process, up to its end */
	struct fm_work work; /* with only one region counted: inside it */
	uint64_t outside;    /* instructions outside of that region */
	uint64_t string_lines;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
	uint64_t unknown[FM_SIMULATED_CACHES_MAX]; /* accesses of which is not known whether they hit this cache */
	/* of these, those to lines that are followed, of which it is known; those that missed and were counted as hits,
	   and those that hit and were counted as misses */
	uint64_t known[FM_SIMULATED_CACHES_MAX], too_few[FM_SIMULATED_CACHES_MAX], too_many[FM_SIMULATED_CACHES_MAX];
	uint64_t touched[FM_SIMULATED_CACHES_MAX]; /* lines of this cache that it touched */
	/* what lines did in it that are followed for the whole run: a sample, see recording/estimate.h */
	uint64_t brought[FM_SIMULATED_CACHES_MAX], owned[FM_SIMULATED_CACHES_MAX], written[FM_SIMULATED_CACHES_MAX];
};

/* A group of lines that were followed for the whole run. One of `share` lines was, in all groups together. */
struct fm_recorded_group {
	uint32_t process, share;
	uint64_t accesses;
	uint64_t brought[FM_SIMULATED_CACHES_MAX]; /* into this cache */
	uint64_t owned[FM_SIMULATED_CACHES_MAX];   /* of these, because of stores */
	uint64_t written[FM_SIMULATED_CACHES_MAX]; /* from this cache to the next */
	uint64_t memory_reads, memory_writes;
	uint64_t cold; /* touched for the first time */
};

/* A program that a process executed and that was not followed. */
struct fm_recorded_execution {
	uint32_t process; /* index */
	char program[256];
};

/* A program that ran beside the first process, on the same simulated machine and until that ended. */
struct fm_recorded_beside {
	char command[512];
	uint32_t core; /* that its first thread had */
	uint32_t runs; /* how often it was started */
	uint32_t processes, threads;
	bool ended; /* before the program did, and it was not started again */
	int64_t exit_status;
	uint64_t instructions;
	struct fm_core_counts counts;
};

struct fm_recorded_thread {
	uint32_t process; /* index of its process; the first is 0 */
	uint32_t thread;  /* number in its process */
	uint32_t core;
	bool shares_core;
	uint64_t others; /* > 0: stands for so many threads that had no record of their own */
	uint64_t clock;  /* with timing: the cycle of simulated time it reached */
	/* natively: how many times what was noted of its shared lines and of its spinning it did in all, 0: as often as
	   was noted; entries of its trace that were looked at for that */
	double represents;
	uint64_t entries;
	double spinning; /* share of its time in loops that only look at a line which others store to */
	uint64_t spins;  /* loads in them */
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* A marked region as one thread ran it in the engine. */
struct fm_recorded_region {
	uint32_t process, thread;
	char name[FM_NAME];
	uint64_t instances;
	uint64_t counted; /* of these, those that were chosen */
	uint64_t elapsed; /* with timing: cycles of simulated time, waiting included */
	struct fm_work work;
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* All cores of the first process together, from the beginning until then. The last one is its end. */
struct fm_recorded_moment {
	uint64_t cycle;
	uint64_t running; /* threads that had something to do */
	struct fm_core_counts counts;
	struct fm_timing_counts timing;
};

/* Accesses by how many other lines were touched since their line was (reuse/stack.h): a bin of distances, or … */
struct fm_recorded_distance {
	int64_t bin; /* -1: lines that were touched for the first time; -2: all accesses */
	double accesses;
};

/* A source line, or an instruction without one, of all processes together. */
struct fm_recorded_place {
	char function[FM_FUNCTION];
	char inlined[FM_FUNCTION]; /* the innermost function inlined there; "": none */
	char chain[320];           /* "kernel.h:12 (add) inlined into solver.c:40 (step)"; "": nothing is inlined */
	char file[256];            /* "": not known */
	int64_t line;
	char module[64];
	uint64_t loads, stores;
	uint64_t misses[FM_SIMULATED_CACHES_MAX];
	uint64_t moved[FM_SIMULATED_CACHES_MAX]; /* lines that came into this cache because of it */
	uint64_t regular, irregular;             /* misses of the first cache at an even distance, and others */
};

struct fm_recorded_object {
	char name[FM_FUNCTION];
	char module[64];
	uint64_t bytes;
	bool rest; /* all memory that is no static variable */
	uint64_t loads, stores;
	uint64_t misses[FM_SIMULATED_CACHES_MAX];
	uint64_t moved[FM_SIMULATED_CACHES_MAX];
};

/* A line that moved between cores, most transfers first. */
struct fm_recorded_shared {
	uint64_t line; /* address */
	uint64_t modified, clean, invalidations;
	uint64_t true_transfers, false_transfers; /* of those whose bytes were noted */
	char object[FM_FUNCTION];                 /* "" when it is no static variable */
};

struct fm_recorded_user {
	uint32_t shared;                         /* index of the line */
	int64_t thread;                          /* -1: not known */
	uint64_t read, written;                  /* bytes, one bit each */
	uint64_t loads, stores;                  /* accesses since the line first moved */
	uint64_t atomics;                        /* of the stores, those of atomic operations */
	uint64_t got;                            /* times it got the line from another core */
	uint64_t near, span, looks, look_cycles; /* as in struct fm_line_user */
	char field[FM_FUNCTION];                 /* what it wrote, or read, first in the line */
	char function[FM_FUNCTION];
	char file[256];
	int64_t source_line;
};

/* By counters */

struct fm_recorded_event {
	char name[192];
	char recipe[96]; /* what a recipe calls it: several boxes may share that; "": none does */
	char pmu[64];
	char unit[12];
	int64_t cpu; /* counted on this CPU only; -1: with the task */
	bool needs_pmu;
};

/* Everything together (thread 0), or one thread of a running process. */
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

/* A marked region as one thread ran it, by counters. */
struct fm_recorded_marked {
	char name[FM_NAME];
	uint32_t ordinal;
	uint64_t instances;
	double seconds;
};

struct fm_recorded_interval {
	double at; /* seconds since the beginning */
	uint32_t part, event;
	struct fm_figure figure; /* what was counted since the one before */
};

/* By sampling references. Times are seconds since the recording began. Indexes are rows of the other tables; -1: none.
 */

struct fm_recorded_sampling {
	char sampler[16];      /* burst, exact; "": references were not sampled */
	char state[16];        /* "finished", "unfinished" (see `parts`), "recovered" after the tool was killed */
	char parts[256];       /* folder beside the recording, of one that is unfinished */
	double overhead_asked; /* share; 0: the rate was fixed */
	double rate_asked;     /* per second of processor time */
	struct fm_figure overhead, rate; /* achieved */
	double seconds, cpu_seconds;
	double threads_seconds; /* of cpu_seconds, by threads that could be sampled */
	double ticks_per_second;
	uint32_t coarse_step; /* ticks, of the time stamp */
	uint32_t levels;      /* that can be told apart: 1 is the first cache, the last is memory */
	char level_names[64]; /* "L1 L2 L3 memory" */
	uint64_t lost_entries, lost_stacks, lost_allocations, lost_threads, lost_processes;
	char loss[256]; /* in words: "the disk was full after 3.2 s"; "": nothing was lost */
	uint64_t allocations, tracked;
	double sampling_seconds, allocation_seconds; /* of the processor time, for the recording itself */
	uint32_t nodes;
	uint64_t every; /* of the engine's references one in so many was kept; 0: not by the engine */
};

struct fm_recorded_sampled_process {
	uint32_t process, parent; /* the kernel's numbers */
	bool forked;
	char program[256];
	char arguments[512];
	double began, ended;
	bool own_allocator;
	char remark[200]; /* what could not be seen of it */
};

struct fm_recorded_sampled_thread {
	uint32_t process; /* index */
	uint32_t thread;  /* the kernel's number */
	char name[16];
	double began, ended;
};

struct fm_recorded_code {
	uint32_t process; /* index of the first one that has it there */
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
	int64_t caller; /* index of the frame outside this one; -1: outermost that is known */
};

enum fm_memory_kind {
	FM_MEMORY_UNKNOWN,
	FM_MEMORY_STATIC,
	FM_MEMORY_THREAD_LOCAL,
	FM_MEMORY_HEAP,      /* one allocation */
	FM_MEMORY_POOL,      /* small allocations of one call site */
	FM_MEMORY_UNTRACKED, /* heap that nobody tracked */
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
	char type[FM_NAME]; /* of a variable, as far as it is known */
	char module[64];
	int64_t process, thread; /* indexes; -1: of several, or of none in particular */
	uint64_t address;        /* in that process; 0: several */
	uint64_t bytes;          /* of a pool: of its largest estimated live total */
	int64_t frame;           /* of the allocation; -1 */
	double began, ended;
	double allocations; /* how many, estimated where they were sampled */
	double weight;      /* of its samples: 1, or how many a tracked allocation stands for, on average */
	char site[320];     /* "solver.c:40 (make_grid) < main.c:12 (main)" */
};

struct fm_recorded_instance {
	char name[FM_NAME];
	uint32_t process, thread; /* indexes */
	double began, ended;
};

/* There may be ten million of them, so members are as narrow as can be: 72 bytes. */
struct fm_recorded_sample {
	double at;
	uint64_t address;
	float weight; /* seconds of processor time it stands for */
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
	FM_SAMPLE_LEVEL_ONLY =
	    16, /* tells of levels, but not how often something is referred to: see record/stream.h */
};

struct fm_recorded_missed {
	char reason[96];
	char function[FM_FUNCTION];
	char module[64];
	uint64_t count;
	double seconds;
};

/* What a curve is of. Those of parts are shares of all references of the program too, so that they add up. */
enum fm_curve_kind { FM_CURVE_PROGRAM, FM_CURVE_REGION, FM_CURVE_OBJECT, FM_CURVE_LINE, FM_CURVE_KINDS };

struct fm_recorded_curve {
	uint32_t kind;                /* enum fm_curve_kind */
	char name[FM_FUNCTION];       /* "": the whole program */
	uint64_t windows, references; /* of all windows */
	uint64_t watched, reused;     /* lines that were watched, and those whose reuse was seen */
	uint64_t phases;
	double samples;
	double largest_bytes; /* beyond this size no reuse was observed; 0: there is no such size */
	double pace;          /* references per ns outside of windows */
	double clock_error;   /* its relative standard error */
	uint64_t paces;       /* how often it was measured; 0: it is a guess */
	/* from lines that were followed for the whole run: one in so many, in so many groups; 0: from windows */
	uint64_t one_in, groups;
	double own_references; /* of a part: its own, an estimate; 0: not known */
	char remark[200];      /* what it lacks; "": nothing */
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
	uint32_t kind; /* 0: loads whose translations were known; 1: whose translations were not */
};

/* By taking cache and bandwidth away: squeeze/squeeze.h */

struct fm_recorded_squeeze {
	char backend[16];
	char level[12]; /* the cache that was squeezed, and its number */
	uint32_t cache;
	double bytes, gbs;                          /* what there is of it, and of the bandwidth of memory */
	double noticeable;                          /* a run that is slower by this share is degraded */
	uint64_t planned;                           /* runs that were wanted and not made */
	char stopped[160];                          /* why; "": everything was measured */
	char predict[256];                          /* --predict, separated by blanks */
	bool live;                                  /* on this machine itself: times vary, and runs are in pairs */
	char calibration[512];                      /* what was found out of how much is taken */
	char capacity_why[160], bandwidth_why[160]; /* why one cannot be taken; "": it can */
	/* the latency of this cache and of what lies behind it, for predictions; live */
	struct fm_figure near_ns, beyond_ns;
	double footprint_bytes; /* memory of the program; live */
	bool map;               /* less of both at once was wanted, too */
	char region[96];   /* live: seconds are those of an instance of it, not of whole runs; "": they are these */
	uint32_t ranks;    /* copies of the program; 0: it runs alone */
	char mappings[64]; /* how many of them share a cache, separated by blanks */
};

struct fm_recorded_squeeze_step {
	double bytes, gbs;       /* that were left */
	uint64_t cycles;         /* of the thread that took longest */
	uint64_t latency_cycles; /* instructions plus latencies of misses, one after the other: the clock of --beside */
	uint64_t instructions, references;
	uint64_t requests, misses; /* accesses to that cache */
	uint64_t lines;            /* that came into it, also ahead of their use */
	uint64_t memory_bytes;     /* read and written */
	/* live */
	double seconds;    /* of the wall clock */
	uint32_t role;     /* enum fm_squeeze_role */
	uint64_t pair;     /* runs with the same number belong together; 0: none */
	bool disturbed;    /* the machine took part of it away */
	double near_ns;    /* a chase over what should fit … */
	double beyond_ns;  /* … and over twice as much, in the program's own process before it began; 0: not done */
	double left_bytes; /* memory of the program that was not confined */
};

/* The first of several ranks beside others in one cache. */
struct fm_recorded_rank_step {
	uint32_t ranks;                                                /* in that cache */
	double bytes, gbs;                                             /* that were left for all of them */
	uint64_t cycles, instructions, requests, misses, memory_bytes; /* of the first */
};

/* Texts that the analysis needs: name, content. */
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
	/* made of the documents */
	struct fm_machine_description machine; /* the simulated one */
	bool has_machine;
	struct fm_machine *profile; /* NULL: there was none */
};

/* Samples that tell how often something is referred to. */
size_t fm_recording_references(const struct fm_recording *recording);

struct fm_recording *fm_recording_create(void);
void fm_recording_free(struct fm_recording *recording);

/* One more entry at the end of a table, zeroed; NULL when there is no memory: fm_recording_add(recording, threads). */
#define fm_recording_add(recording, table)                                                                            \
	((__typeof__((recording)->table))fm_recording_grow((void **)&(recording)->table, &(recording)->table##_count, \
	                                                   sizeof(*(recording)->table)))
void *fm_recording_grow(void **items, size_t *count, size_t size);

/* Documents. A copy is kept; -ENOMEM. */
int fm_recording_set(struct fm_recording *recording, const char *name, const char *text);
const char *fm_recording_get(const struct fm_recording *recording, const char *name); /* NULL: there is none */

/* The recording is complete: make `machine` and `profile` of the documents, texts fit to print, and check that what
   refers to other rows does so rightly. Nothing is trusted. An analysis takes only what has been settled, so that a
   recording says the same before and after it was kept. */
int fm_recording_settle(struct fm_recording *recording, struct fm_error *error);

/* False when most of what moved the line brought nothing new; with too little noted nothing is said ("unknown"). */
const char *fm_sharing_kind(const struct fm_recorded_shared *shared);

#endif
