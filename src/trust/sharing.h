/* Events that count in handovers only, and no quantity explains: what they are good for as counts of lines that move
   between cores. They get the class "indicator", with their error by the length of what is handed over. */
#ifndef FATHOM_TRUST_SHARING_H
#define FATHOM_TRUST_SHARING_H

#include "trust/judge.h"

/* After fm_judge() of all events. */
void fm_sharing_judge(const struct fm_matrix *matrix, struct fm_judgement *judgements);

/* Does it count in handovers, and hardly anything in all other runs? */
bool fm_sharing_counts_only_handovers(const struct fm_matrix *matrix, unsigned event);

#endif
