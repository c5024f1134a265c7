/* What sampled references say: objects, routines, source lines, regions, threads, each with its share, its levels and
   its costs. Computed once; nothing is printed. Each sample stands for some processor time (its weight), and shares are
   shares of that: a program that makes twice the references in the same time has no more samples. */
#ifndef FATHOM_SAMPLES_SAMPLES_H
#define FATHOM_SAMPLES_SAMPLES_H

#include "recording/recording.h"
#include "samples/pattern.h"
#include "samples/served.h"

/* Only these samples; what is not set leaves all. Shares are then shares of what is left. */
struct fm_samples_filter {
	const char *object; /* part of the name, or a pattern with * and ? */
	const char *thread; /* the kernel's number, or a name or pattern */
	const char *region; /* a marked region; if there is none of that name, a function anywhere in the call stack */
	bool timed;
	double begin, end; /* seconds since the recording began */
};

enum fm_samples_answer { FM_ANSWER_INCONCLUSIVE, FM_ANSWER_YES, FM_ANSWER_NO };

enum fm_samples_use {
	FM_USE_INCONCLUSIVE,
	FM_USE_PRIVATE,        /* one thread, as far as samples show */
	FM_USE_SHARED_READ,    /* several; no store was sampled */
	FM_USE_SHARED_WRITTEN, /* several, and at least one writes */
};

struct fm_sampled_object {
	uint32_t kind; /* enum fm_memory_kind */
	char name[FM_FUNCTION + 16];
	char group_name[FM_NAME];
	char type[FM_NAME];
	char module[64];
	char site[320];
	uint64_t bytes;       /* of the largest, where it stands for several */
	double count;         /* allocations, or 1 */
	double began, ended;  /* of the first, and of the last */
	double mean_lifetime; /* seconds */
	struct fm_served served;
	struct fm_figure assigned; /* share that was seen in untracked memory and is counted here; else not available */
	enum fm_samples_answer read_only;
	enum fm_samples_use use;
	unsigned threads; /* that were seen using it */
	bool divided;     /* each thread uses a part of its own */
	struct fm_pattern_verdict pattern;
};

struct fm_sampled_routine {
	char function[FM_FUNCTION];
	char module[64];
	struct fm_served self, inclusive;
};

struct fm_sampled_line {
	char file[256];
	int64_t line; /* 0: not known, then only the function is */
	char function[FM_FUNCTION];
	char inlined[FM_FUNCTION];
	char chain[320];
	char module[64];
	int64_t object; /* index of the one it refers to most; -1 */
	struct fm_served served;
	struct fm_pattern_verdict pattern;
};

struct fm_sampled_region {
	char name[FM_NAME];
	uint64_t instances;
	double seconds; /* of the wall clock, of all instances together */
	struct fm_served served;
};

struct fm_sampled_by_thread {
	uint32_t thread; /* index in sampled_threads */
	struct fm_served served;
};

/* A thread's references to one of the heaviest objects. */
struct fm_sampled_sharing {
	uint32_t object, thread; /* indexes: of the objects above, of sampled_threads */
	uint64_t samples;
	struct fm_figure share;         /* of all references */
	struct fm_figure loads, stores; /* of the thread's to this object */
};

struct fm_sampled_missed {
	char reason[96];
	uint64_t count;
	double seconds;
	double share;               /* of the processor time */
	char function[FM_FUNCTION]; /* where most of it was; "": not known */
	char module[64];
};

struct fm_samples {
	const struct fm_recording *recording;
	struct fm_served_model *model;
	char filter[400]; /* in words; "": none */
	double filtered;  /* share of the samples that are left, by weight */
	struct fm_served whole;
	struct fm_sampled_object *objects;
	struct fm_sampled_routine *routines;
	struct fm_sampled_line *lines;
	struct fm_sampled_region *regions;
	struct fm_sampled_by_thread *threads;
	struct fm_sampled_sharing *sharing;
	struct fm_sampled_missed *missed;
	/* most references first, but sharing: by object */
	size_t object_count, routine_count, line_count, region_count, thread_count, sharing_count, missed_count;
	double missed_share; /* of the processor time, all reasons */
	char (*warnings)[400];
	size_t warning_count;
	uint8_t *levels; /* of each sample of the recording, most likely; 0: not known, or not in the filter */
	/* where rows of the recording are in the tables above; UINT32_MAX: nowhere, since no chosen sample refers to
	 * them */
	uint32_t *object_of;  /* of each memory, and at last of samples without one */
	uint32_t *line_of;    /* of each code */
	uint32_t *routine_of; /* of each code */
	/* of each code: the pool that its references to untracked memory belong to, UINT32_MAX: not known; and how many
	   references tell so. NULL: of none */
	uint32_t *pool_of, *pool_met;
	uint8_t *left; /* of each sample: 1 when the filter leaves it; NULL: there was no filter */
};

/* The recording must be settled, have samples (sampling.sampler), and outlive the result. -EINVAL when nothing matches
   the filter, -EBADMSG for a damaged recording. `filter` may be NULL. */
int fm_samples_analyse(const struct fm_recording *recording, const struct fm_samples_filter *filter,
                       struct fm_samples **ret_samples, struct fm_error *error);
void fm_samples_free(struct fm_samples *samples);

/* The memory that a sample counts for: its own, or the pool that its untracked one belongs to.
   recording->memories_count: none is known. */
size_t fm_samples_memory(const struct fm_samples *samples, const struct fm_recorded_sample *sample);

const char *fm_samples_use_name(enum fm_samples_use use);
const char *fm_memory_kind_name(uint32_t kind);

#endif
