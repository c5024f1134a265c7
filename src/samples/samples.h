/* Analysis of sampled references: objects, routines, source lines, regions, threads, each with share, levels and costs.
   Computed once; prints nothing. The weight of a sample is processor time, and shares are shares of that time: more
   references in the same time give no more samples. */
#ifndef FATHOM_SAMPLES_SAMPLES_H
#define FATHOM_SAMPLES_SAMPLES_H

#include "recording/recording.h"
#include "samples/pattern.h"
#include "samples/served.h"

/* Selects samples; an unset filter keeps all. Shares are relative to the selected samples. */
struct fm_samples_filter {
	const char *object; /* part of the name, or a pattern with * and ? */
	const char *thread; /* the kernel's number, or a name or pattern */
	const char *region; /* a marked region; if none has the name, a function anywhere in the call stack */
	bool timed;
	double begin, end; /* seconds since the start of the recording */
};

enum fm_samples_answer { FM_ANSWER_INCONCLUSIVE, FM_ANSWER_YES, FM_ANSWER_NO };

enum fm_samples_use {
	FM_USE_INCONCLUSIVE,
	FM_USE_PRIVATE,        /* one thread, as far as samples show */
	FM_USE_SHARED_READ,    /* several threads; no store was sampled */
	FM_USE_SHARED_WRITTEN, /* several threads, at least one of them writes */
};

struct fm_sampled_object {
	uint32_t kind; /* enum fm_memory_kind */
	char name[FM_FUNCTION + 16];
	char group_name[FM_NAME];
	char type[FM_NAME];
	char module[64];
	char site[320];
	uint64_t bytes;       /* of a pool: bytes of the largest */
	double count;         /* allocations, or 1 */
	double began, ended;  /* of the first and of the last */
	double mean_lifetime; /* seconds */
	struct fm_served served;
	struct fm_figure assigned; /* share observed in untracked memory and counted here; else not available */
	enum fm_samples_answer read_only;
	enum fm_samples_use use;
	unsigned threads; /* threads observed with it */
	bool divided;     /* each thread uses its own part */
	struct fm_pattern_verdict pattern;
};

struct fm_sampled_routine {
	char function[FM_FUNCTION];
	char module[64];
	struct fm_served self, inclusive;
};

struct fm_sampled_line {
	char file[256];
	int64_t line; /* 0: only the function is known */
	char function[FM_FUNCTION];
	char inlined[FM_FUNCTION];
	char chain[320];
	char module[64];
	int64_t object; /* index of the object with most of its references; -1: none */
	struct fm_served served;
	struct fm_pattern_verdict pattern;
};

struct fm_sampled_region {
	char name[FM_NAME];
	uint64_t instances;
	double seconds; /* wall clock, sum over the instances */
	struct fm_served served;
};

struct fm_sampled_by_thread {
	uint32_t thread; /* index in sampled_threads */
	struct fm_served served;
};

/* A thread's references to one of the heaviest objects. */
struct fm_sampled_sharing {
	uint32_t object, thread; /* indexes of the objects above, and of sampled_threads */
	uint64_t samples;
	struct fm_figure share;         /* of all references */
	struct fm_figure loads, stores; /* of the thread's references to this object */
};

struct fm_sampled_missed {
	char reason[96];
	uint64_t count;
	double seconds;
	double share;               /* of the processor time */
	char function[FM_FUNCTION]; /* function with most of it; "": not known */
	char module[64];
};

struct fm_samples {
	const struct fm_recording *recording;
	struct fm_served_model *model;
	char filter[400]; /* in words; "": none */
	double filtered;  /* share of the selected samples, by weight */
	struct fm_served whole;
	struct fm_sampled_object *objects;
	struct fm_sampled_routine *routines;
	struct fm_sampled_line *lines;
	struct fm_sampled_region *regions;
	struct fm_sampled_by_thread *threads;
	struct fm_sampled_sharing *sharing;
	struct fm_sampled_missed *missed;
	/* most references first; sharing by object */
	size_t object_count, routine_count, line_count, region_count, thread_count, sharing_count, missed_count;
	double missed_share; /* of the processor time, all reasons */
	char (*warnings)[400];
	size_t warning_count;
	uint8_t *levels; /* most likely level of each sample of the recording; 0: not known, or not selected */
	/* from rows of the recording to the tables above; UINT32_MAX: no selected sample refers to the row */
	uint32_t *object_of;  /* by memory; the last entry is for samples without memory */
	uint32_t *line_of;    /* by code */
	uint32_t *routine_of; /* by code */
	/* by code: pool of its references to untracked memory, UINT32_MAX: not known; and the number of references as
	   evidence. NULL: none */
	uint32_t *pool_of, *pool_met;
	uint8_t *left; /* by sample: 1 if selected; NULL: no filter */
};

/* Analyses a settled recording with samples (sampling.sampler), which must outlive the result. -EINVAL if no sample
   matches the filter, -EBADMSG for a damaged recording. `filter` may be NULL. */
int fm_samples_analyse(const struct fm_recording *recording, const struct fm_samples_filter *filter,
                       struct fm_samples **ret_samples, struct fm_error *error);
void fm_samples_free(struct fm_samples *samples);

/* The memory that a sample counts for: its own, or the pool of its untracked memory. recording->memories_count: not
   known. */
size_t fm_samples_memory(const struct fm_samples *samples, const struct fm_recorded_sample *sample);

const char *fm_samples_use_name(enum fm_samples_use use);
const char *fm_memory_kind_name(uint32_t kind);

#endif
