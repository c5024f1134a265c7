/* What the files of this folder share. */
#ifndef FATHOM_SYMBOLS_INTERNAL_H
#define FATHOM_SYMBOLS_INTERNAL_H

#include <elfutils/libdwfl.h>

struct fm_symbols;

Dwfl *fm_symbols_dwfl(struct fm_symbols *symbols);

#endif
