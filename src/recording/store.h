/* A recording as one SQLite file, NAME.fathom, with documented tables (docs/recording.md) that any SQL tool can read.
 */
#ifndef FATHOM_RECORDING_STORE_H
#define FATHOM_RECORDING_STORE_H

#include "recording/recording.h"

enum { FM_STORE_APPLICATION = 0x4661746d /* "Fatm" */, FM_STORE_VERSION = 1 };

/* Can a recording be kept there? Before a long run. A file that is no recording is not replaced (-EEXIST). */
int fm_store_check(const char *path, struct fm_error *error);

/* The file is written beside its place and then renamed, so that there is a whole one or none. */
int fm_store_save(const char *path, const struct fm_recording *recording, struct fm_error *error);

/* Settled. -ENOENT, -EBADMSG with the reason for a file of another kind, a newer version, or a damaged one. */
int fm_store_load(const char *path, struct fm_recording **ret_recording, struct fm_error *error);

#endif
