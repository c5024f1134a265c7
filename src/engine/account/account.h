/* What a process of the program does to memory, as it is simulated and written into its results. The plugin and the
   consumer of native traces use it, each for one process at a time. */
#ifndef FATHOM_ENGINE_ACCOUNT_ACCOUNT_H
#define FATHOM_ENGINE_ACCOUNT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "simulator/hierarchy.h"
#include "engine/account/misses.h"
#include "engine/results.h"

struct fm_account {
	struct fm_results *results;
	struct fm_hierarchy *hierarchy;
	unsigned cache_count;
	unsigned latency[FM_SERVED_COUNT];
	/* Each may be NULL: nobody may look at the objects from here on until they are complete again; a function of a
	   module. */
	void (*before_objects)(void);
	void (*on_function)(const char *name, uint64_t address);
};

extern struct fm_account fm_account;

/* What the simulator needs of a thread. It may run on another processor than the thread. */
struct fm_engine_side {
	struct fm_simulated_core *core;
	uint64_t delay; /* by misses, and one for each whole line of a repeated instruction, in cycles */
	struct fm_walk walks[FM_WALKS];
};

/* The machine whose results are in fm_account.results: its hierarchy and what is often asked of it. */
int fm_account_begin(const struct fm_machine_description *description, bool prefetch, struct fm_error *error);

/* "0-3+12" into numbers of cores; 0 when it is wrong. */
unsigned fm_account_core_list(const char *text, unsigned *ret_list, unsigned room);

/* The parts of the results that every process has; false when there is no room. */
bool fm_account_claim_least(unsigned cores, bool timing);

/* Lines that moved between cores, into the results. One thread at a time. */
void fm_account_publish_lines(void);

/* An access that is not the fast path's: another object than last time, a miss. Returns who served it. */
unsigned fm_account_slowly(struct fm_engine_side *side, struct fm_result_site *site, uint64_t address, unsigned bytes,
                           enum fm_access access);

/* The same when it is known which of the instruction's slots it is. */
unsigned fm_account_in(struct fm_engine_side *side, struct fm_result_site *site, struct fm_result_slot *slot,
                       uint64_t address, unsigned bytes, enum fm_access access);

/* A load or store that something else than the first cache served: another core never. */
static inline void fm_account_missed(struct fm_engine_side *side, const struct fm_result_site *site,
                                     struct fm_result_slot *slot, uint64_t address, bool store, unsigned served)
{
	(&slot->loads)[store]++;
	side->delay += fm_account.latency[served];
	fm_misses_note(side, site, slot, address, served);
}

/* The slot of the instruction for the object at an address. */
struct fm_result_slot *fm_account_find_slot(struct fm_result_site *site, uint64_t address);

/* Which of the instruction's two objects it is, without a branch that depends on it; not yet sure it is that one. */
static inline struct fm_result_slot *fm_account_likely_slot(struct fm_result_site *site, uint64_t address)
{
	return &site->slots[address - site->slots[0].begin >= site->slots[0].size];
}

static inline bool fm_account_in_slot(const struct fm_result_slot *slot, uint64_t address)
{
	return address - slot->begin < slot->size;
}

#endif
