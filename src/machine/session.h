/* What all parts of a characterisation share: the CPUs, the threads, the watch, the random numbers, the time left. */
#ifndef FATHOM_MACHINE_SESSION_H
#define FATHOM_MACHINE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/watcher.h"
#include "base/disturbance.h"
#include "base/measure.h"
#include "base/random.h"
#include "machine/levels.h"
#include "machine/cpu_places.h"
#include "machine/team.h"
#include "machine/topology.h"

enum fm_effort { FM_EFFORT_QUICK, FM_EFFORT_DEFAULT, FM_EFFORT_FULL };

/* Latency of several data-set sizes, visited several times during a characterisation: each visit takes new buffers, so
   that the interval includes what the placement of the pages and the passing of time do. */
struct fm_latency_visits {
	unsigned count; /* of sizes */
	size_t bytes[FM_LEVELS_MAX];
	unsigned visits;
	struct fm_figure ns[FM_LEVELS_MAX]; /* the hull of all visits so far */
	struct fm_figure cycles[FM_LEVELS_MAX];
};

/* What two undisturbed runs differ by although each is narrow: clock steps, alignment. */
#define FM_MACHINE_DRIFT 0.01

struct fm_machine;

struct fm_machine_session {
	enum fm_effort effort;
	struct fm_topology topology;
	struct fm_cpu_list cpus;
	struct fm_cpu_place *places; /* of these, in the same order; NULL: nobody knows */
	struct fm_team *team;
	bool huge_pages;
	struct fm_random random;
	struct fm_disturbance_watch watch;
	double usual_beat; /* ns a cycle that figures in cycles of the core are told for, until the clock of the whole
	                      is known */
	uint64_t deadline_ns;
	uint64_t memory_limit; /* how much we may allocate at one time */
	struct fm_latency_visits level_visits;

	/* where the work stands, for the progress line */
	struct fm_watcher watcher;
	const char *phase;
	double phase_begin, phase_end; /* shares of the whole */
};

/* Seconds until the deadline; 0 when it has passed. */
double fm_machine_session_time_left(const struct fm_machine_session *session);

/* Run interleaved trials within `seconds`. */
int fm_machine_session_measure(struct fm_machine_session *session, struct fm_measurement *measurements, unsigned count,
                               unsigned least_rounds, unsigned most_rounds, double seconds, struct fm_error *error);

/* -EINTR when the user asked to stop. */
int fm_machine_session_check(const struct fm_machine_session *session, struct fm_error *error);

#endif
