/* What the counters of a simulated machine count besides the program: NAME.floors beside NAME.machine.

       # comment
       UNC_M_*   tool=300 other=2e6 walks=1
       *         tool=40  other=5e5 walks=0.5

   Of each event the first line counts whose pattern (as of file names) matches. `tool` is what starting and stopping
   the counters adds to every run, `other` what other work adds per second, `walks` what each page walk adds. The tool
   adds about the same every time, the others by chance. */
#ifndef FATHOM_TRUST_FLOORS_H
#define FATHOM_TRUST_FLOORS_H

#include "base/error.h"
#include "base/random.h"

struct fm_floors;

/* By the name or path of a machine; NULL in ret_floors when it has no such file, and counters without a floor. A file
   with a mistake: -EBADMSG. */
int fm_floors_load(const char *machine, struct fm_floors **ret_floors, struct fm_error *error);
int fm_floors_parse(const char *text, const char *file, struct fm_floors **ret_floors, struct fm_error *error);
void fm_floors_free(struct fm_floors *floors);

/* What is added to one count. */
double fm_floors_draw(const struct fm_floors *floors, const char *event, double seconds, double walks,
                      struct fm_random *random);

#endif
