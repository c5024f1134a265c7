/* Events that count only in cache line transfers and that no quantity explains: their value as counts of lines moved
   between cores. They get the class "indicator", with their error by the length of the transferred range. */
#ifndef FATHOM_TRUST_SHARING_H
#define FATHOM_TRUST_SHARING_H

#include "trust/judge.h"

/* Judges these events, after fm_judge() of all events. */
void fm_sharing_judge(const struct fm_matrix *matrix, struct fm_judgement *judgements);

/* Does the event count in transfers, and hardly in any other run? */
bool fm_sharing_counts_only_handovers(const struct fm_matrix *matrix, unsigned event);

#endif
