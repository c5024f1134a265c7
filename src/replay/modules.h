/* The mapped files of recorded programs: their segments, and the names of code and variables. Each is read at its first
   use. A missing file, or a file other than ELF, has no names. */
#ifndef FATHOM_REPLAY_MODULES_H
#define FATHOM_REPLAY_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/symbols.h"

struct fm_modules;

struct fm_module_variable {
	const char *name;       /* name in the linker's table */
	uint64_t address, size; /* in the file's own addresses; of a thread-local variable in its block */
};

struct fm_modules *fm_modules_create(void);
void fm_modules_free(struct fm_modules *modules);

/* The number of a file by its path, or -ENOMEM. */
int64_t fm_modules_find(struct fm_modules *modules, const char *path);

const char *fm_module_path(const struct fm_modules *modules, uint32_t module);
const char *fm_module_name(const struct fm_modules *modules, uint32_t module); /* last part of the path */
bool fm_module_is_program(struct fm_modules *modules, uint32_t module);        /* an ELF file with segments */

/* Converts an offset in the file to the file's own address. False: no segment there. */
bool fm_module_address(struct fm_modules *modules, uint32_t module, uint64_t offset, uint64_t *ret_address);

/* The range of all its own addresses. */
void fm_module_extent(struct fm_modules *modules, uint32_t module, uint64_t *ret_begin, uint64_t *ret_end);

/* Is the address writable? Variables that are not constant lie there. */
bool fm_module_is_writable(struct fm_modules *modules, uint32_t module, uint64_t address);

/* Size of the block of thread-local variables, rounded to its alignment; 0: none. */
uint64_t fm_module_local_bytes(struct fm_modules *modules, uint32_t module);

/* The variable at one of the file's own addresses, or at an offset in its thread-local block; NULL: none. */
const struct fm_module_variable *fm_module_variable(struct fm_modules *modules, uint32_t module, uint64_t address,
                                                    bool per_thread);

/* Writes the type of a variable; "" if not known. */
void fm_module_type(struct fm_modules *modules, uint32_t module, const char *variable, char *text, size_t size);

/* Function, file and line of the code at an offset. False: none. */
bool fm_module_names(struct fm_modules *modules, uint32_t module, uint64_t offset, struct fm_location_names *ret_names);

#endif
