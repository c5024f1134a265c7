/* The name of the recording of a run. An earlier recording is never lost: the default name is rotated, and a chosen
   name that exists is refused. */
#ifndef FATHOM_CLI_RECORDING_NAME_H
#define FATHOM_CLI_RECORDING_NAME_H

#include "cli/command.h"

enum { FM_KEY_FORCE = FM_KEY_OWN + 100 };

#define FM_OPTION_FORCE                                                                            \
	{                                                                                          \
		"force", FM_KEY_FORCE, NULL, 0, "With -o: replace a recording of the same name", 0 \
	}

/* Before a program runs: fm_run_check() of *path. If it is NULL, it becomes fathom.fathom, and a recording of this name
   becomes fathom.fathom.old. -EINVAL: *path exists, without `force`. -EBUSY: another recording is at work there. */
int fm_recording_name_prepare(const char **path, bool force, const struct fm_common *common, struct fm_error *error);

#endif
