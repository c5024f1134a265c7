/* Call stacks from the unwinding tables (.eh_frame) of the program and its libraries. Lock-free, with one table of
   memory; safe in signal handlers and allocation functions. */
#ifndef FATHOM_PRELOAD_UNWIND_H
#define FATHOM_PRELOAD_UNWIND_H

#include <stdint.h>

struct fm_unwind_registers {
	uint64_t pc, sp, bp;
	/* rarely needed: rbx, r12 … r15; 0: not known */
	uint64_t bx, r12, r13, r14, r15;
	uint64_t r10; /* locates the frame while a function aligns its stack */
	uint64_t di;  /* holds the return address inside vfork */
};

/* Maps the table of remembered rules, once per process, first of all. 0 or a negative errno. */
int fm_unwind_open(void);

/* Writes addresses from the innermost frame outwards: first registers->pc, then return addresses. Stops without a rule,
   where the stack does not grow, or after `most`. Reads the stack only from registers->sp (less the red zone of 128
   bytes) to the end of that stack; any register may be invalid. Continues through signal handlers, also from an
   alternate stack. Returns the number of addresses. */
unsigned fm_unwind(const struct fm_unwind_registers *registers, uint64_t *addresses, unsigned most);

/* Writes the call stack from the return address of the calling function on, or of the frame `skip` further out. Returns
   the number of addresses. */
unsigned fm_unwind_here(uint64_t *addresses, unsigned most, unsigned skip) __attribute__((noinline));

/* Libraries were loaded or unloaded: forgets their rules. */
void fm_unwind_forget(void);

#endif
