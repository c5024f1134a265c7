/* Core timing: a dataflow model with finite resources on top of the simulated hierarchy. Input: instructions in program
   order, with registers and addresses. Output: cycles and, exactly, the causes of cycles without execution. */
#ifndef FATHOM_SIMULATOR_CORE_H
#define FATHOM_SIMULATOR_CORE_H

#include <stdint.h>

#include "simulator/branches.h"
#include "simulator/hierarchy.h"

enum { FM_INSTRUCTION_ACCESSES_MAX = 4 };

/* The constant part of an instruction. */
struct fm_instruction {
	uint64_t reads; /* registers, one bit each */
	uint64_t writes;
	uint8_t operation;      /* enum fm_operation */
	uint64_t address_reads; /* of `reads`, registers of an address */
	uint8_t continues;      /* a further part of a repeated instruction, counted with its first part */
	uint8_t more;           /* additional places at issue, beyond one */
	uint8_t branch;         /* enum fm_branch_kind: fm_core_branch() reports its target */
};

/* One line's part of a repeated instruction. Only the first waits for the operands: the other addresses are known. A
   store waits for the loaded data. */
static inline struct fm_instruction fm_instruction_part(const struct fm_instruction *whole, bool first, bool store)
{
	struct fm_instruction part = {.operation = FM_OPERATION_none, .continues = !first};

	if (first) {
		part.reads = whole->reads;
		part.address_reads = whole->address_reads;
		part.writes = whole->writes;
	} else if (store) {
		part.reads = whole->writes;
	} else {
		part.writes = whole->writes;
	}
	return part;
}

struct fm_memory_access {
	uint64_t address;
	uint8_t bytes;
	uint8_t access; /* enum fm_access */
	uint8_t served; /* level that served it, after execution */
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
	uint64_t no_execute;           /* cycles in which no instruction began to execute */
	uint64_t miss_pending;         /* cycles with an outstanding miss of the first cache by a load */
	uint64_t miss_pending_stall;   /* of these, without execution */
	uint64_t second_pending_stall; /* without execution, and with a load that missed the second cache */
	uint64_t load_pending_stall;   /* without execution, and with any outstanding load */
	uint64_t fill_buffers_full;    /* cycles in which a request waited for a fill buffer */
	uint64_t super_queue_full;
	uint64_t store_buffer_full; /* cycles in which issue waited for a store buffer */
	uint64_t branches;          /* conditional and indirect ones */
	uint64_t mispredictions;    /* mispredicted ones */
	/* The no_execute cycles by cause, each in one of these three: causes without a level; waits for an answer;
	   waits for a place or for bandwidth. The latter two by level (FM_SERVED_…, or index of a cache). */
	uint64_t stalls[FM_STALL_COUNT];
	uint64_t latency_stalls[FM_SERVED_COUNT]; /* of the first cache: its own latency */
	uint64_t bandwidth_stalls[FM_SERVED_COUNT];
};

struct fm_core_timing;

/* Makes the timing of one core of the hierarchy. Prefetches then use time and a place in the super queue. */
int fm_core_timing_create(struct fm_hierarchy *hierarchy, unsigned core, struct fm_core_timing **ret_timing,
                          struct fm_error *error);
void fm_core_timing_destroy(struct fm_core_timing *timing);

void fm_core_execute(struct fm_core_timing *timing, const struct fm_instruction *instruction,
                     struct fm_memory_access *accesses, unsigned count);

/* Reports that the last instruction is a branch at `address`, `bytes` long, to `target`. After a misprediction, the
   next instruction begins only when the branch has been executed. Machines without a misprediction cost predict all
   branches. */
void fm_core_branch(struct fm_core_timing *timing, enum fm_branch_kind kind, uint64_t address, unsigned bytes,
                    uint64_t target);

/* The same for a branch executed without timing: trains the prediction only. */
void fm_core_skip_branch(struct fm_core_timing *timing, enum fm_branch_kind kind, uint64_t address, unsigned bytes,
                         uint64_t target);

/* Announces the next `bytes` of code, up to the next branch. Lines absent from the instruction cache come from the
   second cache, assumed to have them. Machines without an instruction cache hold all code. */
void fm_core_fetch(struct fm_core_timing *timing, uint64_t address, unsigned bytes);

/* The same for code executed without timing: updates the instruction cache only. */
void fm_core_skip_code(struct fm_core_timing *timing, uint64_t address, unsigned bytes);

/* Accounts for all cycles up to the retirement of the fed instructions. Returns the counts, readable at any time;
   without this call they lag behind. */
void fm_core_drain(struct fm_core_timing *timing);

/* Idles until a cycle: the next instruction begins then. The cycles between belong to no instruction. */
void fm_core_skip(struct fm_core_timing *timing, uint64_t until);
const struct fm_timing_counts *fm_core_timing_counts(const struct fm_core_timing *timing);

/* Replaces the counts, if the fed instructions represent more. */
void fm_core_count(struct fm_core_timing *timing, const struct fm_timing_counts *counts);

/* The retirement cycle of the last fed instruction. */
uint64_t fm_core_now(const struct fm_core_timing *timing);

const char *fm_stall_name(enum fm_stall stall);
const char *fm_stall_words(enum fm_stall stall);

/* Names of causes with a level: "latency_L2" in files, "latency of L2" in text. Return `text`. */
const char *fm_stall_level_name(const struct fm_machine_description *machine, bool bandwidth, unsigned served,
                                char *text, size_t size);
const char *fm_stall_level_words(const struct fm_machine_description *machine, bool bandwidth, unsigned served,
                                 char *text, size_t size);

#endif
