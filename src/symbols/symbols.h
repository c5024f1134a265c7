/* Functions and source lines of addresses, from ELF symbols and DWARF. */
#ifndef FATHOM_SYMBOLS_SYMBOLS_H
#define FATHOM_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct fm_symbols;

struct fm_location_names {
	char function[160]; /* "?" when not known */
	char file[160];     /* "" when there is no line information */
	int line;
	char module[64]; /* last part of its path */
};

int fm_symbols_create(struct fm_symbols **ret_symbols, struct fm_error *error);
void fm_symbols_destroy(struct fm_symbols *symbols);

/* A mapping of a file into the program: [begin, end) shows the file from offset on. A file that cannot be read only
   leaves its addresses without names. */
void fm_symbols_add(struct fm_symbols *symbols, const char *path, uint64_t begin, uint64_t end, uint64_t offset);

/* After the last fm_symbols_add. */
void fm_symbols_ready(struct fm_symbols *symbols);

void fm_symbols_find(struct fm_symbols *symbols, uint64_t address, struct fm_location_names *ret_names);

/* What lies at an offset in a variable: "counters.words[1]", as far as the debugging information tells; otherwise just
   the variable, and false. */
bool fm_symbols_field(struct fm_symbols *symbols, const char *variable, uint64_t offset, char *text, size_t size);

#endif
