/* What a program, a thread or a region of it did to each level of the hierarchy, how fast, how much of what the machine
   can do that is, and what its cycles were spent on. Every figure says where it came from: the exact engine
   (fm_picture_build) or counters (model/counted.h). */
#ifndef FATHOM_MODEL_PICTURE_H
#define FATHOM_MODEL_PICTURE_H

#include "base/figure.h"
#include "exact/engine.h"
#include "machine/machine.h"
#include "model/part.h"

/* A marked region as one thread ran it in native runs. */
struct fm_native_region {
	char name[FM_RESULT_NAME];
	unsigned ordinal; /* among the threads that ran it, in the order in which they were made */
	uint64_t instances;
	struct fm_figure seconds; /* all instances together: median and range over the runs */
};

/* How the program ran by itself. */
struct fm_native {
	unsigned runs;
	struct fm_figure seconds; /* of the wall clock: median and range */
	double cpu_seconds;       /* of all threads together, of the median run */
	double kernel_seconds;    /* of these, in the kernel */
	unsigned cpus;            /* that it could run on */
	int exit_status;
	bool signalled; /* it was ended by a signal */
	bool differs;   /* from what the engine saw: the reason */
	char difference[200];
	struct fm_native_region *regions; /* by name, then by ordinal */
	unsigned region_count;
	uint64_t regions_lost; /* instances for which there was no room; then regions have no time */
};

struct fm_picture_level {
	char name[12];
	/* brought up by loads and prefetchers; of the first cache: loaded */
	struct fm_figure read_bytes;
	struct fm_figure allocate_bytes; /* that stores had to read first */
	struct fm_figure write_bytes;    /* written back to it; of the first cache: stored */
	struct fm_figure gbs;            /* all of these */
	struct fm_figure peak_gbs;
	struct fm_figure utilisation;     /* 0 … 1 */
	struct fm_figure bandwidth_share; /* of the cycles, waited for its bandwidth */
	struct fm_figure latency_share;   /* … for its latency */
	char source[200];                 /* the formula and who stands for it; "" when it is the engine's */
};

struct fm_picture_thread {
	unsigned thread;
	uint64_t instructions;
	/* floating point operations where the program computes with such, else stores: a thread that spins has neither
	 */
	uint64_t useful;
	uint64_t flops, stores;
	double cycles;
};

enum { FM_PICTURE_LEVELS = FM_SIMULATED_CACHES_MAX + 1 };

struct fm_picture {
	const char *machine; /* its name */
	struct fm_part part;
	unsigned threads; /* that did anything */
	uint64_t instances;
	struct fm_figure seconds;
	struct fm_figure predicted_seconds; /* by the simulated core */
	struct fm_picture_level levels[FM_PICTURE_LEVELS];
	unsigned level_count;
	/* cycles, summed over the threads */
	struct fm_figure active, productive, stall, memory_bound, bandwidth_bound, latency_bound, other_stall;
	/* signs of trouble, 0 … 1 each */
	struct fm_figure unused;        /* of the lines that came into the first cache, what was not accessed */
	struct fm_figure foreseen;      /* of the lines wanted from below the second, those that were there already */
	struct fm_figure remote;        /* of the lines from memory, those from another socket */
	struct fm_figure translation;   /* of the cycles, waited for address translation */
	struct fm_figure throughput;    /* of the instructions that the core could execute */
	struct fm_figure narrow;        /* of the floating point operations, those not in vectors of 256 bits */
	struct fm_figure false_sharing; /* of the turns between threads, those that moved one line for nothing */
	struct fm_picture_thread per_thread[FM_RESULT_THREADS_MAX];
	unsigned thread_count;
	struct fm_combination combination; /* how far off counts and predictions are on this machine */
	struct fm_native native;           /* runs is 0 when there was none */
};

/* GB/s a level can give to so many threads: as measured, or as the description has it for such a mixture of reads and
   writes as was moved. */
struct fm_figure fm_picture_peak(const struct fm_machine_description *machine, const struct fm_machine *profile,
                                 const struct fm_picture_level *moved, unsigned level, unsigned threads);

/* … as measured on this machine. */
struct fm_figure fm_picture_measured_peak(const struct fm_machine *profile, const char *level, unsigned threads);

/* a / b, with the interval of both; what is not available says why. */
struct fm_figure fm_picture_share(const struct fm_figure *part, const struct fm_figure *whole);

struct fm_picture_source {
	const struct fm_machine_description *machine;
	const struct fm_machine *profile; /* NULL: the description tells what can be achieved */
	const struct fm_engine_run *run;
	const struct fm_native *native; /* NULL: the time is the simulated core's */
};

void fm_picture_build(const struct fm_picture_source *source, const struct fm_part *part,
                      struct fm_picture *ret_picture);

/* What happened between one moment and the next (struct fm_result_moment), at the end of which simulated time is
   `ret_at` seconds; after the last, until the end. false when there is no more. */
bool fm_picture_moment(const struct fm_picture_source *source, unsigned index, struct fm_picture *ret_picture,
                       double *ret_at);

/* Did the two runs pass through the same regions as often? Sets `differs` and says how. */
void fm_native_compare_regions(struct fm_native *native, const struct fm_engine_run *run);
void fm_native_free(struct fm_native *native);

#endif
