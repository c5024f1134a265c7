/* The state of a characterisation: CPUs, threads, watch, random numbers, deadline. */
#ifndef FATHOM_MEASURE_SESSION_H
#define FATHOM_MEASURE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/watcher.h"
#include "base/disturbance.h"
#include "base/measure.h"
#include "base/random.h"
#include "profile/levels.h"
#include "profile/cpu_places.h"
#include "measure/team.h"
#include "profile/profile.h"

/* Latency of several data-set sizes, measured in several visits with new buffers. The interval then includes the
   effects of page placement and time. */
struct fm_latency_visits {
	unsigned count; /* of sizes */
	size_t bytes[FM_LEVELS_MAX];
	unsigned visits;
	struct fm_figure ns[FM_LEVELS_MAX]; /* the hull of all visits so far */
	struct fm_figure cycles[FM_LEVELS_MAX];
};

struct fm_machine_session {
	enum fm_effort effort;
	struct fm_topology topology;
	struct fm_cpu_list cpus;
	struct fm_cpu_place *places; /* of the CPUs, in the same order; NULL if unknown */
	struct fm_team *team;
	bool huge_pages;
	struct fm_random random;
	struct fm_disturbance_watch watch;
	double usual_beat; /* ns per cycle to which cycles of the core are rescaled, until the clock of the whole run is
	                      known */
	uint64_t deadline_ns;
	uint64_t memory_limit; /* limit of allocated bytes */
	struct fm_latency_visits level_visits;

	/* progress */
	struct fm_watcher watcher;
	const char *phase;
	double phase_begin, phase_end; /* shares of the whole */
};

/* Seconds until the deadline; 0 afterwards. */
double fm_machine_session_time_left(const struct fm_machine_session *session);

/* Runs interleaved trials within `seconds`. */
int fm_machine_session_measure(struct fm_machine_session *session, struct fm_measurement *measurements, unsigned count,
                               unsigned least_rounds, unsigned most_rounds, double seconds, struct fm_error *error);

/* -EINTR if interrupted by the user. */
int fm_machine_session_check(const struct fm_machine_session *session, struct fm_error *error);

#endif
