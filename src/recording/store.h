/* A recording as one SQLite file, NAME.fathom, with documented tables (docs/recording.md) that any SQL tool can read.
 */
#ifndef FATHOM_RECORDING_STORE_H
#define FATHOM_RECORDING_STORE_H

#include "recording/recording.h"

enum { FM_STORE_APPLICATION = 0x4661746d /* "Fatm" */, FM_STORE_VERSION = 1 };

/* Can a recording be saved at `path`? For a check before a long run. -EEXIST: a file that is no recording is not
   replaced. */
int fm_store_check(const char *path, struct fm_error *error);

/* Saves a recording: the file is written beside its place and renamed, so it is complete or absent. */
int fm_store_save(const char *path, const struct fm_recording *recording, struct fm_error *error);

/* Loads and settles a recording. -ENOENT; -EBADMSG with the reason for a file of another kind, of a newer version, or
   damaged. */
int fm_store_load(const char *path, struct fm_recording **ret_recording, struct fm_error *error);

#endif
