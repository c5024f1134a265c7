/* Room for the results. Their file is sparse, and a program that touches a page of it for which its file system has no
   room ends with SIGBUS, even if it only reads. So results begin as memory of the process itself; a page becomes the
   file's when its room has been reserved. What is written to pages that got none is lost, and nothing else happens. */
#ifndef FATHOM_ENGINE_ACCOUNT_ROOM_H
#define FATHOM_ENGINE_ACCOUNT_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/results.h"

/* The file that the command made. false: it cannot be used, or has no room. */
bool fm_room_open(const char *path, unsigned cores, bool timing);

/* A new file for another process: `name` in its folder, or in another one where there is room. */
bool fm_room_create(const char *name, unsigned cores, bool timing);

/* Instead of a file: all of it is the process's own. */
void fm_room_none(void);

/* Results in the file that was opened or created last, at an address, or anywhere with NULL. NULL: no memory. */
struct fm_results *fm_room_use(struct fm_results *where);

/* Before a part is used for the first time. false: there is no room for it, nobody will see what is written there. Not
   while others write to the same page. */
bool fm_room_claim(const void *begin, size_t bytes);

/* The first page of the first process's results, which all others share; NULL when it is not there. */
struct fm_results *fm_room_first(const char *path);

#endif
