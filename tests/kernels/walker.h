/* Executes a kernel by decoding it, so that variants the processor does not have can be checked too. Integer
   instructions are carried out; vector instructions are only counted, since no kernel's path or address depends on
   them, except for pointers parked in vector registers. Anything unknown is an error. */
#ifndef FATHOM_TESTS_WALKER_H
#define FATHOM_TESTS_WALKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/kernel.h"

struct walk_access {
	uintptr_t address;
	unsigned bytes;
	bool store;
	bool nontemporal;
};

struct walk {
	uint64_t instructions;
	uint64_t path; /* hash of the addresses executed */
	uint64_t loads, stores;
	uint64_t loaded_bytes, stored_bytes;
	uint64_t flops;
	/* called for every access outside the argument struct and the stack; may be NULL */
	void (*on_access)(void *context, const struct walk_access *access);
	void *context;
	bool partner; /* answer every integer store by adding one to the stored word, as a waiting partner would */
	char problem[128];
};

/* True when the kernel returned; otherwise problem says why not. */
bool walk_kernel(fm_kernel_function function, struct fm_kernel_arguments *arguments, struct walk *walk);

uint64_t walk_hash(uint64_t hash, uintptr_t address);

#endif
