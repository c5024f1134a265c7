/* Core timing: a dataflow model with finite resources on top of the simulated hierarchy. Instructions are fed in
   program order, with the registers they read and write and the addresses they access; out come cycles and, exactly,
   what the cycles without execution were spent on. */
#ifndef FATHOM_SIMULATOR_CORE_H
#define FATHOM_SIMULATOR_CORE_H

#include <stdint.h>

#include "simulator/branches.h"
#include "simulator/hierarchy.h"

enum { FM_INSTRUCTION_ACCESSES_MAX = 4 };

/* What does not change from one execution of an instruction to the next. */
struct fm_instruction {
	uint64_t reads; /* registers, one bit each */
	uint64_t writes;
	uint8_t operation;      /* enum fm_operation */
	uint64_t address_reads; /* of reads, those an address is computed from */
	uint8_t continues;      /* a further part of a repeated instruction, which was counted with its first */
	uint8_t more;           /* places that it takes when it is issued, beyond one */
	uint8_t branch;         /* enum fm_branch_kind: fm_core_branch() is to be told where it went */
};

struct fm_memory_access {
	uint64_t address;
	uint8_t bytes;
	uint8_t access; /* enum fm_access */
	uint8_t served; /* who served it, once it was executed */
};

enum fm_stall {
#define STALL(identifier, words) FM_STALL_##identifier,
#include "simulator/stalls.def"
#undef STALL
	FM_STALL_COUNT
};

struct fm_timing_counts {
	uint64_t cycles;
	uint64_t instructions;
	uint64_t no_execute;           /* cycles in which nothing began to execute */
	uint64_t miss_pending;         /* cycles with a load outstanding that missed the first cache */
	uint64_t miss_pending_stall;   /* of these, without execution */
	uint64_t second_pending_stall; /* without execution, and a load outstanding that missed the second cache */
	uint64_t load_pending_stall;   /* without execution, and any load outstanding */
	uint64_t fill_buffers_full;    /* cycles in which a request waited for a fill buffer */
	uint64_t super_queue_full;
	uint64_t store_buffer_full; /* cycles in which issue waited for a store buffer */
	uint64_t branches;          /* conditional and indirect ones */
	uint64_t mispredictions;    /* of these */
	/* The no_execute cycles by cause, each in one of these three: what has no level; waiting for an answer, or for
	   a place and for bandwidth, by who serves (FM_SERVED_…, or the index of a cache). */
	uint64_t stalls[FM_STALL_COUNT];
	uint64_t latency_stalls[FM_SERVED_COUNT]; /* of the first cache: its own latency */
	uint64_t bandwidth_stalls[FM_SERVED_COUNT];
};

struct fm_core_timing;

/* Timing for one core of the hierarchy. Prefetches then take their time and their place in the super queue. */
int fm_core_timing_create(struct fm_hierarchy *hierarchy, unsigned core, struct fm_core_timing **ret_timing,
                          struct fm_error *error);
void fm_core_timing_destroy(struct fm_core_timing *timing);

void fm_core_execute(struct fm_core_timing *timing, const struct fm_instruction *instruction,
                     struct fm_memory_access *accesses, unsigned count);

/* The instruction just executed is a branch at `address`, `bytes` long, and this is where it went. What comes after one
   that was not foreseen begins only when it has been executed. Machines that do not say what that costs foresee all. */
void fm_core_branch(struct fm_core_timing *timing, enum fm_branch_kind kind, uint64_t address, unsigned bytes,
                    uint64_t target);

/* The same of a branch that was executed without being timed: only the prediction learns of it. */
void fm_core_skip_branch(struct fm_core_timing *timing, enum fm_branch_kind kind, uint64_t address, unsigned bytes,
                         uint64_t target);

/* What is executed next is code of so many bytes, up to the next branch: lines of it that the instruction cache does
   not have come from the second cache, which is taken to have them. Machines that say nothing of their code have it
   all. */
void fm_core_fetch(struct fm_core_timing *timing, uint64_t address, unsigned bytes);

/* The same of code that was executed without being timed: only the cache learns of it. */
void fm_core_skip_code(struct fm_core_timing *timing, uint64_t address, unsigned bytes);

/* Account for all cycles up to the retirement of what was fed. The counts so far; they may be read at any time, but
   without this they lag behind. */
void fm_core_drain(struct fm_core_timing *timing);

/* Nothing is executed until that cycle: what comes next begins then, and the cycles between are nobody's. */
void fm_core_skip(struct fm_core_timing *timing, uint64_t until);
const struct fm_timing_counts *fm_core_timing_counts(const struct fm_core_timing *timing);

/* They are these from now on: what was executed stands for more that was not fed. */
void fm_core_count(struct fm_core_timing *timing, const struct fm_timing_counts *counts);

/* The cycle in which the last instruction fed will have retired. */
uint64_t fm_core_now(const struct fm_core_timing *timing);

const char *fm_stall_name(enum fm_stall stall);
const char *fm_stall_words(enum fm_stall stall);

/* The same for what has a level: "latency_L2" for programs, "latency of L2" for people. Return text. */
const char *fm_stall_level_name(const struct fm_machine_description *machine, bool bandwidth, unsigned served,
                                char *text, size_t size);
const char *fm_stall_level_words(const struct fm_machine_description *machine, bool bandwidth, unsigned served,
                                 char *text, size_t size);

#endif
