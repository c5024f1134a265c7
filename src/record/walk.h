/* A walk up a stack: what unwind.c and the expressions of unwinding tables share. */
#ifndef FATHOM_RECORD_WALK_H
#define FATHOM_RECORD_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "record/rows.h"

#pragma GCC visibility push(hidden)

struct fm_walk {
	uint64_t registers[FM_RETURN]; /* 0: not known */
	uint64_t pc;
	uint64_t low, high; /* where the stack may be read */
	bool own;
	bool exact; /* pc is the next instruction, not a return address */
	bool more;  /* registers are known that functions do not keep */
};

static inline uint64_t fm_walk_load(uint64_t address)
{
	uint64_t value;

	/* no sanitizer may look into it: it is other functions' memory */
	__asm__ volatile("movq %1, %0" : "=r"(value) : "m"(*(const uint64_t *)address));
	return value;
}

/* Makes the words below `end` readable, if the same memory goes on so far. */
bool fm_walk_extend(struct fm_walk *walk, uint64_t end);

/* The word at this address. */
static inline bool fm_walk_may_read(struct fm_walk *walk, uint64_t address)
{
	return address >= walk->low && address < walk->low + (1ull << 46) &&
	       (address + 8 <= walk->high || fm_walk_extend(walk, address + 8));
}

static inline uint64_t fm_walk_register(const struct fm_walk *walk, uint64_t number)
{
	return number < FM_RETURN ? walk->registers[number] : number == FM_RETURN ? walk->pc : 0;
}

/* What an expression of a row tells. `frame`: what lies on the evaluation's stack at first, unless 0. */
bool fm_walk_evaluate(struct fm_walk *walk, const struct fm_module *module, uint32_t expression, uint64_t frame,
                      uint64_t *ret_value);

#pragma GCC visibility pop

#endif
