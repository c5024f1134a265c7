/* The program's memory. Its addresses are ours, but a pointer of its may be anything: the kernel checks.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_GUEST_H
#define FATHOM_ENGINE_QEMU_GUEST_H

#include <stddef.h>
#include <stdint.h>

/* Returns how many bytes could be read. */
size_t fm_guest_copy(void *target, size_t size, uint64_t address);

/* Nothing when it is not the program's to write. */
void fm_guest_write(uint64_t address, const void *source, size_t size);

/* Up to `length` characters, ended by 0 whatever they are. */
void fm_guest_text(char *target, size_t size, uint64_t address, uint64_t length);

#endif
