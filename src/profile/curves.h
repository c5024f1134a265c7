/* Rows and curves of a profile: bandwidth of kernels, latency against size and under load, parallel requests and cores.
 */
#ifndef FATHOM_PROFILE_CURVES_H
#define FATHOM_PROFILE_CURVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/figure.h"
#include "profile/parameters.h"
#include "streams/streams.h"

enum fm_pages {
	FM_PAGES_HUGE,  /* 2 MiB, transparent */
	FM_PAGES_SMALL, /* 4 KiB */
	FM_PAGES_COUNT
};

const char *fm_pages_name(enum fm_pages pages);

struct fm_latency_point {
	size_t bytes;
	struct fm_figure ns;
};

struct fm_latency_curve {
	enum fm_pages pages;
	struct fm_latency_point *points; /* sorted by size */
	unsigned count;
	struct fm_figure why; /* the reason for an empty curve */
};

void fm_latency_curve_free(struct fm_latency_curve *curve);

/* The request for a measurement and its result: loads and stores of the kernel in GB/s (10^9 bytes), without
   write-allocate traffic. */
struct fm_bandwidth {
	unsigned level; /* index in the caller's list of levels */
	enum fm_stream_kernel_index kernel;
	enum fm_isa isa;
	const struct fm_stream_kernel *string; /* of fm_strings; NULL: kernel and isa are used */
	size_t piece; /* bytes of one string instruction, a multiple of a block; 0: a whole stream */
	unsigned threads;
	size_t bytes;   /* all streams of a thread */
	bool streaming; /* the data set exceeds the caches: one pass over new lines instead of several over cached ones
	                 */
	bool chunked;   /* of streaming on one thread: the median of chunks counts, so that an interrupted trial is
	                   usable; the bytes of an instruction must fit into a chunk */
	struct fm_figure gbs;
};

struct fm_numa_pair {
	unsigned cpu_node;
	unsigned memory_node;
	unsigned threads;
	struct fm_figure gbs;        /* load kernel on all allowed CPUs of the node */
	struct fm_figure latency_ns; /* one chain, first CPU of the node */
};

/* Mixtures of reads and writes. */
struct fm_mix {
	enum fm_stream_kernel_index kernel;
	char sign;
};

enum fm_mix_index {
#define MIX(kernel, sign) FM_MIX_##kernel,
#include "profile/mixes.def"
	FM_MIXES
};

extern const struct fm_mix fm_mixes[FM_MIXES]; /* by rising share of writes */

bool fm_mix_is(enum fm_stream_kernel_index kernel);

struct fm_bandwidth_curve_point {
	unsigned threads; /* one of them follows a chain, the others transfer data */
	enum fm_stream_kernel_index kernel;
	double rate;                  /* share of the time with transfers by the others, 0 … 1 */
	struct fm_figure traffic_gbs; /* of all threads, write-allocate included */
	struct fm_figure latency_ns;
};

enum { FM_BANDWIDTH_CURVE_MAX = 512 };

struct fm_bandwidth_curve {
	struct fm_bandwidth_curve_point *points; /* owned */
	unsigned count;
	struct fm_figure why; /* the reason for an empty curve */
};

void fm_bandwidth_curve_free(struct fm_bandwidth_curve *curve);

struct fm_parallel_point {
	unsigned chains;
	struct fm_figure ns_per_load;
};

enum { FM_PARALLEL_POINTS_MAX = 32, FM_LOAD_POINTS_MAX = 8 };

struct fm_loaded_point {
	struct fm_figure traffic_gbs; /* of the other CPUs */
	struct fm_figure latency_ns;  /* with that traffic */
};

/* The part of the bandwidth–latency curve with a chase on the first CPU and reads of all others at rising rates.
   Returns the number of points. */
unsigned fm_loaded_points(const struct fm_bandwidth_curve *curve, unsigned cpus, struct fm_loaded_point *points);

struct fm_transfer {
	unsigned from_cpu;
	unsigned to_cpu;
	struct fm_figure ns; /* one way */
};

struct fm_contention_point {
	unsigned threads;
	enum fm_contention_kind kind;
	/* Time of an operation of a thread. All threads together complete one every ns / threads. */
	struct fm_figure ns;
};

enum { FM_CONTENTION_POINTS_MAX = 32 };

enum { FM_STRING_POINTS_MAX = 16 };

struct fm_string_stores {
	/* Share of the overwritten lines that are read first, 0 … 1. Modelled from times; not available, with the
	   reason, if these do not differ clearly. For instructions of short_bytes … */
	struct fm_figure clear_allocates; /* rep stos */
	struct fm_figure copy_allocates;  /* rep movs */
	/* … and of long_bytes, more than any cache holds: some processors change their behaviour with the length. */
	struct fm_figure clear_long_allocates;
	struct fm_figure copy_long_allocates;
	uint64_t short_bytes, long_bytes;
	struct fm_bandwidth points[FM_STRING_POINTS_MAX]; /* timings on one thread */
	unsigned point_count;                             /* 0: not measured */
};

#endif
