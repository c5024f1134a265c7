/* Runs code from a given state of the processor and notes the state it ends in. */
#ifndef FATHOM_TESTS_TRANSLATE_HARNESS_H
#define FATHOM_TESTS_TRANSLATE_HARNESS_H

#include <stdint.h>

enum { VECTOR_BYTES = 12288 };

struct state {
	uint64_t registers[16]; /* in the order of their encoding */
	uint64_t flags;
	uint64_t unused[7];
	uint8_t vectors[VECTOR_BYTES]; /* as xsave writes it */
};

extern uint64_t harness_mask; /* of xsave: set before the first run */

/* Jumps to code with the registers of the state, and returns with what they were when it jumped to harness_end. */
void harness_run(struct state *state, const void *code);
void harness_end(void);

#endif
