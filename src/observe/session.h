/* The folder that a recorded program writes into, and the session file in it (record/stream.h). Whoever records holds a
   lock on that file, so that others know whether somebody is at work. */
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

/* Makes the folder PATH.parts, for its owner alone; an old one that is ours and that nobody works on is removed first.
   -EEXIST, -EBUSY with words. `begun` is now; call it just before the program starts. */
int fm_session_create(const char *path, const struct fm_sampling_wishes *wishes, struct fm_session_folder *ret_folder,
                      struct fm_error *error);

/* Ends the lock and the mapping; the files stay. */
void fm_session_close(struct fm_session_folder *folder);

/* Removes the files that are ours, and the folder if it is empty then. Links are not followed. */
void fm_session_remove(const char *folder);

/* The folder of that name beside a recording; the name comes from a file and is not trusted. */
int fm_session_folder_of(const char *path, const char *name, char *ret_folder, size_t size, struct fm_error *error);

/* Does somebody record there? -ENOENT when there is no session. */
int fm_session_is_locked(const char *folder, bool *ret_locked);

/* How many processes have files there that are not complete, and live. */
/* Processes that were not recorded, since others of the same program had ended soon. Of a session that was created
   here. */
uint64_t fm_session_skipped(const struct fm_session *session);

/* Removes the folder PATH.parts if a tool has left it that died; nothing else. */
void fm_session_clear(const char *path);

unsigned fm_session_living(const char *folder);

/* The environment for the program: runs with the library preloaded, and knows the folder. What was before is kept in
   ret_saved, for fm_session_restore(). */
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

/* The step of a counter by differences between readings after all kinds of delays: 1 for a fine one. */
uint32_t fm_ticks_step_of(const uint32_t *differences, unsigned count);
uint64_t fm_ticks_now(void);

#endif
