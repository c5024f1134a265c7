/* Floors of the counters of a simulated machine, counts that are not the program's: NAME.floors beside NAME.machine.

       # comment
       UNC_M_*   tool=300 other=2e6 walks=1
       *         tool=40  other=5e5 walks=0.5

   An event uses the first line with a matching pattern (as of file names). `tool` is added to every run by starting and
   stopping the counters, `other` per second by other work, `walks` by each page walk. The tool adds about the same each
   time, the others vary at random. */
#ifndef FATHOM_TRUST_FLOORS_H
#define FATHOM_TRUST_FLOORS_H

#include "base/error.h"
#include "base/random.h"

struct fm_floors;

/* Loads the floors of a machine, by its name or path. *ret_floors is NULL, and counters have no floor, if the file does
   not exist. -EBADMSG if it is invalid. */
int fm_floors_load(const char *machine, struct fm_floors **ret_floors, struct fm_error *error);
int fm_floors_parse(const char *text, const char *file, struct fm_floors **ret_floors, struct fm_error *error);
void fm_floors_free(struct fm_floors *floors);

/* Draws the addition to one count. */
double fm_floors_draw(const struct fm_floors *floors, const char *event, double seconds, double walks,
                      struct fm_random *random);

#endif
