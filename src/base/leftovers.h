/* Files of runs in shared memory or temporary folders. One file of a run, such as fathom-run-XXXXXX with the results,
   is locked while the tool lives. The names of the other files begin with its name. */
#ifndef FATHOM_BASE_LEFTOVERS_H
#define FATHOM_BASE_LEFTOVERS_H

/* Folders in addition to TMPDIR: memory rather than a disk. */
#define FM_LEFTOVERS_FOLDERS "/dev/shm", "/tmp", "/var/tmp"

#define FM_RUN_NAME "fathom-run-"         /* results, and …-native, the folder of the native engine */
#define FM_MARKERS_NAME "fathom-regions-" /* regions */

/* Creates a locked file. Returns its descriptor or a negative errno. `path` ends in XXXXXX, as for mkstemp(). */
int fm_leftovers_create(char *path);

/* Removes files of this user's runs if their tool has died, and unlocked files older than a week. A program of such a
   run keeps its mappings and continues natively. */
void fm_leftovers_remove(void);

#endif
