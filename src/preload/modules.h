/* The program or library of an instruction. Safe in signal handlers, except for the two functions marked. */
#ifndef FATHOM_PRELOAD_MODULES_H
#define FATHOM_PRELOAD_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct fm_module {
	uint64_t start, end;
	uint64_t header; /* .eh_frame_hdr */
};

/* Reads the list of modules: once, and after each load or unload of a library. Not in signal handlers. */
void fm_modules_open(void);
void fm_modules_changed(void);

/* Finds the module of `pc`, among modules with unwinding tables. False: none. */
bool fm_modules_holding(uint64_t pc, struct fm_module *ret_module);

/* _dl_find_object() of the C library, called by its address; keeps the vector registers. */
struct dl_find_object;
typedef int find_object_function(void *address, struct dl_find_object *result);
int fm_call_find_object(find_object_function *function, void *address, struct dl_find_object *result);

#pragma GCC visibility pop

#endif
