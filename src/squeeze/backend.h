/* Back ends of squeeze: ways to limit the cache and the bandwidth of a program. */
#ifndef FATHOM_SQUEEZE_BACKEND_H
#define FATHOM_SQUEEZE_BACKEND_H

#include "base/random.h"
#include "observe/observe.h"
#include "squeeze/design.h"
#include "squeeze/live.h"

enum { FM_SQUEEZE_MAPPINGS = 8 };

struct fm_squeeze_wishes {
	struct fm_observation observation; /* the program, --machine, remarks, interruption */
	const char *backend;               /* name; NULL: the first that works */
	const char *level;                 /* the cache; NULL: the last */
	const char *predict;               /* predictions, separated by blanks; NULL: none */
	double budget;                     /* seconds for all runs */
	bool no_capacity, no_bandwidth;    /* omitted axes */
	bool map;                          /* combined limits: map.h */
	unsigned ranks;                    /* copies of the program; 0: one */
	const char *mapping;               /* ranks per cache: ranks.h */
	void (*progress)(void *context, const char *what, double share, double seconds_left); /* may be NULL */
	void *progress_context;
};

/* The limits of a resource. */
struct fm_squeeze_axis {
	char why_not[160]; /* reason without a limit; "" with one */
	double least, full;
	/* the possible amounts, ascending, from the least to the full one; 0: any in between */
	unsigned count;
	double amounts[FM_DESIGN_POINTS];
};

enum fm_squeeze_role {
	FM_SQUEEZE_WHOLE,   /* no limit, with the same machinery at work */
	FM_SQUEEZE_LESS,    /* the given limits */
	FM_SQUEEZE_CONTROL, /* no limit, with the machinery of the given limits */
};

/* A sweep. begin() creates the recording with its row of `squeezes` and the first step, and fills the axes. */
struct fm_squeeze_session {
	const struct fm_squeeze_wishes *wishes;
	const struct fm_squeeze_backend *backend;
	struct fm_recording *recording;
	struct fm_squeeze_axis capacity, bandwidth;
	struct fm_random random;
	struct fm_live live; /* of live back ends (live.h) */
	void *state;         /* private to the back end */
	/* of back ends with ranks: ranks per cache, set by begin(); and in the next run, which adds a row to rank_steps
	 */
	unsigned mappings[FM_SQUEEZE_MAPPINGS], mapping_count;
	unsigned ranks;
	/* of back ends with changes inside a run (regions.h) */
	struct fm_region_file *regions; /* NULL: none */
	char region[96];                /* its rate is the progress; "": none */
};

/* The contract of a back end.

   probe() reports quickly whether the back end works here. It may read files and must not measure for longer than a
   second.

   begin() calibrates the limits and runs the program for the first time, without limits; only the output of this run is
   visible. It fills recording->squeezes[0]: backend, level, cache, bytes, gbs (the totals; 0 for an axis without
   limits), noticeable, and calibration (geometry and real limits of each step, in words). Live back ends add near_ns
   and beyond_ns, the latencies of the cache and beyond it, if known. Both axes of the session are filled; the knee is
   searched among their amounts. -ECANCELED with a recording: the program failed.

   run() runs the program with the given bytes of cache and GB/s, and adds a row to squeeze_steps with bytes, gbs, role
   and, live, seconds. `disturbed` excludes a run that the machine disturbed. Amounts are those of the axes; an axis
   without limits has its full amount. -ECANCELED ends the sweep: the program behaved differently, was interrupted, or
   the limit is no longer possible. `stopped` has the reason, and the results are kept.

   Times of live back ends (`live`) vary. run.c pairs their runs WHOLE and LESS, in random order, as often as necessary.
   With `has_control`, CONTROL runs at the end, with all resources and with the decisive limits, must have equal times.
   squeeze/live.h runs the program.

   end() releases everything, also after a failed begin(). Processes of a back end end with the tool, even by SIGKILL;
   the program then continues without limits. */
struct fm_squeeze_backend {
	const char *name;
	const char *takes; /* in words */
	bool live, has_control;
	bool takes_both; /* run() accepts both limits at once */
	/* Changes the limits inside a run, soon. False if the limits since the last call were not effective. NULL: not
	   possible. */
	bool (*toggle)(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs);
	bool has_ranks; /* several copies: `ranks` of the session */
	bool rare;      /* rare: its absence needs no message if another back end is missing, too */
	int (*probe)(const struct fm_squeeze_wishes *wishes, struct fm_error *why); /* 0, or -ENOTSUP with the reason */
	int (*begin)(struct fm_squeeze_session *session, struct fm_error *error);
	int (*run)(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs,
	           struct fm_error *error);
	void (*end)(struct fm_squeeze_session *session); /* may be NULL */
};

#define BACKEND(identifier) extern const struct fm_squeeze_backend fm_squeeze_##identifier;
#include "squeeze/backends.def"
#undef BACKEND

extern const struct fm_squeeze_backend *const fm_squeeze_backends[]; /* NULL-terminated */

#endif
