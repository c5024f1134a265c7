/* Access to the program's memory. It is in this address space, but its pointers may be invalid: the kernel checks them.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_ENGINE_QEMU_GUEST_H
#define FATHOM_ENGINE_QEMU_GUEST_H

#include <stddef.h>
#include <stdint.h>

/* Copies from the program's memory. Returns the number of readable bytes. */
size_t fm_guest_copy(void *target, size_t size, uint64_t address);

/* Writes to the program's memory; no effect if it is not writable. */
void fm_guest_write(uint64_t address, const void *source, size_t size);

/* Copies a string of up to `length` characters; always 0-terminated. */
void fm_guest_text(char *target, size_t size, uint64_t address, uint64_t length);

#endif
