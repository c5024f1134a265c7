#include "measure/session.h"

#include <errno.h>

#include "base/clock.h"

double fm_machine_session_time_left(const struct fm_machine_session *session)
{
	uint64_t now = fm_clock_now();

	return now < session->deadline_ns ? (double)(session->deadline_ns - now) / 1e9 : 0;
}

static void forward_progress(void *context, const char *what, double share, double seconds_left)
{
	const struct fm_machine_session *session = context;

	(void)what, (void)seconds_left;
	fm_watcher_tell(&session->watcher, session->phase,
	                session->phase_begin + (session->phase_end - session->phase_begin) * (share > 1 ? 1 : share),
	                fm_machine_session_time_left(session));
}

int fm_machine_session_measure(struct fm_machine_session *session, struct fm_measurement *measurements, unsigned count,
                               unsigned least_rounds, unsigned most_rounds, double seconds, struct fm_error *error)
{
	struct fm_measure_plan plan = {
	    .least_rounds = least_rounds,
	    .most_rounds = most_rounds,
	    .budget_seconds = seconds,
	    .usual_beat = session->usual_beat,
	    .random = &session->random,
	    .watch = &session->watch,
	    .watcher = {session->watcher.interrupted, forward_progress, session},
	};

	return fm_measure(measurements, count, &plan, error);
}

int fm_machine_session_check(const struct fm_machine_session *session, struct fm_error *error)
{
	if (fm_watcher_stops(&session->watcher))
		return fm_error_set(error, EINTR, "interrupted");
	return 0;
}
