/* What a program, a thread or a region of it did to each level of the hierarchy: how much was moved, how fast, as a
   share of the machine's peak, and what its cycles were spent on. Made of a recording; every figure says where it came
   from: the exact engine (fm_picture_build) or counters (model/counted.h). */
#ifndef FATHOM_MODEL_PICTURE_H
#define FATHOM_MODEL_PICTURE_H

#include "base/figure.h"
#include "model/part.h"

struct fm_picture_level {
	char name[12];
	/* brought up by loads and prefetchers; of the first cache: loaded */
	struct fm_figure read_bytes;
	struct fm_figure allocate_bytes;  /* that stores had to read first */
	struct fm_figure write_bytes;     /* written back to it; of the first cache: stored */
	struct fm_figure gbs;             /* all of these */
	struct fm_figure write_share;     /* of these, written; 0 … 1 */
	struct fm_figure peak_gbs;        /* for … */
	unsigned peak_threads;            /* so many; 0: not known */
	struct fm_figure peak_share;      /* and such a share of writes; not available: for the best mixture */
	struct fm_figure loaded_latency;  /* of memory: that of a load beside this traffic, on the machine's curve */
	double loaded_at_least;           /* where the curve does not reach that far; 0 where it does */
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
	bool arithmetic; /* useful is floating point operations */
	uint64_t flops, stores;
	double cycles;
};

/* The first thread starts the others, and that is some work too: up to this share of what the busiest did it is none of
   the team. In a region it is there to work, or to wait. */
#define FM_PICTURE_STARTING 0.05

enum { FM_TRAFFIC_READ, FM_TRAFFIC_ALLOCATED, FM_TRAFFIC_WRITTEN, FM_TRAFFIC_KINDS };
/* Bytes moved at a level, as the counts of a simulated core say. */
struct fm_traffic {
	double bytes[FM_TRAFFIC_KINDS];
};
struct fm_traffic fm_picture_traffic(const struct fm_machine_description *machine, const struct fm_core_counts *counts,
                                     unsigned level);

enum { FM_PICTURE_LEVELS = FM_SIMULATED_CACHES_MAX + 1 };

/* Signs of trouble, 0 … 1 each. */
struct fm_picture_signs {
	struct fm_figure unused;  /* of the lines that came into the first cache, what was not accessed */
	struct fm_figure regular; /* of the misses of the first cache, those at an even distance from the one before */
	struct fm_figure remote;  /* of the lines from memory, those from another socket */
	struct fm_figure translation;   /* of the cycles, waited for address translation */
	struct fm_figure throughput;    /* of the instructions that the core could execute */
	struct fm_figure narrow;        /* of the floating point operations, those not in vectors of 256 bits */
	struct fm_figure false_sharing; /* of the turns between threads, those that moved one line for nothing */
	struct fm_figure blocked;       /* of the threads' time, waiting in the kernel for somebody */
	struct fm_figure handing_over;  /* of the threads' time, moving lines that several write from core to core */
	struct fm_figure spinning;      /* of the threads' time, in loops that only look at a line of others */
};

/* Time of several threads, of the whole program (model/threads.h). */
struct fm_picture_times {
	/* user time of all threads together, predicted: each by itself, handing lines over, spinning … */
	struct fm_figure work, sharing, spinning;
	struct fm_figure user;      /* … their sum */
	struct fm_figure wall;      /* predicted, but for the kernel's share and for waiting, which are measured */
	struct fm_figure waiting;   /* blocked in the kernel, all threads that work together; measured */
	double waiting_longest;     /* of these, by the thread that decides the wall time */
	struct fm_figure available; /* share of the time in which ready threads had a processor; measured */
};

struct fm_picture {
	const struct fm_recording *recording;
	const char *machine; /* its name */
	struct fm_part part;
	unsigned threads; /* that did anything */
	uint64_t instances;
	struct fm_figure seconds;
	/* by the simulated core; of a program with several threads that also ran by itself, their user time together */
	struct fm_figure predicted_seconds;
	struct fm_figure user_seconds; /* measured, outside the kernel: what a prediction compares with */
	struct fm_picture_times times;
	struct fm_figure off; /* the prediction's error: predicted over measured user time, less one */
	bool doubtful;        /* it is off by more than 30 %: the simulated machine does not fit the program */
	bool unchecked;       /* there was a prediction, and nothing to compare it with */
	/* of its time, what it executed where the engine does not see it, such as code that it made itself; 0: too
	 * little to matter. Counts are then of the rest, and nothing is predicted. */
	double unseen;
	bool counted;      /* by counters, of this machine or of a simulated one */
	char differs[200]; /* why counts and time are not of the same thing; "": they are */
	struct fm_picture_level levels[FM_PICTURE_LEVELS];
	unsigned level_count;
	/* cycles, summed over the threads; the formula of those that wait for loads, when it has limits */
	char cycles_source[200];
	struct fm_figure active, productive, stall, memory_bound, bandwidth_bound, latency_bound, other_stall;
	/* processor time of all threads in the kernel, measured, and predicted from page faults; apart from the times
	 * above */
	struct fm_figure kernel_seconds, fault_seconds;
	struct fm_picture_signs signs;
	struct fm_picture_thread *per_thread; /* its own */
	unsigned thread_count;
};

void fm_picture_free(struct fm_picture *picture);

/* A further thread; false when there is no memory. */
bool fm_picture_grow(struct fm_picture *picture, const struct fm_picture_thread *thread);

/* What a level can give to so many threads for such a mixture of reads and writes as was moved: as measured, or, where
   there is no profile, as the description of the simulated machine has it. Fills in what the level says of its peak,
   from its name, bytes and GB/s. */
void fm_picture_measured_peak(const struct fm_machine *profile, struct fm_picture_level *level, unsigned threads);
void fm_picture_described_peak(const struct fm_machine_description *machine, struct fm_picture_level *level,
                               unsigned index, unsigned threads);

/* a / b, with the interval of both; what is not available says why. */
struct fm_figure fm_picture_share(const struct fm_figure *part, const struct fm_figure *whole);

/* The recording has what the engine counted. fm_picture_free() what it gives. */
void fm_picture_build(const struct fm_recording *recording, const struct fm_part *part, struct fm_picture *ret_picture);

/* Simulated cycles like these in a second, with what others that use the core make of them. */
double fm_picture_hertz(const struct fm_machine_description *machine, const struct fm_timing_counts *timing);

/* The cycles of a picture, as a simulated core counted them. */
void fm_picture_cycles(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                       struct fm_picture *picture);

/* What happened between one moment and the next, at the end of which simulated time is `ret_at` seconds. false when
   there is no more. */
bool fm_picture_moment(const struct fm_recording *recording, unsigned index, struct fm_picture *ret_picture,
                       double *ret_at);

#endif
