/* What takers take on this machine, measured: from a program on one CPU, with takers on others. It ends within a time
   limit with a statement that is true, whatever it is. */
#ifndef FATHOM_INTERFERENCE_CALIBRATE_H
#define FATHOM_INTERFERENCE_CALIBRATE_H

#include <jansson.h>

#include "base/disturbance.h"
#include "base/watcher.h"
#include "interference/judge.h"
#include "interference/taker_places.h"
#include "interference/probe.h"

enum { FM_INTERFERENCE_TAKERS = 8 }; /* CPUs for takers, at most */

struct fm_interference_options {
	struct fm_cpu_list program; /* the CPUs it is pinned to; none: one is chosen */
	double seconds;             /* the most it may take; 0: 50 */
	uint64_t seed;
	struct fm_watcher watcher;
};

struct fm_interference {
	char taken[32]; /* when, UTC */
	char processor[96];
	char level[12];           /* the cache that is shared, as far as the machine says */
	uint64_t cache_bytes;     /* advertised */
	uint64_t private_bytes;   /* of the cache before it */
	uint64_t effective_bytes; /* what a program has of it and of the caches before, by first trials */
	unsigned program_cpu;     /* on which it was measured */
	unsigned taker_count, taker_cpus[FM_INTERFERENCE_TAKERS];
	bool shares_cache;        /* … by what the machine says */
	bool huge_pages, counted; /* misses were counted, not told from time */
	struct fm_probe_times times;
	struct fm_interference_axis capacity, bandwidth;
	struct fm_disturbance disturbance;
	unsigned blocks;
	double seconds; /* it took */
	char remark[240];
	char capacity_statement[320], bandwidth_statement[320];
};

/* -ENOTSUP without CPUs for takers, -ENOMEM without free memory, -EINTR when interrupted. To be called by the thread
   that lives as long as the tool; it is pinned meanwhile. */
int fm_interference_calibrate(const struct fm_interference_options *options, struct fm_interference **ret_calibration,
                              struct fm_error *error);

/* Is there anything that can be taken? */
bool fm_interference_is_useful(const struct fm_interference *calibration);

/* Quickly, in a few seconds: does a kept calibration still hold? False when the machine is another, or takers take
   something else than they did. Why is said. */
bool fm_interference_holds(const struct fm_interference *calibration, const struct fm_interference_options *options,
                           char *why, size_t size);

/* The takers of a calibration, all of them off; and a step of one of its axes, or none. */
struct fm_takers;
int fm_interference_start(const struct fm_interference *calibration, struct fm_takers **ret_takers,
                          struct fm_error *error);
void fm_interference_set(const struct fm_interference *calibration, struct fm_takers *takers, enum fm_taker_kind kind,
                         const struct fm_interference_step *step);

/* What --json prints of it, and what is kept. A new reference; the reverse checks every member, -EBADMSG. */
json_t *fm_interference_to_json(const struct fm_interference *calibration);
int fm_interference_from_json(const json_t *root, struct fm_interference **ret_calibration, struct fm_error *error);

/* Kept beside the machine profile. -ENOENT when there is none; what is read is checked. */
int fm_interference_save(const struct fm_interference *calibration, struct fm_error *error);
int fm_interference_load(struct fm_interference **ret_calibration, struct fm_error *error);

#endif
