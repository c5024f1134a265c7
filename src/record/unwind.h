/* Call stacks from the unwinding tables (.eh_frame) of the program and its libraries, without locks and without memory
   of its own but one table: in signal handlers, in allocation functions, in the middle of anything. */
#ifndef FATHOM_RECORD_UNWIND_H
#define FATHOM_RECORD_UNWIND_H

#include <stdint.h>

struct fm_unwind_registers {
	uint64_t pc, sp, bp;
	/* others are needed rarely: rbx, r12 … r15, as known; 0 when not */
	uint64_t bx, r12, r13, r14, r15;
	uint64_t r10; /* finds the frame while a function aligns its stack */
	uint64_t di;  /* holds the return address inside vfork */
};

/* Maps the table of remembered rules. Once per process, before anything else; 0 or a negative errno. */
int fm_unwind_open(void);

/* Addresses from the innermost frame outwards: the first is registers->pc, the others are return addresses. Stops where
   there is no rule, where the stack does not grow, or after `most`. Memory of the stack is read only between
   registers->sp (less the red zone of 128 bytes) and the end of the stack it lies in; no register needs to hold
   anything sensible. Goes on through signal handlers, also from their alternate stack. Returns how many there are. */
unsigned fm_unwind(const struct fm_unwind_registers *registers, uint64_t *addresses, unsigned most);

/* The stack of the caller, beginning with the return address of the function that calls this, or of the one `skip`
   frames further out. */
unsigned fm_unwind_here(uint64_t *addresses, unsigned most, unsigned skip) __attribute__((noinline));

/* Libraries came or went: what was remembered of them is void. */
void fm_unwind_forget(void);

#endif
