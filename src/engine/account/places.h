/* Sites and places of the results: instructions that access memory. Not thread-safe. */
#ifndef FATHOM_ENGINE_ACCOUNT_PLACES_H
#define FATHOM_ENGINE_ACCOUNT_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/account/account.h"
#include "engine/results.h"

/* Records the path of the program. */
void fm_places_note_program(struct fm_account *account, const char *path);

/* Adds a file with code to the modules, once. */
void fm_places_add_module(struct fm_account *account, uint64_t begin, uint64_t end, uint64_t offset, const char *path);

/* Adds the file that is mapped at a code address of this process. */
void fm_places_note_module(struct fm_account *account, uint64_t address);

/* The site of the instruction at an address; site_nowhere if the table or the file system is full. */
struct fm_result_site *fm_places_find(struct fm_account *account, uint64_t address);

/* The address of a site, also in forked processes; 0: unknown. */
uint64_t fm_places_address(const struct fm_account *account, const struct fm_result_site *site);

/* The place of a site. */
static inline struct fm_result_place *fm_places_of(struct fm_account *account, const struct fm_result_site *site)
{
	size_t index = (size_t)(site - account->results->sites);

	return __builtin_expect(index < FM_RESULT_SITES_MAX, 1) ? &account->results->places[index]
	                                                        : &account->place_nowhere;
}

/* Reserves room for the counts of a site before its first access in this process; without room, counts a lost site. */
void fm_places_claim(struct fm_account *account, const struct fm_result_site *site);

/* True if the site was claimed and may be written. */
bool fm_places_is_used(const struct fm_result_site *site);

/* For a forked child: continues the parent's numbering of sites and objects. Addresses and names stay in the parent's
   results. */
void fm_places_inherit(struct fm_account *account, uint32_t sites, uint32_t objects);

#endif
