/* Shared by the files of this folder. */
#ifndef FATHOM_SYMBOLS_INTERNAL_H
#define FATHOM_SYMBOLS_INTERNAL_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fm_symbols;
struct fm_location_names;
struct fm_units;
struct fm_unit;
struct fm_variables;

Dwfl *fm_symbols_dwfl(struct fm_symbols *symbols);
struct fm_variables **fm_symbols_variables(struct fm_symbols *symbols);

/* demangle.c: names are cut at this length. */
enum { FM_DEMANGLED_MAX = 4096 };

/* Demangles a name; "…" marks a truncated one. False: not mangled. */
bool fm_demangle(const char *name, bool with_parameters, char *buffer, size_t size);

/* A printable copy, demangled if possible. Free it. NULL: out of memory. */
char *fm_demangle_copy(const char *name, bool with_parameters);

/* debug_files.c: the callback that finds separate debug files. */
int fm_debug_file_find(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *path,
                       const char *link, GElf_Word link_checksum, char **ret_path);

/* units.c: the compile units of a file, their lines and inlined calls. */
struct fm_units *fm_units_create(Dwfl_Module *module);
void fm_units_destroy(struct fm_units *units);
struct fm_unit *fm_units_find(struct fm_units *units, uint64_t address);
bool fm_unit_is_fortran(const struct fm_unit *unit);

/* The function compiled at the address: demangled without parameters, and as in its source. NULL if unknown. Both texts
   live as long as the units. */
const char *fm_unit_function(struct fm_units *units, struct fm_unit *unit, uint64_t address);
const char *fm_unit_written_function(struct fm_units *units, struct fm_unit *unit, uint64_t address);

/* Sets line and frames of an address. */
void fm_unit_describe(struct fm_units *units, struct fm_unit *unit, uint64_t address, struct fm_location_names *names);

/* fields.c */
void fm_variables_destroy(struct fm_variables *variables);

/* False if the offset of the next sibling does not grow, as in damaged files. */
bool fm_next_sibling(Dwarf_Die *die);

#endif
