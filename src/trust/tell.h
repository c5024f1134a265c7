/* The words, terms and formulas of what was found about an event. */
#ifndef FATHOM_TRUST_TELL_H
#define FATHOM_TRUST_TELL_H

#include "trust/stories.h"

/* "lines read at random", "accesses of 8 bytes": what atoms have in common. */
void fm_tell_accesses(const struct fm_quantities *all, uint64_t atoms, char *buffer, size_t size);

/* Append to the reason. */
void fm_say(struct fm_judgement *judgement, const char *format, ...) __attribute__((format(printf, 2, 3)));

void fm_tell(const struct fm_matrix *matrix, unsigned event, const struct fm_story *story,
             struct fm_judgement *judgement);

/* What there is to add: which quantity might be meant as well, what is counted when there is nothing to count, and
   which columns of the truth the file does not have, where that matters. */
void fm_tell_remarks(const struct fm_matrix *matrix, struct fm_judgement *judgement);

#endif
