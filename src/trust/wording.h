/* The words, terms and formulas of a judgement. */
#ifndef FATHOM_TRUST_WORDING_H
#define FATHOM_TRUST_WORDING_H

#include "trust/stories.h"

/* Writes the common part of atoms: "lines read at random", "accesses of 8 bytes". */
void fm_word_accesses(const struct fm_quantities *all, uint64_t atoms, char *buffer, size_t size);

/* Appends to the reason. */
void fm_say(struct fm_judgement *judgement, const char *format, ...) __attribute__((format(printf, 2, 3)));

void fm_word_story(const struct fm_matrix *matrix, unsigned event, const struct fm_story *story,
                   struct fm_judgement *judgement);

/* Adds remarks to a judgement: an alternative quantity, counts in runs without content, and relevant columns of the
   truth that the file lacks. */
void fm_word_remarks(const struct fm_matrix *matrix, struct fm_judgement *judgement);

#endif
