/* What a program did to each level of the hierarchy, how fast, how much of what the machine can do that is, and what
   its cycles were spent on. Counts come from the exact engine; time from a native run where there is one, else from the
   simulated core. */
#ifndef FATHOM_MODEL_PICTURE_H
#define FATHOM_MODEL_PICTURE_H

#include "base/figure.h"
#include "exact/engine.h"
#include "machine/machine.h"

/* How the program ran by itself. */
struct fm_native {
	unsigned runs;
	struct fm_figure seconds; /* of the wall clock: median and range */
	double cpu_seconds;       /* of all threads together, of the median run */
	double kernel_seconds;    /* of these, in the kernel */
	int exit_status;
	bool signalled; /* it was ended by a signal */
	bool differs;   /* from what the engine saw: the reason */
	char difference[200];
};

struct fm_picture_level {
	char name[12];
	double read_bytes;     /* that loads and prefetchers brought up from it; of the first cache: loaded */
	double allocate_bytes; /* that stores had to read first */
	double write_bytes;    /* written back to it; of the first cache: stored */
	struct fm_figure gbs;  /* all of these */
	struct fm_figure peak_gbs;
	struct fm_figure utilisation; /* 0 … 1 */
};

struct fm_picture_thread {
	uint64_t instructions;
	/* floating point operations where the program computes with such, else stores: a thread that spins has neither
	 */
	uint64_t useful;
	uint64_t flops, stores;
	double cycles;
};

enum { FM_PICTURE_LEVELS = FM_SIMULATED_CACHES_MAX + 1 };

struct fm_picture {
	const struct fm_machine_description *machine;
	unsigned threads; /* that did anything */
	struct fm_figure seconds;
	struct fm_figure predicted_seconds; /* by the simulated core */
	struct fm_picture_level levels[FM_PICTURE_LEVELS];
	unsigned level_count;
	struct fm_core_counts counts;
	struct fm_work work;
	struct fm_timing_counts timing; /* zero without core timing */
	/* cycles: what the simulator knows, summed over the threads */
	double active, productive, stall, memory_bound, bandwidth_bound, latency_bound, other_stall;
	struct fm_picture_thread per_thread[FM_RESULT_THREADS_MAX];
	unsigned thread_count;
	uint64_t turns;           /* between threads, in the engine */
	uint64_t false_transfers; /* of the line with the most false sharing */
	uint64_t false_line;
	struct fm_native native; /* runs is 0 when there was none */
};

/* GB/s a level can give to so many threads: as measured, or as the description has it. */
struct fm_figure fm_picture_peak(const struct fm_machine_description *machine, const struct fm_machine *profile,
                                 unsigned level, unsigned threads);

/* profile and native may be NULL. */
void fm_picture_build(const struct fm_machine_description *machine, const struct fm_machine *profile,
                      const struct fm_engine_run *run, const struct fm_native *native, struct fm_picture *ret_picture);

#endif
