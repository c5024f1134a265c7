/* Folding: the many instances of a region, each with few samples, put on top of each other as one instance with many.
   Instances are grouped by their length (modes); those that fit no group are set aside and counted. Each sample gets
   its place within its instance, 0 … 1, and keeps its code, object and cost. Addresses are relative to their object, so
   that processes can be put together although their addresses are randomised. Computed once; nothing is printed. */
#ifndef FATHOM_FOLD_FOLD_H
#define FATHOM_FOLD_FOLD_H

#include "samples/samples.h"

enum {
	FM_FOLD_POINTS = 64, /* of each fitted rate, at (i + 0.5) / FM_FOLD_POINTS */
	FM_FOLD_RATES = FM_SERVED_CLASSES + 4,
	FM_FOLD_NONE = -1,
};

/* What lengths and places are measured in. Of samples by the engine, whose time is not the program's: in references of
   the thread. */
enum fm_fold_clock { FM_FOLD_SECONDS, FM_FOLD_REFERENCES };

/* One pass of a thread through a region. */
struct fm_fold_instance {
	uint32_t thread;     /* index in sampled_threads */
	double began, ended; /* seconds since the recording began */
	double length;       /* seconds or references */
	int32_t mode;        /* FM_FOLD_NONE: set aside */
};

/* A sample in the folded instance, as it is kept: fm_fold_sample() tells the rest. */
struct fm_folded {
	uint32_t sample;   /* index in the recording */
	uint32_t instance; /* index in the region's instances */
	float place;       /* 0 … 1 */
};

/* Everything about a folded sample. */
struct fm_folded_sample {
	double place;     /* 0 … 1 */
	double at;        /* place × the mode's usual length: seconds or references */
	uint32_t thread;  /* index in sampled_threads */
	int64_t line;     /* index in samples->lines, FM_FOLD_NONE */
	int64_t routine;  /* index in samples->routines, FM_FOLD_NONE */
	int64_t object;   /* index in samples->objects, FM_FOLD_NONE */
	uint64_t address; /* relative to its object: fm_fold_relative() */
	bool relative;    /* false: the object has no beginning (untracked memory), the address is the program's */
	bool load, store; /* a reference may be both */
	unsigned level;   /* most likely, from 1; 0: not known */
	double cost;      /* cycles or ticks above a hit; negative: not known */
	double weight;    /* seconds of processor time, or references, that it stands for; 0: for levels only */
	unsigned bytes;   /* of the access */
};

/* A part of the folded instance with a code of its own. */
struct fm_fold_phase {
	double begin, end;        /* places */
	int64_t line;             /* most observed: index in samples->lines */
	double line_share;        /* of the phase's samples */
	struct fm_figure seconds; /* of the phase in one instance; not available where the clock is not time */
	struct fm_served served;  /* share: of the mode's references */
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
	size_t references; /* of these, those that tell how often something is referred to */
	struct fm_served served;
	struct fm_fold_phase *phases;
	size_t phase_count;
	struct fm_fold_rate *rates; /* by fm_fold_tell_rates() */
	size_t rate_count;
	char why[160]; /* why it was not folded; "": it was */
};

struct fm_fold_region {
	char name[FM_NAME];
	bool found;        /* not marked: iterations that were found by themselves */
	double confidence; /* of that, 0 … 1; 1 for marked ones */
	struct fm_fold_instance *instances;
	size_t instance_count;
	uint64_t set_aside;       /* that fit no mode */
	uint64_t unfinished;      /* that have no length: not ended, or without a reference */
	struct fm_figure seconds; /* of an instance by the wall clock: median with its interval */
	struct fm_figure length;  /* the same of its length: seconds on the processor, or references */
	int64_t line;             /* most observed: index in samples->lines */
	double line_share;
	struct fm_fold_mode *modes; /* most instances first */
	size_t mode_count;
	char why[160]; /* why there is nothing; "": there is */
};

struct fm_stream;
struct fm_working_set;
struct fm_fold_finding;

struct fm_fold {
	const struct fm_samples *samples;
	enum fm_fold_clock clock;
	size_t gaps; /* times when a thread was off the processor: left out of lengths and places, not of `seconds` */
	struct fm_fold_region *regions; /* most references first; the last one may be found */
	size_t region_count;
	char why[200]; /* why no region was folded; "": one was */
	/* What folded regions do not hold, where that is a tenth of the references or more: all of the run where
	   nothing was folded. One instance with one phase; places are of the whole run. Without `samples`: they are
	   looked at and given back. No samples counted: there is none. */
	struct fm_fold_mode rest;
	/* fold/streams.h */
	struct fm_stream *streams;
	size_t stream_count;
	struct fm_working_set *working_sets;
	size_t working_set_count;
	/* fold/findings.h: what is worth most first */
	struct fm_fold_finding *findings;
	size_t finding_count;
};

/* `samples` must outlive the result. -ENOMEM. */
int fm_fold_make(const struct fm_samples *samples, struct fm_fold **ret_fold, struct fm_error *error);
void fm_fold_free(struct fm_fold *fold);

/* Fills in `rates`, which takes as long as everything else: for those who show them. -ENOMEM. */
int fm_fold_tell_rates(struct fm_fold *fold, struct fm_error *error);

/* The mode that a stream or a working set belongs to. */
const struct fm_fold_mode *fm_fold_mode_of(const struct fm_fold *fold, int64_t region, uint32_t mode);

struct fm_folded_sample fm_fold_sample(const struct fm_fold *fold, const struct fm_fold_mode *mode,
                                       const struct fm_folded *folded);

/* The address of a sample relative to its object; false: the object has no beginning, the address itself. */
bool fm_fold_relative(const struct fm_recording *recording, const struct fm_recorded_sample *sample,
                      uint64_t *ret_address);

#endif
