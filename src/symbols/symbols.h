/* Functions, source lines and inlined calls of addresses, from ELF symbols and DWARF, and names as people write them.
   Debugging information may lie in files of its own: found by build-id or by name, in the folders of FATHOM_DEBUG_PATH
   (separated by colons), beside the program, and in /usr/lib/debug. Nothing is fetched from anywhere. */
#ifndef FATHOM_SYMBOLS_SYMBOLS_H
#define FATHOM_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct fm_symbols;

enum {
	FM_SYMBOLS_FUNCTION = 160, /* room for a function's name */
	FM_SYMBOLS_FILE = 160,     /* room for a file's name */
	FM_SYMBOLS_FRAMES_MAX = 8,
};

/* A function and the line in it: the line that is executed, or the line of an inlined call. */
struct fm_frame_names {
	char function[FM_SYMBOLS_FUNCTION]; /* without parameters */
	char file[FM_SYMBOLS_FILE];         /* "" when not known */
	int line;
};

/* What does not fit has "…" in its middle. A function loses its parameters first. */
struct fm_location_names {
	char function[FM_SYMBOLS_FUNCTION]; /* the one that was compiled, into which others may be inlined; "?" */
	char file[FM_SYMBOLS_FILE];         /* of the innermost line; "" when there is no line information */
	int line;
	char module[64];                   /* last part of its path */
	char inlined[FM_SYMBOLS_FUNCTION]; /* the innermost inlined function, that of file and line; "" when none is */
	/* From the innermost inlined function to the one they are all inlined into. 0 when nothing is inlined here. Of
	   more than FM_SYMBOLS_FRAMES_MAX those before the last are left out. */
	unsigned frame_count;
	struct fm_frame_names frames[FM_SYMBOLS_FRAMES_MAX];
	const char
	    *full_function; /* with parameters and whole, up to some thousand bytes; until fm_symbols_destroy() */
	uint64_t entry;     /* where the function begins, which tells namesakes apart; 0 when not known */
};

int fm_symbols_create(struct fm_symbols **ret_symbols, struct fm_error *error);
void fm_symbols_destroy(struct fm_symbols *symbols);

/* A mapping of a file into the program: [begin, end) shows the file from offset on. A file that cannot be read only
   leaves its addresses without names. */
void fm_symbols_add(struct fm_symbols *symbols, const char *path, uint64_t begin, uint64_t end, uint64_t offset);

/* After the last fm_symbols_add. */
void fm_symbols_ready(struct fm_symbols *symbols);

void fm_symbols_find(struct fm_symbols *symbols, uint64_t address, struct fm_location_names *ret_names);

/* "kernel.h:12 (add) inlined into solver.c:40 (step)", or "solver.c:40 (step)" where nothing is inlined; files by the
   last part of their path. Returns buffer. */
const char *fm_symbols_chain(const struct fm_location_names *names, char *buffer, size_t size);

/* What lies at an offset in a variable: "counters.words[1]", as far as the debugging information tells; otherwise just
   the variable, and false. The variable is named as in the ELF file, and demangled in the text. */
bool fm_symbols_field(struct fm_symbols *symbols, const char *variable, uint64_t offset, char *text, size_t size);

/* The type of a variable: "double [1000]", "struct node *"; false when the debugging information does not tell. */
bool fm_symbols_type(struct fm_symbols *symbols, const char *variable, char *text, size_t size);

/* A variable of an ELF file. `name` is the linker's and lasts as long as the symbols. */
struct fm_symbol_object {
	const char *name;
	uint64_t address; /* of a thread-local one: its offset in the block that each thread has of this file */
	uint64_t size;
	bool per_thread;
};

/* All variables of all files that were added. */
void fm_symbols_objects(struct fm_symbols *symbols, void (*each)(void *context, const struct fm_symbol_object *object),
                        void *context);

/* The name as it was written in C++, Rust or a Fortran module, put into the buffer; without parameters if there is no
   room for them, with "…" in the middle if there is still none. Returns buffer, or name itself when it is not mangled:
   any name may be passed. */
const char *fm_symbols_demangle(const char *name, char *buffer, size_t size);

/* Can C++ and Rust names be demangled in this build? */
bool fm_symbols_can_demangle(void);

#endif
