/* x86-64 instructions as the simulator wants them. */
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
	struct fm_work work;    /* what executing it adds */
	bool reads, writes;     /* memory */
	bool calls, returns;    /* it stores a return address; it loads one and goes there */
	bool single;            /* one load or one store of operand_bytes, so that pieces may be put together */
	bool split_per_element; /* gathers and scatters: every piece is an access of its own */
	bool repeated;          /* a string instruction with a count: its elements make accesses of up to a line */
};

/* False when the bytes are no instruction we know; the result then reads and writes nothing. */
bool fm_decode(const void *bytes, unsigned length, struct fm_decoded *ret_decoded);

#endif
