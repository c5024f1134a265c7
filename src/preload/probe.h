/* Times one load, to find the level of its line. Compiled for general registers only: the vector registers hold the
   program's values. */
#ifndef FATHOM_PRELOAD_PROBE_H
#define FATHOM_PRELOAD_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#define FM_PROBE_FAULTED UINT32_MAX

struct fm_probe_result {
	uint32_t cost, baseline, neighbour, neighbour_again; /* ticks; FM_PROBE_FAULTED */
};

/* Loads one byte of the line, after other lines of its page have loaded the translation. `from_edge`: each load begins
   right after a step of a coarse time stamp counter. */
void fm_probe(uint64_t address, bool from_edge, struct fm_probe_result *ret_result);

/* If `pc` is the one load that may fault: the address to continue at; otherwise 0. */
uint64_t fm_probe_fixup(uint64_t pc);

#endif
