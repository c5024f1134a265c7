/* The miss-ratio curve of a program that is squeezed live: in one more run its lines are followed, and nothing is taken
   away. It answers the same question by another method, and says how many more misses come with amounts that were not
   tried. */
#ifndef FATHOM_SQUEEZE_SECOND_OPINION_H
#define FATHOM_SQUEEZE_SECOND_OPINION_H

#include "squeeze/backend.h"

/* Adds the program's curve and the caches of this machine to the recording of the session, unless that would take more
   than a part of so many seconds; or else says why not in its text of this name. What the program writes then is thrown
   away. */
#define FM_SECOND_OPINION_WHY "curve_why"
void fm_second_opinion_take(struct fm_squeeze_session *session, double seconds_left);

#endif
