/* A walk up a stack: shared by unwind.c and the expressions of unwinding tables. */
#ifndef FATHOM_PRELOAD_WALK_H
#define FATHOM_PRELOAD_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/rows.h"

#pragma GCC visibility push(hidden)

struct fm_stack_walk {
	uint64_t registers[FM_RETURN]; /* 0: not known */
	uint64_t pc;
	uint64_t low, high; /* readable part of the stack */
	bool own;
	bool exact; /* pc is the next instruction, not a return address */
	bool more;  /* registers are known beyond those that functions keep */
};

/* Extends the readable part to `end`, if the same memory continues to there. False: it does not. */
bool fm_walk_extend(struct fm_stack_walk *walk, uint64_t end);

/* Is the word at this address readable? */
static inline bool fm_walk_may_read(struct fm_stack_walk *walk, uint64_t address)
{
	return address >= walk->low && address < walk->low + (1ull << 46) &&
	       (address + 8 <= walk->high || fm_walk_extend(walk, address + 8));
}

static inline uint64_t fm_walk_register(const struct fm_stack_walk *walk, uint64_t number)
{
	return number < FM_RETURN ? walk->registers[number] : number == FM_RETURN ? walk->pc : 0;
}

/* Evaluates an expression of a row. `frame`: initial entry of the evaluation's stack, unless 0. False on failure. */
bool fm_walk_evaluate(struct fm_stack_walk *walk, const struct fm_module *module, uint32_t expression, uint64_t frame,
                      uint64_t *ret_value);

#pragma GCC visibility pop

#endif
