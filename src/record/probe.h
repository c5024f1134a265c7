/* How long one load takes: where its line is. Compiled for general registers only, and used while the vector registers
   are the program's. */
#ifndef FATHOM_RECORD_PROBE_H
#define FATHOM_RECORD_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#define FM_PROBE_FAULTED UINT32_MAX

struct fm_probe_result {
	uint32_t cost, baseline, neighbour, neighbour_again; /* ticks; FM_PROBE_FAULTED */
};

/* Loads one byte of the line, after other lines of its page have made the translation known. `from_edge`: the time
   stamp moves in coarse steps, and each load begins right after one. */
void fm_probe(uint64_t address, bool from_edge, struct fm_probe_result *ret_result);

/* Is this the address of the one instruction here that may fault? Then where to go on. 0: it is not. */
uint64_t fm_probe_fixup(uint64_t pc);

#endif
