/* Which variable an access goes to: data symbols of the program and its libraries, as far as they have a fixed place in
   their file. What has none (heap, stack, mappings) is the space between them. */
#ifndef FATHOM_ENGINE_ACCOUNT_OBJECTS_H
#define FATHOM_ENGINE_ACCOUNT_OBJECTS_H

#include <stdint.h>

#include "engine/account/account.h"
#include "engine/results.h"

/* A module of the results was mapped: learn its objects. */
void fm_objects_add_module(unsigned module);

/* The instruction accesses an address outside of its two objects: settle the counts of one of them and put the new one
   there. Returns its slot. */
struct fm_result_slot *fm_objects_change(struct fm_result_site *site, uint64_t address);

/* What the instruction's slots have counted is added to its place and its objects. */
void fm_objects_settle(struct fm_result_site *site);

extern struct fm_result_object fm_object_nowhere;

/* The object in a slot; one for all that have none in the results. */
static inline struct fm_result_object *fm_objects_of(const struct fm_result_place *place, unsigned slot)
{
	uint32_t number = place->objects[slot & 1] - 1;

	return number < FM_RESULT_OBJECTS_MAX ? &fm_account.results->objects[number] : &fm_object_nowhere;
}

/* The number of the object at an address in the results, plus one; 0: none. */
uint32_t fm_objects_at(uint64_t address);

/* In a forked child, where nobody else is left. */
void fm_objects_after_fork(void);

#endif
