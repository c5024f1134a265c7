/* Mappings of the program's memory, for the names of code and data of samples. /proc/self/maps mixes them with QEMU's.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_MAPPINGS_H
#define FATHOM_ENGINE_QEMU_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

struct fm_part_writer;

/* Before the program is loaded: marks all present mappings as QEMU's. */
void fm_mappings_begin(void);

/* Writes all mappings of the program as a new list. */
void fm_mappings_write_all(struct fm_part_writer *writer);

/* Bounds of the mapping that contains an address; false: none. */
bool fm_mappings_around(uint64_t address, uint64_t *ret_begin, uint64_t *ret_end);

void fm_mappings_write(struct fm_part_writer *writer, uint64_t begin, uint64_t end, uint64_t offset,
                       uint32_t protection, const char *path);

/* After a system call: writes changed mappings that matter for names. */
void fm_mappings_called(struct fm_part_writer *writer, int64_t number, bool x86, const uint64_t *arguments,
                        int64_t result);

/* True for code of the library that Fathom preloads. */
bool fm_mappings_is_own(uint64_t address);

#endif
