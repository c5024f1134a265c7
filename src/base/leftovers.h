/* Files of runs in shared memory or temporary folders. One file, such as fathom-run-XXXXXX with the results, has a
   lock that the tool holds for as long as it lives; the names of others begin with that name. */
#ifndef FATHOM_BASE_LEFTOVERS_H
#define FATHOM_BASE_LEFTOVERS_H

/* Where they may be, besides TMPDIR: memory rather than a disk that would have to write all of it. */
#define FM_LEFTOVERS_FOLDERS "/dev/shm", "/tmp", "/var/tmp"

#define FM_RUN_NAME "fathom-run-"         /* results, and …-native, the folder of the native engine */
#define FM_MARKERS_NAME "fathom-regions-" /* regions */

/* Makes such a file, with that lock. Returns its descriptor, or a negative errno. `path` ends in XXXXXX, as
   mkstemp() wants it. */
int fm_leftovers_create(char *path);

/* Removes what runs of this user have left whose tool has died. A program of such a run may still live: it keeps what
   it has mapped, and goes on natively. */
void fm_leftovers_remove(void);

#endif
