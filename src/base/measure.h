/* Interleaved trials: the way everything live is measured.

   A measurement is a function that performs one trial and returns its cost (lower is faster). Many measurements are
   run round by round in random order, so that a slow phase of the machine hits all of them alike. Disturbed trials are
   set aside and counted. A measurement is finished when its interval is narrow enough; the run ends when all are, when
   the budget is spent, or when it is interrupted. */
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

/* One trial: the cost, such as ns per step. Returns 0, FM_TRIAL_DISTURBED when the trial itself saw a disturbance that
   the watch of the calling thread cannot see, or -errno. */
enum { FM_TRIAL_DISTURBED = 1 };
typedef int (*fm_trial_function)(void *context, double *ret_cost, struct fm_error *error);

struct fm_measurement {
	fm_trial_function trial;
	void *context;
	unsigned weight;        /* trials per round; 0 counts as 1 */
	bool elsewhere;         /* the work is done by other threads: waiting of the calling one is no disturbance */
	double wanted_width;    /* finished when the relative half-width is below; 0: takes all rounds */
	bool core_clock;        /* takes cycles of the core, however long these are: told for the clock of the plan */
	double usual_beat;      /* of the plan */
	struct fm_sample costs; /* undisturbed trials */
	struct fm_sample beats; /* the heartbeat beside each of them */
	struct fm_sample doubtful; /* costs of the disturbed ones */
	bool finished;
};

struct fm_measure_plan {
	unsigned least_rounds;
	unsigned most_rounds;
	double budget_seconds;
	double usual_beat; /* ns a cycle that costs in cycles of the core are told for; 0: as they were */
	struct fm_random *random;
	struct fm_disturbance_watch *watch;
	struct fm_watcher watcher; /* told shares of this plan; what and time left are not known here */
};

/* 0; -EINTR when interrupted; otherwise what a trial returned. */
int fm_measure(struct fm_measurement *measurements, unsigned count, const struct fm_measure_plan *plan,
               struct fm_error *error);

/* The location of the undisturbed costs: of those that go by the core's clock, as they would be at the usual one. When
   disturbed trials are all there is, they are used and the figure says so by having no undisturbed trials. */
struct fm_figure fm_measurement_figure(const struct fm_measurement *measurement, const char *unit);

void fm_measurement_free(struct fm_measurement *measurement);

#endif
