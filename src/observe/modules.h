/* The files that were mapped into recorded programs: how they lie in memory, what their code and their variables are
   called. Each is read once, when it is first asked for. A file that vanished, or is no ELF file, has no names. */
#ifndef FATHOM_OBSERVE_MODULES_H
#define FATHOM_OBSERVE_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/symbols.h"

struct fm_modules;

struct fm_module_variable {
	const char *name;       /* the linker's */
	uint64_t address, size; /* in the file's own addresses; of a thread-local one in its block */
};

struct fm_modules *fm_modules_create(void);
void fm_modules_free(struct fm_modules *modules);

/* The number of a file by its path; -ENOMEM. */
int64_t fm_modules_find(struct fm_modules *modules, const char *path);

const char *fm_module_path(const struct fm_modules *modules, uint32_t module);
const char *fm_module_name(const struct fm_modules *modules, uint32_t module); /* last part of the path */
bool fm_module_is_program(struct fm_modules *modules, uint32_t module);        /* an ELF file with segments */

/* The file's own address of what is at an offset in it; false when no segment has it. */
bool fm_module_address(struct fm_modules *modules, uint32_t module, uint64_t offset, uint64_t *ret_address);

/* All its own addresses. */
void fm_module_extent(struct fm_modules *modules, uint32_t module, uint64_t *ret_begin, uint64_t *ret_end);

/* Is this a place that can be written to? Variables that are not constant lie there. */
bool fm_module_is_writable(struct fm_modules *modules, uint32_t module, uint64_t address);

/* How large the block of thread-local variables is, rounded to its alignment; 0: none. */
uint64_t fm_module_local_bytes(struct fm_modules *modules, uint32_t module);

/* The variable at one of the file's own addresses, or at an offset in its block of thread-local ones; NULL. */
const struct fm_module_variable *fm_module_variable(struct fm_modules *modules, uint32_t module, uint64_t address,
                                                    bool per_thread);

/* "" when it is not known. */
void fm_module_type(struct fm_modules *modules, uint32_t module, const char *variable, char *text, size_t size);

/* Function, file and line of the code at an offset; false when there are none. */
bool fm_module_names(struct fm_modules *modules, uint32_t module, uint64_t offset, struct fm_location_names *ret_names);

#endif
