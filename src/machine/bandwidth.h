/* Bandwidth of the streaming kernels: per level, kernel and instruction set, on one core and on several, and from each
   NUMA node to each. */
#ifndef FATHOM_MACHINE_BANDWIDTH_H
#define FATHOM_MACHINE_BANDWIDTH_H

#include "base/figure.h"
#include "kernels/kernel.h"
#include "machine/session.h"

/* What to measure, and the result. Gigabytes (10^9) that the kernel loads and stores, per second: write-allocate
   traffic is not part of it. */
struct fm_bandwidth {
	unsigned level; /* of the caller's list of levels; only carried along */
	enum fm_stream_kernel_index kernel;
	enum fm_isa isa;
	const struct fm_string_kernel *string; /* instead of kernel and isa; NULL: those */
	size_t piece; /* bytes of one string instruction, a multiple of FM_BLOCK_BYTES; 0: a whole stream */
	unsigned threads;
	size_t bytes;   /* all streams of one thread together */
	bool streaming; /* the data set is larger than the caches: one pass over fresh lines instead of many over warm
	                   ones */
	bool chunked;   /* of streaming on one thread: timed chunk by chunk, of which the median counts, so that a trial
	                   survives a visit of another task; what one instruction moves must fit into a chunk */
	struct fm_figure gbs;
};

int fm_bandwidth_measure(struct fm_machine_session *session, struct fm_bandwidth *list, unsigned count, double seconds,
                         struct fm_error *error);

/* One trial of one kernel on the calling thread, for benchmarks: streams of `bytes` together, `seconds` of work. */
int fm_bandwidth_once(enum fm_stream_kernel_index kernel, enum fm_isa isa, size_t bytes, double seconds,
                      double *ret_gbs, struct fm_error *error);

struct fm_numa_pair {
	unsigned cpu_node;
	unsigned memory_node;
	unsigned threads;
	struct fm_figure gbs;        /* load kernel, all our CPUs of the node */
	struct fm_figure latency_ns; /* one chain, first CPU of the node */
};

/* Every node that holds one of our CPUs to every node that holds memory. pairs has room for FM_NODES_MAX². */
int fm_numa_measure(struct fm_machine_session *session, size_t bytes, double seconds, struct fm_numa_pair *pairs,
                    unsigned *ret_count, struct fm_error *error);

#endif
