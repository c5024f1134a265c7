/* Active measurement: a program runs with decreasing cache and memory bandwidth. A part whose removal causes no
   slowdown is not in use. */
#ifndef FATHOM_SQUEEZE_SQUEEZE_H
#define FATHOM_SQUEEZE_SQUEEZE_H

#include "reuse/curve.h"
#include "squeeze/backend.h"
#include "squeeze/design.h"

/* Chooses a back end, runs the program as often as necessary, and keeps the steps in a recording. -EINVAL: impossible
   options; -ENOTSUP: no working back end; -ENOENT and -EACCES: the program cannot be run. -ECANCELED with a recording:
   the first run failed or was interrupted. */
int fm_squeeze_run(const struct fm_squeeze_wishes *wishes, struct fm_recording **ret_recording, struct fm_error *error);

/* Names of back ends, "exact, …". Returns text. */
const char *fm_squeeze_names(char *text, size_t size);

enum { FM_SQUEEZE_PREDICTIONS = 8 };

enum fm_squeeze_kind {
	FM_SQUEEZE_SENSITIVE, /* slower with less of the cache */
	FM_SQUEEZE_SMALL,     /* hardly uses this cache */
	FM_SQUEEZE_STREAMING, /* data pass through and are evicted before reuse */
	FM_SQUEEZE_UNTOLD,    /* not slower, with more memory than the cache holds: one of the last two */
};

/* A prediction for less cache, less bandwidth, or both. */
struct fm_squeeze_prediction {
	char text[64];
	double bytes, gbs;         /* the limits, or the full amounts */
	struct fm_figure slowdown; /* slowdown */
	struct fm_figure seconds;
	/* live: the prediction of the model of hit shares, from the times with all and half (hit_share.h) */
	struct fm_figure from_half;
};

/* Combined limits: amounts, descending, and slowdowns. */
enum { FM_SQUEEZE_MAP = 4 };
struct fm_squeeze_map {
	unsigned capacities, bandwidths; /* 0: no map */
	double bytes[FM_SQUEEZE_MAP], gbs[FM_SQUEEZE_MAP];
	struct fm_figure slowdown[FM_SQUEEZE_MAP][FM_SQUEEZE_MAP];  /* by capacity and bandwidth */
	struct fm_figure predicted[FM_SQUEEZE_MAP][FM_SQUEEZE_MAP]; /* the same, predicted from the two curves */
};

/* Ranks that share a cache and its memory, and the use of each. */
struct fm_squeeze_mapping {
	unsigned ranks;  /* per last cache */
	unsigned caches; /* caches for all ranks */
	unsigned runs;
	struct fm_figure seconds;                           /* without limits */
	struct fm_figure sharing;                           /* slowdown against a rank alone */
	struct fm_figure capacity_in_use, bandwidth_in_use; /* of each rank; value: the upper end */
	bool capacity_matters, bandwidth_matters;           /* slower with less capacity, or bandwidth */
	struct fm_figure traffic_gbs;                       /* of each rank, from and to memory, without limits */
};

/* The analysis of a recording. */
struct fm_squeeze {
	const struct fm_recording *recording;
	const struct fm_recorded_squeeze *how;
	const struct fm_squeeze_backend *backend; /* NULL: unknown to this version */
	double seconds;                           /* without limits; live, the median */
	unsigned runs;
	struct fm_figure control;             /* live: slowdown by the machinery without limits */
	bool control_fails;                   /* … is noticeable: the results are no effect of the cache */
	unsigned set_aside;                   /* live: excluded pairs with a disturbed run */
	struct fm_design capacity, bandwidth; /* times in seconds */
	struct fm_figure capacity_in_use, bandwidth_in_use; /* value: the upper end */
	bool bandwidth_matters;
	enum fm_squeeze_kind kind;
	double traffic_gbs; /* from and to memory, without limits; live: 0, unknown */
	bool has_curve;
	struct fm_miss_curve curve;
	struct fm_figure curve_need; /* the capacity by the miss-ratio curve */
	bool agrees;                 /* the curve agrees with the runs */
	struct fm_squeeze_prediction predictions[FM_SQUEEZE_PREDICTIONS];
	unsigned prediction_count;
	struct fm_squeeze_map map;
	struct fm_squeeze_mapping mappings[FM_SQUEEZE_MAPPINGS];
	unsigned mapping_count;
};

/* Analyses a recording. -EINVAL without a squeeze. */
int fm_squeeze_analyse(const struct fm_recording *recording, struct fm_squeeze **ret_squeeze, struct fm_error *error);
void fm_squeeze_free(struct fm_squeeze *squeeze);

/* Parses --predict: "l3=8M", "bw=50%", "l3=25%,bw=8". Sizes are of this cache. 0 or -EINVAL. */
int fm_squeeze_parse(const char *text, const char *level, double bytes, double gbs,
                     struct fm_squeeze_prediction *ret_prediction, struct fm_error *error);

/* The time under the limits of a prediction, from both curves. */
void fm_squeeze_predict(const struct fm_squeeze *squeeze, struct fm_squeeze_prediction *prediction);

/* Two programs that share the cache, from the analysis of each alone. */
struct fm_squeeze_pair {
	double share[2];                      /* bytes of the cache, of each */
	struct fm_figure slowdown[2];         /* slowdown */
	struct fm_figure latency_slowdown[2]; /* the same by the clock of --beside */
	double misses[2];                     /* miss share of its accesses to this cache */
};

/* Predicts the sharing. -EINVAL for different machines or caches, or without a miss-ratio curve. */
int fm_squeeze_pair(const struct fm_squeeze *first, const struct fm_squeeze *second, struct fm_squeeze_pair *ret_pair,
                    struct fm_error *error);

#endif
