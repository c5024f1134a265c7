#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/machines.h"
#include "observe/unfinished.h"
#include "recording/store.h"

void fm_unfinished_describe(const struct fm_session_folder *folder, const char *sampler, struct fm_recording *recording)
{
	struct fm_recorded_sampling *sampling = &recording->sampling;
	const struct fm_session *session = folder->session;

	snprintf(sampling->sampler, sizeof(sampling->sampler), "%s", sampler);
	snprintf(sampling->state, sizeof(sampling->state), "unfinished");
	snprintf(sampling->parts, sizeof(sampling->parts), "%s", strrchr(folder->path, '/') + 1);
	sampling->overhead_asked = session->overhead;
	sampling->rate_asked = session->rate;
	sampling->ticks_per_second = session->ticks_per_second;
	sampling->coarse_step = session->coarse_step;
	sampling->nodes = session->nodes;
	sampling->overhead = sampling->rate = fm_figure_unavailable("the recording is unfinished");
	recording->run.exit_status = -1;
}

int fm_unfinished_keep(const struct fm_observation *wanted, struct fm_recording *recording, struct fm_error *error)
{
	struct fm_error ignored;
	char *profile;
	int r;

	if (!fm_profile_text(NULL, &profile, &ignored)) {
		r = fm_recording_set(recording, "profile", profile);
		free(profile);
		if (r)
			return fm_error_set(error, ENOMEM, "out of memory");
	}
	r = fm_recording_settle(recording, error);
	if (!r)
		r = fm_store_save(wanted->sampling->path, recording, error);
	if (r && error->code != ENOMEM)
		error->code = EIO;
	return r ? -error->code : 0;
}

void fm_unfinished_discard(const struct fm_observation *wanted, struct fm_session_folder *folder, bool kept)
{
	if (kept)
		unlink(wanted->sampling->path);
	fm_session_close(folder);
	fm_session_remove(folder->path);
}
