/* Interleaved trials, the method of all live measurements.
   A measurement is a function that performs one trial and returns its cost (lower is faster). Measurements run round by
   round in random order, so that a slow phase of the machine affects all of them alike. Disturbed trials are excluded
   and counted. A measurement ends when its interval is narrow enough; the run ends when all measurements have ended, at
   the end of the budget, or on an interruption. */
#ifndef FATHOM_BASE_MEASURE_H
#define FATHOM_BASE_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/watcher.h"
#include "base/disturbance.h"
#include "base/error.h"
#include "base/figure.h"
#include "base/random.h"
#include "base/statistics.h"

/* One trial: the cost, such as ns per step. Returns 0, -errno, or FM_TRIAL_DISTURBED for a disturbance that the watch
   of the calling thread cannot see. */
enum { FM_TRIAL_DISTURBED = 1 };
typedef int (*fm_trial_function)(void *context, double *ret_cost, struct fm_error *error);

struct fm_measurement {
	fm_trial_function trial;
	void *context;
	unsigned weight;           /* trials per round; 0 counts as 1 */
	bool elsewhere;            /* other threads do the work: waiting of the calling thread is no disturbance */
	double wanted_width;       /* relative half-width at which it ends; 0: after all rounds */
	bool core_clock;           /* the cost is in core cycles: rescaled to the clock of the plan */
	double usual_beat;         /* usual_beat of the plan */
	struct fm_sample costs;    /* undisturbed trials */
	struct fm_sample beats;    /* heartbeat of each undisturbed trial */
	struct fm_sample doubtful; /* costs of disturbed trials */
	bool finished;
};

struct fm_measure_plan {
	unsigned least_rounds;
	unsigned most_rounds;
	double budget_seconds;
	double usual_beat; /* ns per cycle for rescaling of core_clock costs; 0: none */
	struct fm_random *random;
	struct fm_disturbance_watch *watch;
	struct fm_watcher watcher; /* receives shares of this plan, without phase and remaining time */
};

/* Runs the measurements. 0, -EINTR if interrupted, or the error of a trial. */
int fm_measure(struct fm_measurement *measurements, unsigned count, const struct fm_measure_plan *plan,
               struct fm_error *error);

/* The location of the undisturbed costs, rescaled to the usual clock if they are cycles of the core. Without
   undisturbed trials the disturbed ones are used; the figure then has 0 trials. */
struct fm_figure fm_measurement_figure(const struct fm_measurement *measurement, const char *unit);

void fm_measurement_free(struct fm_measurement *measurement);

#endif
