/* The miss-ratio curve of a program that is squeezed live. One more run without limits follows its lines. The curve
   answers the same question by another method, and gives the misses at other amounts. */
#ifndef FATHOM_SQUEEZE_SECOND_OPINION_H
#define FATHOM_SQUEEZE_SECOND_OPINION_H

#include "squeeze/backend.h"

/* Adds the program's curve and the caches of this machine to the recording of the session, unless that takes more than
   a part of `seconds_left`; otherwise records the reason. The program's output is discarded. */
#define FM_SECOND_OPINION_WHY "curve_why"
void fm_second_opinion_take(struct fm_squeeze_session *session, double seconds_left);

#endif
