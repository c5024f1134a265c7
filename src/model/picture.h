/* Use of each level of the hierarchy by a program, a thread or a region: bytes, bandwidth, share of the machine's peak;
   and cycles by cause. Made from a recording, by exact counting (fm_picture_build) or counters (model/counted.h); every
   figure has its origin. */
#ifndef FATHOM_MODEL_PICTURE_H
#define FATHOM_MODEL_PICTURE_H

#include "base/figure.h"
#include "model/part.h"

struct fm_picture_level {
	char name[12];
	/* read by loads and prefetchers; of the first cache: loaded */
	struct fm_figure read_bytes;
	struct fm_figure allocate_bytes;  /* read before stores (write-allocate) */
	struct fm_figure write_bytes;     /* written back to it; of the first cache: stored */
	struct fm_figure moved_bytes;     /* all of these: better known than each of them */
	struct fm_figure gbs;             /* … over the time */
	struct fm_figure write_share;     /* written share of these bytes, 0 … 1 */
	struct fm_figure peak_gbs;        /* peak for peak_threads and peak_share */
	unsigned peak_threads;            /* 0: unknown */
	struct fm_figure peak_share;      /* share of writes; not available: the best mixture */
	struct fm_figure loaded_latency;  /* of memory: latency of a load beside this traffic, from the
	                                     bandwidth–latency curve */
	double loaded_at_least;           /* lower limit if the traffic is beyond the curve; else 0 */
	double beyond;                    /* factor by which the traffic exceeds the peak and its error; 0: not */
	struct fm_figure utilisation;     /* 0 … 1 */
	struct fm_figure bandwidth_share; /* share of cycles that wait for its bandwidth */
	struct fm_figure latency_share;   /* … or for its latency */
	char source[200];                 /* the formula and its author; "" for the engine */
};

struct fm_picture_thread {
	unsigned thread;
	uint64_t instructions;
	/* floating point operations, or stores in a program without such; a spinning thread has neither */
	uint64_t useful;
	bool arithmetic; /* useful counts floating point operations */
	uint64_t flops, stores;
	double cycles;
	double working_seconds; /* native, without spinning; with picture->team.known … */
	bool works;             /* … it is one of the workers */
};

enum { FM_TRAFFIC_READ, FM_TRAFFIC_ALLOCATED, FM_TRAFFIC_WRITTEN, FM_TRAFFIC_KINDS };
/* Bytes moved at a level, from the counts of a simulated core. */
struct fm_traffic {
	double bytes[FM_TRAFFIC_KINDS];
};
struct fm_traffic fm_picture_traffic(const struct fm_machine_description *machine, const struct fm_core_counts *counts,
                                     unsigned level);

enum { FM_PICTURE_LEVELS = FM_SIMULATED_CACHES_MAX + 1 };

/* Signs of trouble, 0 … 1 each. */
struct fm_picture_signs {
	struct fm_figure unused;  /* lines of the first cache: unused share */
	struct fm_figure regular; /* misses of the first cache: share with a constant distance to the previous miss */
	struct fm_figure remote;  /* lines from memory: share from another socket */
	struct fm_figure translation;   /* cycles: share waiting for address translation */
	struct fm_figure supply;        /* cycles: share waiting for instructions, also after mispredicted branches */
	struct fm_figure throughput;    /* executed instructions over the core's capacity */
	struct fm_figure narrow;        /* floating point operations: share not in 256-bit vectors */
	struct fm_figure false_sharing; /* changes of the running thread: share with a transfer by false sharing */
	struct fm_figure blocked;       /* threads' time: share blocked in the kernel */
	struct fm_figure handing_over;  /* threads' time: share in transfers of lines that several threads write */
	struct fm_figure spinning;      /* threads' time: share in spin loops on a line of other threads */
};

/* Time of several threads, of the whole program (model/threads.h). */
struct fm_picture_times {
	/* predicted user time, sum over threads: work alone, cache line transfers, spinning … */
	struct fm_figure work, sharing, spinning;
	struct fm_figure user;      /* … their sum */
	struct fm_figure wall;      /* predicted; kernel time and waiting are measured */
	struct fm_figure waiting;   /* blocked in the kernel, sum over working threads; measured */
	double waiting_longest;     /* of these, in the thread that determines the wall time */
	struct fm_figure available; /* share of the time in which ready threads had a processor; measured */
};

enum { FM_PICTURE_TEAM_MAX = 1024 };

/* What the threads did with the processors that they could use, at native speed (model/team.h). Shares are of the
   team's time: the elapsed time of all these processors. */
