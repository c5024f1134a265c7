/* A way of taking cache and bandwidth away from a program. */
#ifndef FATHOM_SQUEEZE_BACKEND_H
#define FATHOM_SQUEEZE_BACKEND_H

#include "base/random.h"
#include "observe/observe.h"
#include "squeeze/design.h"
#include "squeeze/live.h"

enum { FM_SQUEEZE_MAPPINGS = 8 };

struct fm_squeeze_wishes {
	struct fm_observation observation; /* the program, --machine, remarks, interruption */
	const char *backend;               /* by name; NULL: the first that can */
	const char *level;                 /* of the cache; NULL: the last */
	const char *predict;               /* what to foretell, separated by blanks; NULL: nothing */
	double budget;                     /* seconds for all runs */
	bool no_capacity, no_bandwidth;    /* axes that are left out */
	bool map;                          /* less of both at once, too: map.h */
	unsigned ranks;                    /* copies of the program; 0: none but itself */
	const char *mapping;               /* how many of them share a cache: ranks.h */
	void (*progress)(void *context, const char *what, double share, double seconds_left); /* may be NULL */
	void *progress_context;
};

/* What can be taken of a resource. */
struct fm_squeeze_axis {
	char why_not[160]; /* it cannot be taken at all; "": it can */
	double least, full;
	/* the only amounts there are, ascending, from the least to the full one; 0: any between these */
	unsigned count;
	double amounts[FM_DESIGN_POINTS];
};

enum fm_squeeze_role {
	FM_SQUEEZE_WHOLE,   /* with everything, and with the same machinery at work as when less is left */
	FM_SQUEEZE_LESS,    /* with the amounts given */
	FM_SQUEEZE_CONTROL, /* the machinery does what it does for these amounts, and nothing is taken */
};

/* One sweep. begin() makes the recording with its row of `squeezes` and the first step, and fills in the axes. */
struct fm_squeeze_session {
	const struct fm_squeeze_wishes *wishes;
	const struct fm_squeeze_backend *backend;
	struct fm_recording *recording;
	struct fm_squeeze_axis capacity, bandwidth;
	struct fm_random random;
	struct fm_live live; /* squeeze/live.h, of live back ends */
	void *state;         /* the back end's own */
	/* of back ends that have ranks: how many share a cache, by begin(); and in the next run, whose row is one of
	   rank_steps */
	unsigned mappings[FM_SQUEEZE_MAPPINGS], mapping_count;
	unsigned ranks;
	/* of back ends that can change it while the program runs (regions.h) */
	struct fm_region_file *regions; /* NULL: there are none */
	char region[96];                /* whose rate is the progress; "": there is none */
};

/* The contract of a back end.

   probe() tells whether it works here, quickly: it may look at files, and must not measure for longer than a second.

   begin() finds out how much it takes (calibration) and runs the program for the first time, with everything: only this
   run's output is seen. It fills in recording->squeezes[0]: backend, level, cache, bytes, gbs (what there is; of an
   axis that cannot be taken 0), noticeable, calibration (in words, what was found out now: geometry, what each step
   really takes), and of live back ends near_ns and beyond_ns, the latency of this cache and of what is behind it, where
   known. Both axes of the session are filled in: the knee is looked for among their amounts. -ECANCELED with a
   recording: the program failed.

   run() runs the program once more with so many bytes of the cache and GB/s, and adds one row to squeeze_steps with
   bytes, gbs, role and, live, seconds; `disturbed` when the machine took part of that run away, so that its pair is not
   used. Amounts are those of the axes; an axis that cannot be taken has its full amount. -ECANCELED when the program
   did something else than before, was interrupted, or less cannot be given any more: the sweep ends, `stopped` says
   why, and what was measured is kept.

   Live back ends (`live`) have times that vary. run.c pairs their runs: WHOLE and LESS one after the other, in random
   order, as often as it takes; and at the end, if `has_control`, CONTROL with everything and CONTROL with the decisive
   amounts, whose times must not differ. squeeze/live.h runs the program for them.

   end() releases everything; also after begin() failed. What the back end has started must end with this process,
   however that ends, also by SIGKILL; the program then goes on undisturbed. */
struct fm_squeeze_backend {
	const char *name;
	const char *takes; /* in words */
	bool live, has_control;
	bool takes_both; /* run() may be asked for less of both at once */
	/* While the program runs: what it has changes to this, at once or soon. False: since the last time it did not
	   have what it should have had. NULL: it cannot be changed. */
	bool (*toggle)(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs);
	bool has_ranks; /* … and for several copies side by side: `ranks` of the session */
	bool rare; /* few machines have it: that this one does not is no news, and another says why nothing works */
	int (*probe)(const struct fm_squeeze_wishes *wishes, struct fm_error *why); /* 0, or -ENOTSUP with the reason */
	int (*begin)(struct fm_squeeze_session *session, struct fm_error *error);
	int (*run)(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs,
	           struct fm_error *error);
	void (*end)(struct fm_squeeze_session *session); /* may be NULL */
};

#define BACKEND(identifier) extern const struct fm_squeeze_backend fm_squeeze_##identifier;
#include "squeeze/backends.def"
#undef BACKEND

extern const struct fm_squeeze_backend *const fm_squeeze_backends[]; /* ended by NULL */

#endif
