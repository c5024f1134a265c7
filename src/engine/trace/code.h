/* The code of a traced process: mapped files and code bytes. Kept here, since the process may end at any moment. */
#ifndef FATHOM_ENGINE_TRACE_CODE_H
#define FATHOM_ENGINE_TRACE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulator/work.h"

struct fm_account;
struct fm_code;

/* Reads the mappings of a process; 0: none, all code is unknown. NULL without memory. */
struct fm_code *fm_code_create(unsigned process);
void fm_code_destroy(struct fm_code *code);

/* Reads the mappings again after a change. */
void fm_code_look_again(struct fm_code *code);

/* Adds the file with the code at an address to the modules of the results, once. */
void fm_code_note_module(struct fm_code *code, struct fm_account *account, uint64_t address);

/* Copies up to `size` bytes of code. Returns the number of bytes. */
size_t fm_code_bytes(struct fm_code *code, uint64_t address, void *ret_bytes, size_t size);

/* The work of one execution of a basic block. Unreadable and undecodable instructions count as instructions only. */
struct fm_work fm_code_work(struct fm_code *code, uint64_t address, unsigned bytes, unsigned instructions);

#endif
