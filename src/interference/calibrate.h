/* Calibration of the takers: their measured effect on a program on one CPU, with takers on others. The result within
   the time limit may be "inconclusive". */
#ifndef FATHOM_INTERFERENCE_CALIBRATE_H
#define FATHOM_INTERFERENCE_CALIBRATE_H

#include <jansson.h>

#include "base/disturbance.h"
#include "base/watcher.h"
#include "interference/judge.h"
#include "interference/taker_places.h"
#include "interference/probe.h"

enum { FM_INTERFERENCE_TAKERS = 8 }; /* most CPUs for takers */

struct fm_interference_options {
	struct fm_cpu_list program; /* the CPUs of the program; none: one is chosen */
	double seconds;             /* time limit; 0: CALIBRATION_USUAL */
	uint64_t seed;
	struct fm_watcher watcher;
};

struct fm_interference {
	char taken[32]; /* time, UTC */
	char processor[96];
	char level[12];           /* the shared cache, as advertised */
	uint64_t cache_bytes;     /* advertised */
	uint64_t private_bytes;   /* of the last private cache */
	uint64_t effective_bytes; /* capacity for a program, including private caches, by first trials */
	unsigned program_cpu;     /* of the measurement */
	unsigned taker_count, taker_cpus[FM_INTERFERENCE_TAKERS];
	bool shares_cache;        /* as advertised */
	bool huge_pages, counted; /* misses were counted, not estimated from times */
	struct fm_probe_times times;
	struct fm_interference_axis capacity, bandwidth;
	struct fm_disturbance disturbance;
	unsigned blocks;
	double seconds; /* duration */
	char remark[240];
	char capacity_statement[320], bandwidth_statement[320];
};

/* -ENOTSUP without CPUs for takers, -ENOMEM without free memory, -EINTR if interrupted. Call it in a thread with the
   life of the tool; the thread is pinned meanwhile. */
int fm_interference_calibrate(const struct fm_interference_options *options, struct fm_interference **ret_calibration,
                              struct fm_error *error);

/* True if at least one step is offered. */
bool fm_interference_is_useful(const struct fm_interference *calibration);

/* Checks a saved calibration in a few seconds. False with a reason if the machine or the effect of the takers
   differs. */
bool fm_interference_holds(const struct fm_interference *calibration, const struct fm_interference_options *options,
                           char *why, size_t size);

/* Starts the takers of a calibration, all off. fm_interference_set() selects a step of one axis; NULL: none. */
struct fm_takers;
int fm_interference_start(const struct fm_interference *calibration, struct fm_takers **ret_takers,
                          struct fm_error *error);
void fm_interference_set(const struct fm_interference *calibration, struct fm_takers *takers, enum fm_taker_kind kind,
                         const struct fm_interference_step *step);

/* Converts to JSON, for --json and the file; a new reference. From JSON: checks every member, -EBADMSG. */
json_t *fm_interference_to_json(const struct fm_interference *calibration);
int fm_interference_from_json(const json_t *root, struct fm_interference **ret_calibration, struct fm_error *error);

/* Saves and loads the file beside the machine profile. -ENOENT without a file, -EBADMSG for invalid content. */
int fm_interference_save(const struct fm_interference *calibration, struct fm_error *error);
int fm_interference_load(struct fm_interference **ret_calibration, struct fm_error *error);

#endif
