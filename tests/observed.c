#include "observed.h"

#include "check.h"

#include <stdio.h>

#include "observe/parts.h"

struct fm_recording *observed(const struct fm_machine_description *machine, const struct fm_observation *wanted)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_error error;

	assert_non_null(recording);
	snprintf(recording->asked.machine, sizeof(recording->asked.machine), "%s", machine->name);
	recording->asked.question = FM_QUESTION_EXACT;
	recording->native.seconds = recording->run.elapsed = fm_figure_unavailable("not observed");
	if (fm_engine_observe(wanted, machine, recording, &error) || fm_recording_settle(recording, &error))
		fail_msg("%s", error.message);
	assert_int_equal(recording->run.exit_status, 0);
	return recording;
}
