/* A block in the making: registers that are borrowed from the program for a while, and where what holds. */
#ifndef FATHOM_TRANSLATE_MAKING_H
#define FATHOM_TRANSLATE_MAKING_H

#include "translate/internal.h"

/* Where the program's value of a borrowed register is. */
uint64_t *fm_making_slot(struct work *work, unsigned number);

/* Says what holds from here on. Called wherever it changes. */
void fm_making_mark(struct work *work, enum pc_kind kind);

/* From here on its value is in its slot. */
void fm_making_spill(struct work *work, unsigned number);

/* A register that may be overwritten, its value being in its slot; none of `exclude`. */
unsigned fm_making_borrow(struct work *work, unsigned exclude, bool low);

/* Those of the mask that are borrowed get their values back. */
void fm_making_give_back(struct work *work, unsigned mask);

/* number := address. The registers of the address have their program's values. */
void fm_making_address(struct work *work, unsigned number, const struct address *address);

/* There is a register with the end of the log, none of `used`. */
void fm_making_begin_log(struct work *work, unsigned used);

#endif
