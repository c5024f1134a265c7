/* Functions, source lines and inlined calls of addresses, from ELF symbols and DWARF, with demangled names. Debug files
   are found by build-id or name in the folders of FATHOM_DEBUG_PATH (separated by colons), beside the program, and in
   /usr/lib/debug. Nothing is downloaded. */
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

/* A function and its line: the executed line, or that of an inlined call. */
struct fm_frame_names {
	char function[FM_SYMBOLS_FUNCTION]; /* without parameters */
	char file[FM_SYMBOLS_FILE];         /* "" if unknown */
	int line;
};

/* File and line are those of the innermost frame outside of the sources of compilers and libraries, such as <vector>,
   if there is one. A long text has "…" in its middle. A function loses its parameters first. */
struct fm_location_names {
	char function[FM_SYMBOLS_FUNCTION]; /* the compiled function, with inlined ones; "?" */
	char file[FM_SYMBOLS_FILE];         /* of the line; "" without line information */
	int line;
	char module[64];                   /* last component of its path */
	char inlined[FM_SYMBOLS_FUNCTION]; /* the inlined function of file and line; "" if none */
	/* From the innermost inlined function to the compiled one; 0 without inlining. Beyond FM_SYMBOLS_FRAMES_MAX
	   those before the last are omitted. */
	unsigned frame_count;
	struct fm_frame_names frames[FM_SYMBOLS_FRAMES_MAX];
	const char *full_function; /* with parameters, up to some thousand bytes; until fm_symbols_destroy() */
	uint64_t entry;            /* start of the function, which distinguishes equal names; 0 if unknown */
};

int fm_symbols_create(struct fm_symbols **ret_symbols, struct fm_error *error);
void fm_symbols_destroy(struct fm_symbols *symbols);

/* Adds a mapping of a file into the program: [begin, end) is the file from `offset` on. Addresses in an unreadable file
   have no names. */
void fm_symbols_add(struct fm_symbols *symbols, const char *path, uint64_t begin, uint64_t end, uint64_t offset);

/* Adds a whole file. `bias`: added to all addresses of the file. */
void fm_symbols_add_file(struct fm_symbols *symbols, const char *path, uint64_t bias);

/* Completes the mappings, after the last fm_symbols_add(). */
void fm_symbols_ready(struct fm_symbols *symbols);

void fm_symbols_find(struct fm_symbols *symbols, uint64_t address, struct fm_location_names *ret_names);

/* Is this a source of a compiler or library? Its lines mean little to a programmer who calls them. */
bool fm_symbols_is_foreign(const char *file);

/* Writes "kernel.h:12 (add) inlined into solver.c:40 (step)", or "solver.c:40 (step)" without inlining; files by the
   last component of their path. Returns `buffer`. */
const char *fm_symbols_chain(const struct fm_location_names *names, char *buffer, size_t size);

/* Writes the member at an offset in a variable: "counters.words[1]". False without debugging information: the variable
   only. The argument is the name in the ELF file; the text is demangled. */
bool fm_symbols_field(struct fm_symbols *symbols, const char *variable, uint64_t offset, char *text, size_t size);

/* Writes the type of a variable: "double [1000]", "struct node *". False without debugging information. */
bool fm_symbols_type(struct fm_symbols *symbols, const char *variable, char *text, size_t size);

/* A variable of an ELF file. `name` is the linker's and lives as long as the symbols. */
struct fm_symbol_object {
	const char *name;
	uint64_t address; /* of a thread-local variable: the offset in its file's thread-local block */
	uint64_t size;
	bool per_thread;
};

/* Calls `each` for all variables of all added files. */
void fm_symbols_objects(struct fm_symbols *symbols, void (*each)(void *context, const struct fm_symbol_object *object),
                        void *context);

/* Demangles a name (C++, Rust, Fortran modules) into the buffer; if too long, without parameters, then with "…" in the
   middle. Returns `buffer`, or an unmangled name itself. */
const char *fm_symbols_demangle(const char *name, char *buffer, size_t size);

/* Can this build demangle C++ and Rust names? */
bool fm_symbols_can_demangle(void);

#endif
