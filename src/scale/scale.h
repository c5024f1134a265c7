/* Scaling: interleaved runs with several numbers of threads. Results: speed-up and bandwidth for each number, and the
   cause that limits the scaling. */
#ifndef FATHOM_SCALE_SCALE_H
#define FATHOM_SCALE_SCALE_H

#include "observe/observe.h"
#include "scale/counts.h"
#include "scale/fit.h"

struct fm_scale_wishes {
	struct fm_observation observation; /* the program, --machine, remarks, interruption */
	struct fm_scale_counts counts;     /* empty: powers of two up to the number of CPUs */
	bool by_cpus;                      /* processor masks instead of numbers of threads */
	const char *variable;              /* environment variable; NULL: those of variables.def */
	unsigned rounds;                   /* runs of each number */
	double budget;                     /* seconds for all runs */
	bool times_only;                   /* no observed runs */
	void (*progress)(void *context, const char *what, double share, double seconds_left); /* may be NULL */
	void *progress_context;
};

/* Runs the program and returns all results in a settled recording. -EINVAL: contradictory options. -ENOTSUP: cannot be
   measured here. -ENOENT and -EACCES: the program cannot be run. -ECANCELED with a recording: interrupted or failed in
   its first run. */
int fm_scale_run(const struct fm_scale_wishes *wishes, struct fm_recording **ret_recording, struct fm_error *error);

enum { FM_SCALE_LEVELS = FM_SIMULATED_CACHES_MAX + 1, FM_SCALE_EVIDENCE = 6 };

struct fm_scale_level {
	char name[12];
	struct fm_figure gbs;             /* bytes of an observed run, divided by the native run time of this count */
	struct fm_figure sustainable_gbs; /* for this count and mixture */
	struct fm_figure utilisation;     /* 0 … 1 */
};

/* The processors' time by use, as shares of count × elapsed time. Their sum is 1. */
enum fm_scale_part {
#define PART(identifier, ...) FM_SCALE_##identifier,
#include "scale/parts.def"
#undef PART
	FM_SCALE_PARTS
};

struct fm_scale_count {
	unsigned count;   /* threads or CPUs */
	unsigned threads; /* observed workers */
	unsigned seen;    /* all threads */
	unsigned runs, disturbed;
	struct fm_figure elapsed, speedup, efficiency, cpu;
	struct fm_figure waiting;   /* share of the threads' time, blocked or spinning */
	struct fm_figure imbalance; /* work of the busiest thread, divided by the mean */
	double share[FM_SCALE_PARTS];
	double spun;     /* spinning share of the imbalance */
	double switches; /* voluntary, per second of processor time */
	struct fm_scale_level levels[FM_SCALE_LEVELS];
	unsigned level_count;
	const struct fm_recorded_scale_look *look; /* observed run of this count; NULL: none */
};

enum fm_scale_cause {
#define CAUSE(identifier, ...) FM_SCALE_CAUSE_##identifier,
#include "scale/causes.def"
#undef CAUSE
	FM_SCALE_CAUSES
};

struct fm_scale_verdict {
	enum fm_scale_cause cause;
	double confidence;
	unsigned decisive; /* index of the decisive count */
	char level[12];    /* saturated level; "": none */
	char line[320];    /* "": not known */
	char evidence[FM_SCALE_EVIDENCE][240];
	unsigned evidence_count;
};

struct fm_scale {
	const struct fm_recording *recording;
	const struct fm_recorded_scale *how;
	struct fm_scale_count *counts; /* ascending */
	unsigned count;
	struct fm_scale_fit fit;
	struct fm_scale_verdict verdict;
};

/* Analyses a recording. -EINVAL without such runs. */
int fm_scale_analyse(const struct fm_recording *recording, struct fm_scale **ret_scale, struct fm_error *error);
void fm_scale_free(struct fm_scale *scale);

/* Texts of a cause: name such as "saturated"; advice; "work". */
const char *fm_scale_cause_name(enum fm_scale_cause cause);
const char *fm_scale_cause_advice(enum fm_scale_cause cause);
const char *fm_scale_part_name(enum fm_scale_part part);
const char *fm_scale_part_words(enum fm_scale_part part);

#endif
