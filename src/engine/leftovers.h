/* Files of runs in shared memory or temporary folders: fathom-exact-XXXXXX with the results, others whose names begin
   so, and the folder fathom-exact-XXXXXX-native. Their tool holds a lock on the results for as long as it lives. */
#ifndef FATHOM_ENGINE_LEFTOVERS_H
#define FATHOM_ENGINE_LEFTOVERS_H

#define FM_RUN_NAME "fathom-exact-"

/* Makes the file for results, with that lock. Returns its descriptor, or a negative errno. `path` ends in XXXXXX, as
   mkstemp() wants it. */
int fm_leftovers_create(char *path);

/* Removes what runs of this user have left whose tool has died. A program of such a run may still live: it keeps what
   it has mapped, and goes on natively. */
void fm_leftovers_remove(void);

#endif
