/* Code in front of an instruction for its memory operands: they are logged, counted, or passed to the client. */
#ifndef FATHOM_TRANSLATE_X86_64_REFERENCES_H
#define FATHOM_TRANSLATE_X86_64_REFERENCES_H

#include "translate/x86_64/making.h"

/* As the client chooses for each operand. */
void fm_references_log(struct work *work, const struct instruction *instruction);

/* With undo: can the memory be restored after this instruction, and would a repetition do the same? */
bool fm_references_are_reversible(const struct instruction *instruction);

#endif
