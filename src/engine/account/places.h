/* Where in the program an access comes from. One thread at a time. */
#ifndef FATHOM_ENGINE_ACCOUNT_PLACES_H
#define FATHOM_ENGINE_ACCOUNT_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/account/account.h"
#include "engine/results.h"

/* The file of the program. */
void fm_places_note_program(const char *path);

/* A file that code came from, noted once. */
void fm_places_add_module(uint64_t begin, uint64_t end, uint64_t offset, const char *path);

/* The one that this process's code at an address came from. */
void fm_places_note_module(uint64_t address);

/* The record of the instruction at an address; one for all when the table is full, or there is no room. */
struct fm_result_site *fm_places_find(uint64_t address);

/* Where it is, in forked processes too; 0: not known. */
uint64_t fm_places_address(const struct fm_result_site *site);

extern struct fm_result_place fm_place_nowhere;

/* The rest of what is known of it. */
static inline struct fm_result_place *fm_places_of(const struct fm_result_site *site)
{
	size_t index = (size_t)(site - fm_account.results->sites);

	return __builtin_expect(index < FM_RESULT_SITES_MAX, 1) ? &fm_account.results->places[index]
	                                                        : &fm_place_nowhere;
}

/* Before the first access of an instruction in this process. Room for what it counts, or it is noted that there is
 * none.
 */
void fm_places_claim(const struct fm_result_site *site);

/* Has it been claimed? Then it may be written to. */
bool fm_places_is_used(const struct fm_result_site *site);

/* A forked child's results number the same instructions and objects; their addresses and names stay with the parent's.
 */
void fm_places_inherit(uint32_t sites, uint32_t objects);

#endif
