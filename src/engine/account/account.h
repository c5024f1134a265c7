/* Accounting of one process: its accesses are simulated and counted in its results, by instruction and by variable.
   Used by the plugin and by the consumer of native traces. */
#ifndef FATHOM_ENGINE_ACCOUNT_ACCOUNT_H
#define FATHOM_ENGINE_ACCOUNT_ACCOUNT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "simulator/hierarchy.h"
#include "engine/account/heap.h"
#include "engine/account/misses.h"
#include "engine/account/room.h"
#include "engine/results.h"

struct fm_account {
	struct fm_counted_lines counted[FM_SIMULATED_CORES_MAX]; /* first member: accessed without an offset */
	struct fm_results *results;
	struct fm_hierarchy *hierarchy;
	unsigned cache_count;
	uint64_t line_mask; /* line size - 1 */
	unsigned latency[FM_SERVED_COUNT];
	/* Callbacks, NULL if not needed. Called before the objects change: stops other readers until the change is
	   complete. */
	void (*before_objects)(void);
	/* Called for each function of a new module. */
	void (*on_function)(const char *name, uint64_t address);
	/* data symbols, sorted by address (objects.c) */
	struct {
		pthread_mutex_t mutex;
		struct fm_known_object *objects;
		size_t count, room;
	} known;
	struct fm_heap heap; /* used only by the thread that reads the trace */
	/* sites by address (places.c) */
	struct {
		uint32_t *slots; /* index + 1 */
		uint64_t *addresses;
	} index;
	/* sinks for code and variables that exceed the tables of the results */
	struct fm_result_site site_nowhere;
	struct fm_result_place place_nowhere;
	struct fm_result_object object_nowhere;
	struct fm_room room;
};

/* The simulator's state of a thread, which another processor may execute. */
struct fm_engine_side {
	struct fm_simulated_core *core;
	uint64_t delay; /* cycles: latency of misses, and one per whole line of a repeated instruction */
	struct fm_miss_history walks[FM_WALKS];
	struct fm_account *account; /* of the thread's process */
};

/* An account without results; NULL without memory. */
struct fm_account *fm_account_create(void);
void fm_account_destroy(struct fm_account *account);

/* Creates the simulated hierarchy. The results must exist (account->results, account->room). */
int fm_account_begin(struct fm_account *account, const struct fm_machine_description *description, bool prefetch,
                     struct fm_error *error);

/* Parses a core list such as "0-3+12" into ret_list. Returns the number of cores; 0 on a syntax error. */
unsigned fm_account_core_list(const struct fm_account *account, const char *text, unsigned *ret_list, unsigned room);

/* Reserves the parts of the results that every process needs; false if the file system is full. */
bool fm_account_claim_least(struct fm_account *account, unsigned cores, bool timing);

/* Writes the lines that moved between cores into the results. Not thread-safe. */
void fm_account_publish_lines(struct fm_account *account);

/* Slow path of an access: another object than before, or a miss. Returns the level that served the access. */
unsigned fm_account_slowly(struct fm_engine_side *side, struct fm_result_site *site, uint64_t address, unsigned bytes,
                           enum fm_access access);

/* fm_account_slowly() with the instruction's slot already found. */
unsigned fm_account_in(struct fm_engine_side *side, struct fm_result_site *site, struct fm_result_slot *slot,
                       uint64_t address, unsigned bytes, enum fm_access access);

/* Counts a load or store that missed the first cache and was not served by another core. */
static inline void fm_account_missed(struct fm_engine_side *side, const struct fm_result_site *site,
                                     struct fm_result_slot *slot, uint64_t address, bool store, unsigned served)
{
	(&slot->loads)[store]++;
	side->delay += side->account->latency[served];
	fm_misses_note(side, site, slot, address, served);
}

/* Finds the instruction's slot for the object at an address. */
struct fm_result_slot *fm_account_find_slot(struct fm_account *account, struct fm_result_site *site, uint64_t address);

/* The only slot that can contain the address, chosen without a branch; check with fm_account_in_slot(). */
static inline struct fm_result_slot *fm_account_likely_slot(struct fm_result_site *site, uint64_t address)
{
	return &site->slots[address - site->slots[0].begin >= site->slots[0].size];
}

static inline bool fm_account_in_slot(const struct fm_result_slot *slot, uint64_t address)
{
	return address - slot->begin < slot->size;
}

#endif
