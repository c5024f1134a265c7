/* The machine profile: measured properties of this machine, saved and used by all other parts. */
#ifndef FATHOM_PROFILE_MACHINE_H
#define FATHOM_PROFILE_MACHINE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/disturbance.h"
#include "base/error.h"
#include "base/figure.h"
#include "profile/curves.h"
#include "profile/kept.h"
#include "profile/levels.h"
#include "profile/topology.h"

enum fm_effort { FM_EFFORT_QUICK, FM_EFFORT_DEFAULT, FM_EFFORT_FULL };

struct fm_level {
	char name[12];             /* L1, L2, L3, memory */
	uint64_t advertised_bytes; /* 0 for memory */
	unsigned shared_by;        /* CPUs */
	struct fm_figure effective_bytes;
	struct fm_figure latency_ns; /* on huge pages if available */
	struct fm_figure latency_cycles;
	struct fm_figure latency_small_pages_ns;
	struct fm_figure life_ns; /* of the last cache at the moment (measure/host_load.h) */
	uint64_t measured_bytes;  /* data-set size of the latencies */
	/* No data-set size shows this cache alone: the latency climbs from the level above to the one below. Latency
	   and capacity are intervals of that width, and bandwidth is measured in the middle. */
	bool no_plateau;
};

/* Relative errors of simulated counts and predicted times, by kernels on this machine; cases is 0 without a check. */
struct fm_combination {
	unsigned cases;
	double count_median,
	    count_most; /* error of the moved bytes against the declared ones; most: of nine tenths of the cases */
	double time_median, time_most; /* error of the time against the measured one */
};

/* Kernels that are also measured on small pages. */
enum { FM_SMALL_PAGES_LOAD, FM_SMALL_PAGES_STORE, FM_SMALL_PAGES_KERNELS };
extern const enum fm_stream_kernel_index fm_small_pages_kernels[FM_SMALL_PAGES_KERNELS];

struct fm_machine {
	char taken[32]; /* time, UTC */
	enum fm_effort effort;
	uint64_t seed;
	struct fm_topology topology;
	struct fm_cpu_list cpus;
	struct fm_disturbance disturbance;
	struct fm_figure frequency_ghz;
	double
	    profiled_ghz; /* 0: frequency_ghz; else the measured clock, and frequency_ghz is the clock of the moment */
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
	struct fm_figure loaded_why; /* reason without points */
	struct fm_transfer *transfers;
	unsigned transfer_count;
	struct fm_figure transfers_why;
	struct fm_contention_point contentions[FM_CONTENTION_POINTS_MAX];
	unsigned contention_count;
	struct fm_figure contention_why; /* reason without figures */
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
	/* GB/s of memory on pages of 4 KiB, one thread, the widest instructions: pages of most programs, at whose ends
	   prefetchers may stop */
	struct fm_figure small_pages[FM_SMALL_PAGES_KERNELS];
	bool huge_always; /* the kernel uses huge pages without a request */
	bool touch_measured;
	struct fm_figure touch[FM_TOUCH_PARAMETERS];
	bool prefetch_measured;
	struct fm_figure prefetch[FM_PREFETCH_PARAMETERS];
	struct fm_kept kept[FM_KEPT_PARTS];
};

void fm_machine_free(struct fm_machine *machine);

/* The JSON of `fathom machine --json` and of the profile. A new reference. */
json_t *fm_machine_to_json(const struct fm_machine *machine);

/* Reads and checks all members. -EBADMSG with a reason for a file of another kind or a damaged one. */
int fm_machine_from_json(const json_t *root, struct fm_machine **ret_machine, struct fm_error *error);

/* The allocated path of this host's profile: $XDG_DATA_HOME/fathom/machines/<host>.json, since hosts often share home
   directories. -ENOENT without a home. */
int fm_profile_default_path(char **ret_path, struct fm_error *error);
int fm_profile_save(const char *path, const struct fm_machine *machine, struct fm_error *error);
int fm_profile_load(const char *path, struct fm_machine **ret_machine, struct fm_error *error);

const char *fm_effort_name(enum fm_effort effort);

/* The figures of `fathom machine --core`, in order, with the published ones of the family. */
struct fm_core_figure {
	const char *name, *words, *unit;
	const struct fm_figure *figure;
	struct fm_figure published;
};

unsigned fm_machine_core_figures(const struct fm_machine *machine);
struct fm_core_figure fm_machine_core_figure(const struct fm_machine *machine, unsigned index);

/* Finds a level by name; NULL: none. */
const struct fm_level *fm_machine_level(const struct fm_machine *machine, const char *name);

#endif
