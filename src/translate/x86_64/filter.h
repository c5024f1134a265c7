/* Operands that are logged only if their line is followed: struct fm_translate_filter. */
#ifndef FATHOM_TRANSLATE_X86_64_FILTER_H
#define FATHOM_TRANSLATE_X86_64_FILTER_H

#include "translate/x86_64/making.h"

/* Plans the tests of the block's operands: as early as their registers allow, where the flags may be overwritten. */
void fm_filter_plan(struct work *work, unsigned count);

/* Emits the tests planned before this instruction. */
void fm_filter_look(struct work *work, unsigned index);

/* Do these instructions save flags for an operand? The piece can be counted there too. */
bool fm_filter_keeps_flags(const struct work *work, unsigned from, unsigned length);

/* Emits the code for followed lines, outside of the block. */
void fm_filter_finish(struct work *work);

/* Emits the code shared by all tests. Returns its end. */
uint8_t *fm_filter_routines(struct fm_translator *translator, uint8_t *at);

/* Does the processor support the filter? */
bool fm_filter_possible(void);

#endif
