/* The machine profile: what this machine can really do. Characterised once, saved, and used by everything else. */
#ifndef FATHOM_MACHINE_MACHINE_H
#define FATHOM_MACHINE_MACHINE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/watcher.h"
#include "base/disturbance.h"
#include "base/error.h"
#include "base/figure.h"
#include "machine/bandwidth.h"
#include "machine/bandwidth_curve.h"
#include "machine/concurrency.h"
#include "machine/contention.h"
#include "machine/core.h"
#include "machine/family.h"
#include "machine/kept.h"
#include "machine/latency.h"
#include "machine/peak.h"
#include "machine/prefetch.h"
#include "machine/session.h"
#include "machine/string_stores.h"
#include "machine/topology.h"
#include "machine/touch.h"
#include "machine/translation.h"
#include "machine/ways.h"

struct fm_level {
	char name[12];             /* L1, L2, L3, memory */
	uint64_t advertised_bytes; /* 0 for memory */
	unsigned shared_by;        /* CPUs */
	struct fm_figure effective_bytes;
	struct fm_figure latency_ns; /* huge pages where there are any */
	struct fm_figure latency_cycles;
	struct fm_figure latency_small_pages_ns;
	struct fm_figure life_ns; /* of the last cache, of the moment (machine/neighbours.h) */
	uint64_t measured_bytes;  /* the data-set size the latencies were measured at */
	/* No data-set size shows this cache alone: the latency climbs from the level above to the one below. Latency
	   and capacity are then intervals as wide as the climb, and bandwidth is measured in its middle. */
	bool no_plateau;
};

/* How far off simulated counts and the times predicted from them are, by kernels that ran on this machine. Relative
   errors; cases is 0 when nobody has checked. */
struct fm_combination {
	unsigned cases;
	double count_median, count_most; /* of the bytes moved, against what the kernels declare; most: nine tenths */
	double time_median, time_most;   /* of the time, against the measured one */
};

/* Kernels that are measured on small pages, too. */
enum { FM_SMALL_PAGES_LOAD, FM_SMALL_PAGES_STORE, FM_SMALL_PAGES_KERNELS };
extern const enum fm_stream_kernel_index fm_small_pages_kernels[FM_SMALL_PAGES_KERNELS];

struct fm_machine {
	char taken[32]; /* when, UTC */
	enum fm_effort effort;
	uint64_t seed;
	struct fm_topology topology;
	struct fm_cpu_list cpus;
	struct fm_disturbance disturbance;
	struct fm_figure frequency_ghz;
	double
	    profiled_ghz; /* 0: the same; else it follows the clock of now (machine/clock.h), and this was measured */
	struct fm_level levels[FM_LEVELS_MAX];
	unsigned level_count;
	struct fm_latency_curve curves[FM_PAGES_COUNT];
	struct fm_bandwidth *bandwidths;
	unsigned bandwidth_count;
	struct fm_parallel_point parallel[FM_PARALLEL_POINTS_MAX];
	unsigned parallel_count;
	struct fm_figure outstanding_misses;
	struct fm_bandwidth_curve bandwidth_curve;
	struct fm_loaded_point loaded[FM_LOAD_POINTS_MAX];
	unsigned loaded_count;
	struct fm_figure loaded_why; /* when there are none */
	struct fm_transfer *transfers;
	unsigned transfer_count;
	struct fm_figure transfers_why;
	struct fm_contention_point contentions[FM_CONTENTION_POINTS_MAX];
	unsigned contention_count;
	struct fm_figure contention_why; /* when there are none */
	struct fm_numa_pair *numa;
	unsigned numa_count;
	struct fm_combination combination;
	struct fm_string_stores string_stores;
	bool core_measured;
	struct fm_figure core[FM_CORE_PARAMETERS];
	struct fm_figure translation[FM_TRANSLATION_PARAMETERS]; /* pages of 4 KiB */
	struct fm_figure ways[FM_WAYS_COUNT];
	bool translation_huge_measured;
	struct fm_figure translation_huge[FM_TRANSLATION_PARAMETERS]; /* pages of 2 MiB */
	/* GB/s of memory on pages of 4 KiB, one thread, the widest instructions: most programs have no other pages, and
	   prefetchers may stop at their ends */
	struct fm_figure small_pages[FM_SMALL_PAGES_KERNELS];
	bool huge_always; /* the kernel gives everybody huge pages where it can */
	bool touch_measured;
	struct fm_figure touch[FM_TOUCH_PARAMETERS];
	bool prefetch_measured;
	struct fm_figure prefetch[FM_PREFETCH_PARAMETERS];
	struct fm_kept kept[FM_KEPT_PARTS];
};

struct fm_characterise_options {
	enum fm_effort effort;
	double budget_seconds; /* 0: 9, 55 or unbounded, by effort */
	struct fm_cpu_list cpus;
	bool choose_first; /* which of them the core is measured on: one whose core is idle; else the first */
	uint64_t seed;
	double tolerate; /* largest share of disturbed trials that still makes a profile */
	struct fm_watcher watcher;
	/* of the same machine, or NULL: with quick effort parts of it are kept (kept.def) */
	const struct fm_machine *earlier;
};

/* -EINTR when interrupted, -EBUSY when the machine was disturbed beyond use. */
int fm_machine_characterise(const struct fm_characterise_options *options, struct fm_machine **ret_machine,
                            struct fm_error *error);
void fm_machine_free(struct fm_machine *machine);

/* What `fathom machine --json` prints and what the profile holds. A new reference. */
json_t *fm_machine_to_json(const struct fm_machine *machine);

/* Every member is checked; a file of another kind or a damaged one gives -EBADMSG and a reason. */
int fm_machine_from_json(const json_t *root, struct fm_machine **ret_machine, struct fm_error *error);

/* Where the profile of this host is kept: $XDG_DATA_HOME/fathom/machines/<host>.json, since home directories are often
   shared between hosts. -ENOENT when there is no home. The path is allocated. */
int fm_profile_default_path(char **ret_path, struct fm_error *error);
int fm_profile_save(const char *path, const struct fm_machine *machine, struct fm_error *error);
int fm_profile_load(const char *path, struct fm_machine **ret_machine, struct fm_error *error);

const char *fm_effort_name(enum fm_effort effort);

/* All that `fathom machine --core` prints, in order, and beside each what is published of the family. */
struct fm_core_figure {
	const char *name, *words, *unit;
	const struct fm_figure *figure;
	struct fm_figure published;
};

unsigned fm_machine_core_figures(const struct fm_machine *machine);
struct fm_core_figure fm_machine_core_figure(const struct fm_machine *machine, unsigned index);

/* The level called `name`, or NULL. */
const struct fm_level *fm_machine_level(const struct fm_machine *machine, const char *name);

#endif
