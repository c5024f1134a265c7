/* The code of a traced process: where it is mapped from, and its bytes. The process may end at any moment, so that what
   is known is kept. */
#ifndef FATHOM_ENGINE_NATIVE_CODE_H
#define FATHOM_ENGINE_NATIVE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulator/work.h"

struct fm_code;

/* Of a process; 0: of none, everything is unknown. NULL without memory. */
struct fm_code *fm_code_create(unsigned process);
void fm_code_destroy(struct fm_code *code);

/* Its mappings have changed. */
void fm_code_look_again(struct fm_code *code);

/* The file with the code at an address becomes a module of the results, once. */
void fm_code_note_module(struct fm_code *code, uint64_t address);

/* Up to `size` bytes of the code at an address. Returns how many there are. */
size_t fm_code_bytes(struct fm_code *code, uint64_t address, void *ret_bytes, size_t size);

/* What executing straight code once adds. What cannot be read or decoded are only instructions. */
struct fm_work fm_code_work(struct fm_code *code, uint64_t address, unsigned bytes, unsigned instructions);

#endif
