#include "squeeze/second_opinion.h"

#include <stdio.h>
#include <string.h>

#include "observe/parts.h"
#include "recording/curve_rows.h"

/* Looking at the program takes so many times as long as it does, and some seconds in any case; of the time that there
   is it may take this share. */
#define TIMES_AS_LONG 3
#define AT_LEAST 3.0
#define SHARE 0.25

static bool has_threads(const struct fm_recording *recording)
{
	return recording->threads_count > recording->processes_count;
}

/* "": the curve is there, and means this cache. */
static const char *doubt(const struct fm_recording *session, const struct fm_recording *observed)
{
	bool own_cache = session->squeezes[0].cache < 2;

	if (observed->run.signal || observed->run.exit_status != session->run.exit_status)
		return "the program ended differently when its lines were followed";
	if (!fm_curve_of_program(observed))
		return "no lines were followed";
	return own_cache && has_threads(observed)
	           ? "each of its threads has a cache of its own, and the curve is of all "
	             "of them together"
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

	if (TIMES_AS_LONG * session->recording->squeeze_steps[0].seconds + AT_LEAST > SHARE * seconds_left)
		snprintf(why, sizeof(why),
		         "no time was left for it: 'fathom stat --curve' tells it, or a longer --budget");
	else
		observe(session, why, sizeof(why));
	if (*why)
		fm_recording_set(session->recording, FM_SECOND_OPINION_WHY, why);
}
