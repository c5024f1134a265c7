#include "squeeze/second_opinion.h"

#include <stdio.h>
#include <string.h>

#include "observe/parts.h"
#include "recording/curve_rows.h"
#include "squeeze/tuning.h"

static bool has_threads(const struct fm_recording *recording)
{
	return recording->threads_count > recording->processes_count;
}

/* "": the curve is there, and means this cache. */
static const char *doubt(const struct fm_recording *session, const struct fm_recording *observed)
{
	bool own_cache = session->squeezes[0].cache < 2;

	if (observed->run.signal || observed->run.exit_status != session->run.exit_status)
		return "the exit status differed in the run that followed lines";
	if (!fm_curve_of_program(observed))
		return "no lines were followed";
	return own_cache && has_threads(observed)
	           ? "each thread has a private cache, but the curve covers all threads together"
	           : "";
}

static int copy_curve(const struct fm_recording *observed, struct fm_recording *recording)
{
	const struct fm_recorded_curve *row = fm_curve_of_program(observed);
	struct fm_miss_curve curve;

	for (size_t i = 0; i < observed->caches_count; i++) {
		struct fm_recorded_cache *cache = fm_recording_add(recording, caches);

		if (!cache)
			return -1;
		*cache = observed->caches[i];
	}
	fm_curve_read(observed, (size_t)(row - observed->curves), &curve);
	return fm_curve_write(&curve, row, 1, recording);
}

static void observe(struct fm_squeeze_session *session, char *why, size_t size)
{
	const struct fm_observation *program = &session->wishes->observation;
	const struct fm_observation wanted = {.program = program->program,
	                                      .counters = "windows",
	                                      .curve = true,
	                                      .seen = true,
	                                      .interrupted = program->interrupted};
	struct fm_recording *observed = NULL;
	struct fm_error error;
	int saved, r;

	fm_input_rewind();
	saved = fm_output_divert();
	r = fm_observe(&wanted, &observed, &error);
	fm_output_restore(saved);
	/* of the next runs */
	fm_input_rewind();
	if (r)
		snprintf(why, size, "%s", error.message);
	else
		snprintf(why, size, "%s", doubt(session->recording, observed));
	if (!*why && copy_curve(observed, session->recording))
		snprintf(why, size, "out of memory");
	fm_recording_free(observed);
}

void fm_second_opinion_take(struct fm_squeeze_session *session, double seconds_left)
{
	char why[320] = "";

	if (CURVE_TIME * session->recording->squeeze_steps[0].seconds + CURVE_TIME_LEAST > CURVE_SHARE * seconds_left)
		snprintf(why, sizeof(why), "the budget was spent: use 'fathom stat --curve', or a longer --budget");
	else
		observe(session, why, sizeof(why));
	if (*why)
		fm_recording_set(session->recording, FM_SECOND_OPINION_WHY, why);
}
