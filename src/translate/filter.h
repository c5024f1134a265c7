/* Operands that are logged only if their line is one of those that are followed: struct fm_translate_filter. */
#ifndef FATHOM_TRANSLATE_FILTER_H
#define FATHOM_TRANSLATE_FILTER_H

#include "translate/internal.h"

/* Which operands of the block, and where: as early as its registers allow, where the flags may be overwritten. */
void fm_filter_plan(struct work *work, unsigned count);

/* Code for all that are looked at in front of this instruction. */
void fm_filter_look(struct work *work, unsigned index);

/* Whether the flags are kept for some operand of these instructions. There the piece can be counted too. */
bool fm_filter_keeps_flags(const struct work *work, unsigned from, unsigned length);

/* What is done with lines that are followed, away from the block. */
void fm_filter_finish(struct work *work);

/* What all of them share. Returns its end. */
uint8_t *fm_filter_routines(struct fm_translator *translator, uint8_t *at);

/* Can this processor do it? */
bool fm_filter_possible(void);

#endif
