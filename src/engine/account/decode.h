/* Decoder of the program's instructions for the simulator; x86-64 only so far. */
#ifndef FATHOM_ENGINE_ACCOUNT_DECODE_H
#define FATHOM_ENGINE_ACCOUNT_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/core.h"
#include "simulator/work.h"

enum { FM_INSTRUCTION_BYTES_MAX = 15 };

struct fm_decoded {
	unsigned length; /* bytes */
	struct fm_instruction instruction;
	unsigned operand_bytes; /* of the widest memory operand; 0: none */
	bool nontemporal;
	struct fm_work work;    /* counts of one execution */
	bool reads, writes;     /* memory */
	bool calls, returns;    /* stores a return address; jumps to a loaded one */
	bool single;            /* one load or store of operand_bytes: its parts may be joined */
	bool split_per_element; /* gathers and scatters: each element is an access */
	bool repeated;          /* string instruction with a count: elements are joined into accesses of up to a line */
};

/* False for an unknown instruction; the result then has no memory operands. */
bool fm_decode(const void *bytes, unsigned length, struct fm_decoded *ret_decoded);

#endif
