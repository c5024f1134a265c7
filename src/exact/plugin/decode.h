/* x86-64 instructions as the simulator wants them. */
#ifndef FATHOM_EXACT_PLUGIN_DECODE_H
#define FATHOM_EXACT_PLUGIN_DECODE_H

#include <stdbool.h>
#include <stdint.h>

#include "exact/core.h"
#include "exact/work.h"

enum { FM_INSTRUCTION_BYTES_MAX = 15 };

struct fm_decoded {
	unsigned length; /* bytes */
	struct fm_instruction instruction;
	unsigned operand_bytes; /* of the widest memory operand; 0: none */
	bool nontemporal;
	struct fm_work work;    /* what executing it adds */
	bool reads, writes;     /* memory */
	bool single;            /* one load or one store of operand_bytes, so that pieces may be put together */
	bool split_per_element; /* gathers, scatters and repeated strings: every piece is an access of its own */
};

/* False when the bytes are no instruction we know; the result then reads and writes nothing. */
bool fm_decode(const void *bytes, unsigned length, struct fm_decoded *ret_decoded);

#endif
