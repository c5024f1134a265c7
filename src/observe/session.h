/* The folder of a recorded program, with the session file (record/stream.h). The recording tool holds a lock on that
   file, which shows that the recording is at work. */
#ifndef FATHOM_OBSERVE_SESSION_H
#define FATHOM_OBSERVE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "observe/sampling_wishes.h"
#include "record/stream.h"

struct fm_session_folder {
	char path[4096];
	int file;                   /* of the session, locked */
	struct fm_session *session; /* mapped, shared with the programs */
};

/* Creates the folder PATH.parts with access for its owner only; first removes an old, unlocked folder of Fathom.
   -EEXIST, -EBUSY with a message. Sets `begun` to the present time: call it just before the program starts. */
int fm_session_create(const char *path, const struct fm_sampling_wishes *wishes, struct fm_session_folder *ret_folder,
                      struct fm_error *error);

/* Ends the lock and the mapping; the files stay. */
void fm_session_close(struct fm_session_folder *folder);

/* Removes Fathom's files, and the folder if it is then empty. Links are not followed. */
void fm_session_remove(const char *folder);

/* The folder of that name beside a recording; the name comes from a file and is not trusted. */
int fm_session_folder_of(const char *path, const char *name, char *ret_folder, size_t size, struct fm_error *error);

/* Checks if a tool holds the lock of the session. -ENOENT without a session. */
int fm_session_is_locked(const char *folder, bool *ret_locked);

/* Number of unrecorded processes: earlier processes of the same program had ended soon. For a session created by this
   process. */
uint64_t fm_session_skipped(const struct fm_session *session);

/* Removes the folder PATH.parts if the tool that created it has died. */
void fm_session_clear(const char *path);

/* Number of living processes with incomplete files in the folder. */
unsigned fm_session_living(const char *folder);

/* Sets the environment for the program: preloaded library and folder. Saves the old values for fm_session_restore(). */
struct fm_session_environment {
	char *preload, *folder;
	bool had_preload, had_folder;
};
int fm_session_export(const struct fm_session_folder *folder, const char *library,
                      struct fm_session_environment *ret_saved);
void fm_session_restore(struct fm_session_environment *saved);

/* Properties of the time stamp. */
double fm_ticks_per_second(void);
uint32_t fm_ticks_step(void);

/* The step of a counter, from differences between readings after various delays; 1: fine-grained. */
uint32_t fm_ticks_step_of(const uint32_t *differences, unsigned count);

#endif
