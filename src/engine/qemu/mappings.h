/* What is mapped where in the program's memory, for the names of code and data that samples are in. QEMU's own mappings
   are in the same list of the kernel's.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_MAPPINGS_H
#define FATHOM_ENGINE_QEMU_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

struct fm_part_writer;

/* Before the program is loaded: all that is there is QEMU's. */
void fm_mappings_begin(void);

/* All of the program's, as a new list. */
void fm_mappings_write_all(struct fm_part_writer *writer);

/* The one around an address; false: there is none. */
bool fm_mappings_around(uint64_t address, uint64_t *ret_begin, uint64_t *ret_end);

void fm_mappings_write(struct fm_part_writer *writer, uint64_t begin, uint64_t end, uint64_t offset,
                       uint32_t protection, const char *path);

/* A system call has returned that changed them, as far as that matters to names. */
void fm_mappings_called(struct fm_part_writer *writer, int64_t number, bool x86, const uint64_t *arguments,
                        int64_t result);

/* Is this code of the library that Fathom itself puts into the program? */
bool fm_mappings_is_own(uint64_t address);

#endif
