#include "squeeze/live_recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "observe/machines.h"
#include "observe/parts.h"
#include "squeeze/regions.h"

int fm_live_record(struct fm_squeeze_session *session, const struct fm_recorded_squeeze *how, struct fm_error *error)
{
	struct fm_recorded_squeeze *row = NULL;
	char *profile;

	session->recording = fm_recording_create();
	if (session->recording)
		row = fm_recording_add(session->recording, squeezes);
	if (!row)
		return fm_error_set(error, ENOMEM, "out of memory");
	*row = *how;
	snprintf(row->backend, sizeof(row->backend), "%s", session->backend->name);
	fm_observe_note_run(&session->wishes->observation, session->recording);
	snprintf(session->recording->run.verb, sizeof(session->recording->run.verb), "squeeze");
	/* nothing here depends on it */
	if (!fm_profile_text(NULL, &profile, &(struct fm_error){0})) {
		fm_recording_set(session->recording, "profile", profile);
		free(profile);
	}
	return 0;
}

struct fm_recorded_squeeze_step *fm_live_last_step(const struct fm_squeeze_session *session)
{
	return &session->recording->squeeze_steps[session->recording->squeeze_steps_count - 1];
}

/* Regions are a way to see progress, not a condition: without room for them, whole runs are compared. */
static void offer_markers(struct fm_squeeze_session *session)
{
	struct fm_error ignored;

	session->live.markers = NULL;
	if (!session->backend->toggle || (session->live.runs && !*session->region))
		return;
	if (!session->regions && fm_region_file_open(&session->regions, &ignored))
		return;
	if (!fm_region_file_renew(session->regions, &ignored))
		session->live.markers = fm_region_file_markers(session->regions);
}

static void choose_region(struct fm_squeeze_session *session, double seconds)
{
	struct fm_marked *marked;
	struct fm_error ignored;
	uint64_t lost;
	unsigned count;

	if (!session->live.markers || fm_markers_read(session->live.markers, &marked, &count, &lost, &ignored))
		return;
	if (fm_region_choose(marked, count, seconds))
		snprintf(session->region, sizeof(session->region), "%s", fm_region_choose(marked, count, seconds));
	fm_marked_free(marked, count);
}

int fm_live_step(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs,
                 const struct fm_live_run *run, struct fm_error *error)
{
	struct fm_recorded_squeeze_step *step;
	bool first = !session->live.runs;
	struct fm_live_end end;
	int r;

	offer_markers(session);
	r = fm_live_execute(&session->live, &session->wishes->observation, run, &end, error);

	if (r == -EINTR)
		return fm_error_set(error, ECANCELED, "it was interrupted");
	if (r)
		return r;
	/* the first run is recorded */
	if (session->live.watch)
		return 0;
	step = fm_recording_add(session->recording, squeeze_steps);
	if (!step)
		return fm_error_set(error, ENOMEM, "out of memory");
	*step = (struct fm_recorded_squeeze_step){
	    .bytes = bytes, .gbs = gbs, .seconds = end.end.seconds, .role = role, .disturbed = end.disturbed};
	if (first) {
		choose_region(session, end.end.seconds);
		session->recording->run.exit_status = end.end.status;
		session->recording->run.signal = end.end.signal;
	}
	return 0;
}

int fm_live_give_up(struct fm_squeeze_session *session, int r)
{
	fm_recording_free(session->recording);
	session->recording = NULL;
	return r;
}