struct fm_picture_team {
	bool known;
	unsigned workers, positions;
	double processors;
	struct fm_figure worked;                      /* without spinning */
	struct fm_figure idle;                        /* no thread ran: blocked */
	struct fm_figure spinning;                    /* in loops that wait */
	struct fm_figure synchronising;               /* in functions of locks, condition variables and barriers */
	struct fm_figure true_sharing, false_sharing; /* at accesses to lines of other threads */
	struct fm_figure
	    uneven; /* of idle and spinning time, until the busiest thread ends, or while one works alone */
	struct fm_figure waiting; /* the rest of it, with synchronising and true sharing */
	struct fm_figure alone;   /* of the elapsed time: only one thread works */
	struct fm_figure delayed; /* of the threads' lives: ready, without a processor */
	double ratio;             /* working time of the busiest thread over the mean */
};

/* What the laboratory measured (model/measured_waiting.h): shares of the user time. */
struct fm_picture_laboratory {
	bool used; /* cycles and shares of levels are by it */
	unsigned rounds;
	double covered;                 /* of the rounds, those that could place all lines */
	const char *problem;            /* of most others */
	double simulated;               /* the same share, as the simulated core has it */
	struct fm_figure waiting;       /* for lines that are not in the first cache */
	struct fm_figure beyond_second; /* … in neither of the first two */
};

struct fm_picture {
	const struct fm_recording *recording;
	const char *machine; /* its name */
	struct fm_part part;
	unsigned threads; /* active threads */
	uint64_t instances;
	struct fm_figure seconds;
	/* time on the simulated core; with several threads and native runs, the sum of their user times */
	struct fm_figure predicted_seconds;
	struct fm_figure user_seconds; /* measured user time, for comparison with the prediction */
	struct fm_picture_times times;
	struct fm_figure off; /* relative error of the prediction: predicted over measured user time, minus 1 */
	bool doubtful;        /* error above 30 %: the simulated machine does not fit the program */
	bool unchecked;       /* prediction without a measured time */
	/* share of the time that the engine did not observe, such as in generated code; 0: negligible. Otherwise counts
	   cover the rest, and there is no prediction. */
	double unseen;
	bool counted;      /* by counters, of this machine or of a simulated one */
	char differs[200]; /* difference between counted and timed run; "": none */
	struct fm_picture_level levels[FM_PICTURE_LEVELS];
	unsigned level_count;
	/* formula of the cycles that wait for loads, if it has limits; cycles are sums over threads */
	char cycles_source[200];
	struct fm_figure active, productive, stall, memory_bound, bandwidth_bound, latency_bound, other_stall;
	/* processor time of all threads in the kernel, measured, and predicted from page faults; apart from the times
	   above */
	struct fm_figure kernel_seconds, fault_seconds;
	struct fm_picture_signs signs;
	struct fm_picture_team team;
	struct fm_picture_laboratory laboratory;
	struct fm_picture_thread *per_thread; /* owned by the picture */
	unsigned thread_count;
};

void fm_picture_free(struct fm_picture *picture);

/* Appends a thread; false without memory. */
bool fm_picture_grow(struct fm_picture *picture, const struct fm_picture_thread *thread);

/* Sets the peak of a level (name, bytes and GB/s are given) for its mixture and a number of threads: measured, or from
   the description of the simulated machine. */
void fm_picture_measured_peak(const struct fm_machine *profile, struct fm_picture_level *level, unsigned threads);
void fm_picture_described_peak(const struct fm_machine_description *machine, struct fm_picture_level *level,
                               unsigned index, unsigned threads);

/* part / whole with the intervals of both; if one is unavailable, with its reason. */
struct fm_figure fm_picture_share(const struct fm_figure *part, const struct fm_figure *whole);

/* Builds the picture of a part; the recording must have the engine's counts. Free it with fm_picture_free(). */
void fm_picture_build(const struct fm_recording *recording, const struct fm_part *part, struct fm_picture *ret_picture);

/* Simulated cycles per second, including the effect of other threads on the core. */
double fm_picture_hertz(const struct fm_machine_description *machine, const struct fm_timing_counts *timing);

/* Sets the cycles of a picture from the counts of a simulated core. */
void fm_picture_cycles(const struct fm_machine_description *machine, const struct fm_timing_counts *timing,
                       struct fm_picture *picture);

/* The picture between two moments; it ends at *ret_at seconds of simulated time. False after the last. */
bool fm_picture_moment(const struct fm_recording *recording, unsigned index, struct fm_picture *ret_picture,
                       double *ret_at);

#endif
