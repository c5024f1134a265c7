/* Folding: all instances of a region, each with few samples, are superimposed to one instance with many samples.
   Instances are grouped by length (modes); the others are excluded and counted. A sample gets its place within its
   instance, 0 … 1, and keeps its code, object and cost. Addresses are relative to their object, so that processes with
   randomised addresses are comparable. */
#ifndef FATHOM_FOLD_FOLD_H
#define FATHOM_FOLD_FOLD_H

#include "samples/samples.h"

enum {
	FM_FOLD_POINTS = 64, /* points of each fitted rate, at (i + 0.5) / FM_FOLD_POINTS */
	FM_FOLD_RATES = FM_SERVED_CLASSES + 4,
	FM_FOLD_NONE = -1,
};

/* The unit of lengths and places. Samples of the engine have no native time, so references are used. */
enum fm_fold_clock { FM_FOLD_SECONDS, FM_FOLD_REFERENCES };

/* One pass of a thread through a region. */
struct fm_fold_instance {
	uint32_t thread;     /* index in sampled_threads */
	double began, ended; /* seconds since the recording began */
	double length;       /* seconds or references */
	int32_t mode;        /* FM_FOLD_NONE: excluded */
};

/* A sample in the folded instance, compact; fm_fold_sample() adds the rest. */
struct fm_folded {
	uint32_t sample;   /* index in the recording */
	uint32_t instance; /* index in the region's instances */
	float place;       /* 0 … 1 */
};

/* A folded sample with all its data. */
struct fm_folded_sample {
	double place;     /* 0 … 1 */
	double at;        /* place × the mode's usual length: seconds or references */
	uint32_t thread;  /* index in sampled_threads */
	int64_t line;     /* index in samples->lines, FM_FOLD_NONE */
	int64_t routine;  /* index in samples->routines, FM_FOLD_NONE */
	int64_t object;   /* index in samples->objects, FM_FOLD_NONE */
	uint64_t address; /* relative to its object: fm_fold_relative() */
	bool relative;    /* false: the address is absolute, since the object has no beginning (untracked memory) */
	bool load, store; /* a reference may be both */
	unsigned level;   /* most likely level, from 1; 0: unknown */
	double cost;      /* cycles or ticks above a hit; negative: unknown */
	double weight;    /* seconds of processor time, or references; 0: sample for levels only */
	unsigned bytes;   /* of the access */
};

/* A part of the folded instance with its own code. */
struct fm_fold_phase {
	double begin, end;        /* places */
	int64_t line;             /* most observed: index in samples->lines */
	double line_share;        /* of the phase's samples */
	struct fm_figure seconds; /* duration in one instance; not available if the clock is references */
	struct fm_served served;  /* share of the mode's references */
};

/* Shares and costs over the folded instance, fitted within phases; intervals are of 95 %. */
struct fm_fold_rate {
	char name[FM_SERVED_NAME]; /* "stores", a level, "mean cost", "TLB misses", "references" */
	char unit[12];             /* "": a share */
	struct fm_figure points[FM_FOLD_POINTS];
};

/* Instances of about the same length, folded. */
struct fm_fold_mode {
	uint64_t instances;
	struct fm_figure length; /* usual, with its interval; unit "s" or "references" */
	double shortest, longest;
	struct fm_folded *samples; /* by place */
	size_t sample_count;
	size_t references; /* samples that count as references */
	struct fm_served served;
	struct fm_fold_phase *phases;
	size_t phase_count;
	struct fm_fold_rate *rates; /* by fm_fold_add_rates() */
	size_t rate_count;
	char why[160]; /* reason why it was not folded; "": folded */
};

struct fm_fold_region {
	char name[FM_NAME];
	bool found;        /* not marked: detected iterations */
	double confidence; /* of the detection, 0 … 1; 1 for marked regions */
	struct fm_fold_instance *instances;
	size_t instance_count;
	uint64_t set_aside;       /* instances outside of all modes */
	uint64_t unfinished;      /* instances without a length: not ended, or without references */
	struct fm_figure seconds; /* wall-clock time of an instance: median with its interval */
	struct fm_figure length;  /* length of an instance, likewise: seconds on the processor, or references */
	int64_t line;             /* most observed: index in samples->lines */
	double line_share;
	struct fm_fold_mode *modes; /* most instances first */
	size_t mode_count;
	char why[160]; /* reason without modes; "": none */
};

struct fm_stream;
struct fm_working_set;
struct fm_fold_finding;

struct fm_fold {
	const struct fm_samples *samples;
	enum fm_fold_clock clock;
	size_t gaps; /* times of threads off the processor: excluded from lengths and places, part of `seconds` */
	struct fm_fold_region *regions; /* most references first; the last region may be detected iterations */
	size_t region_count;
	char why[200]; /* reason if no region was folded; else "" */
	/* References outside of folded regions if they are a tenth or more; the whole run if nothing was folded. One
	   instance with one phase; places refer to the whole run. `samples` are freed after use. Empty without counted
	   samples. */
	struct fm_fold_mode rest;
	/* fold/streams.h */
	struct fm_stream *streams;
	size_t stream_count;
	struct fm_working_set *working_sets;
	size_t working_set_count;
	/* fold/findings.h: largest gain first */
	struct fm_fold_finding *findings;
	size_t finding_count;
};

/* Folds all regions. `samples` must outlive the result. 0 or -ENOMEM. */
int fm_fold_make(const struct fm_samples *samples, struct fm_fold **ret_fold, struct fm_error *error);
void fm_fold_free(struct fm_fold *fold);

/* Computes `rates`, for output that shows them: this doubles the run time. 0 or -ENOMEM. */
int fm_fold_add_rates(struct fm_fold *fold, struct fm_error *error);

/* The mode of a stream or working set, by region and mode index. */
const struct fm_fold_mode *fm_fold_mode_of(const struct fm_fold *fold, int64_t region, uint32_t mode);

struct fm_folded_sample fm_fold_sample(const struct fm_fold *fold, const struct fm_fold_mode *mode,
                                       const struct fm_folded *folded);

/* The address of a sample relative to its object. False: the object has no beginning, and the address is absolute. */
bool fm_fold_relative(const struct fm_recording *recording, const struct fm_recorded_sample *sample,
                      uint64_t *ret_address);

#endif
