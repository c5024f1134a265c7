/* Active measurement: a program is run with less and less of a cache and of the bandwidth of memory. What it can do
   without, it does not use. */
#ifndef FATHOM_SQUEEZE_SQUEEZE_H
#define FATHOM_SQUEEZE_SQUEEZE_H

#include "reuse/curve.h"
#include "squeeze/backend.h"
#include "squeeze/design.h"

/* Choose a back end, run the program as often as it takes, and keep the steps in a settled recording. -EINVAL for
   wishes that cannot be, -ENOTSUP when no back end works here, -ENOENT and -EACCES for the program. -ECANCELED with a
   recording: the program failed or was interrupted in its first run. */
int fm_squeeze_run(const struct fm_squeeze_wishes *wishes, struct fm_recording **ret_recording, struct fm_error *error);

/* Names of back ends, "exact, …". Returns text. */
const char *fm_squeeze_names(char *text, size_t size);

enum { FM_SQUEEZE_PREDICTIONS = 8 };

enum fm_squeeze_kind {
	FM_SQUEEZE_SENSITIVE, /* less of the cache makes it slower */
	FM_SQUEEZE_SMALL,     /* it hardly uses this cache */
	FM_SQUEEZE_STREAMING, /* what it reads passes through, and is not used again before it is gone */
	FM_SQUEEZE_UNTOLD,    /* not slower, although it has more memory than the cache holds: one of these two */
};

/* What was asked: less cache, less bandwidth, or both. */
struct fm_squeeze_prediction {
	char text[64];
	double bytes, gbs;         /* everything there is, unless it says less */
	struct fm_figure slowdown; /* times as long as with everything */
	struct fm_figure seconds;
	/* live: the same slowdown by the model of hit shares alone, from everything and half of it (hit_share.h) */
	struct fm_figure from_half;
};

/* Less of both at once: amounts from the full one down, and how much longer the program takes. */
enum { FM_SQUEEZE_MAP = 4 };
struct fm_squeeze_map {
	unsigned capacities, bandwidths; /* 0: there is no map */
	double bytes[FM_SQUEEZE_MAP], gbs[FM_SQUEEZE_MAP];
	struct fm_figure slowdown[FM_SQUEEZE_MAP][FM_SQUEEZE_MAP];  /* by capacity and bandwidth: times as long */
	struct fm_figure predicted[FM_SQUEEZE_MAP][FM_SQUEEZE_MAP]; /* the same from the two curves alone */
};

/* Ranks that share a cache and its memory, and what each of them uses. */
struct fm_squeeze_mapping {
	unsigned ranks;  /* in one last cache */
	unsigned caches; /* that all ranks take then */
	unsigned runs;
	struct fm_figure seconds;                           /* with everything */
	struct fm_figure sharing;                           /* times as long as alone */
	struct fm_figure capacity_in_use, bandwidth_in_use; /* of each; value: the upper end */
	bool capacity_matters, bandwidth_matters;           /* less of it makes them slower */
	struct fm_figure traffic_gbs;                       /* of each, from and to memory, with everything */
};

/* The analysis of such a recording. */
struct fm_squeeze {
	const struct fm_recording *recording;
	const struct fm_recorded_squeeze *how;
	const struct fm_squeeze_backend *backend; /* NULL: this version does not know it */
	double seconds;                           /* with everything; live, the median */
	unsigned runs;
	struct fm_figure control; /* live: times as long, when nothing is taken but the machinery works as if it were */
	bool control_fails;       /* … and that alone makes it slower: what was found is no effect of the cache */
	unsigned set_aside;       /* live: pairs of which the machine disturbed one */
	struct fm_design capacity, bandwidth;               /* times in seconds */
	struct fm_figure capacity_in_use, bandwidth_in_use; /* value: the upper end */
	bool bandwidth_matters;
	enum fm_squeeze_kind kind;
	double traffic_gbs; /* from and to memory, with everything; live: not known, 0 */
	bool has_curve;
	struct fm_miss_curve curve;
	struct fm_figure curve_need; /* the capacity that the miss-ratio curve tells */
	bool agrees;                 /* … with the runs */
	struct fm_squeeze_prediction predictions[FM_SQUEEZE_PREDICTIONS];
	unsigned prediction_count;
	struct fm_squeeze_map map;
	struct fm_squeeze_mapping mappings[FM_SQUEEZE_MAPPINGS];
	unsigned mapping_count;
};

/* -EINVAL: the recording has no squeeze. */
int fm_squeeze_analyse(const struct fm_recording *recording, struct fm_squeeze **ret_squeeze, struct fm_error *error);
void fm_squeeze_free(struct fm_squeeze *squeeze);

/* Whether --predict can be understood: "l3=8M", "bw=50%", "l3=25%,bw=8". Sizes are of this cache. */
int fm_squeeze_parse(const char *text, const char *level, double bytes, double gbs,
                     struct fm_squeeze_prediction *ret_prediction, struct fm_error *error);

/* The time with the bytes and GB/s of a prediction, from both curves. */
void fm_squeeze_predict(const struct fm_squeeze *squeeze, struct fm_squeeze_prediction *prediction);

/* Two programs that share the cache, each known by itself. */
struct fm_squeeze_pair {
	double share[2];                      /* bytes of the cache that each has */
	struct fm_figure slowdown[2];         /* times as long as alone */
	struct fm_figure latency_slowdown[2]; /* the same by the clock of --beside */
	double misses[2];                     /* of its accesses that reach this cache, the share that misses */
};

/* -EINVAL when they are of different machines or caches, or one lacks its miss-ratio curve. */
int fm_squeeze_pair(const struct fm_squeeze *first, const struct fm_squeeze *second, struct fm_squeeze_pair *ret_pair,
                    struct fm_error *error);

#endif
