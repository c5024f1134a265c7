/* Objects: data symbols of the program and its libraries at a fixed offset in their file, and heap memory by the call
   stack that allocated it (heap.h). Other memory (stack, mappings, unknown heap) is the space between objects. */
#ifndef FATHOM_ENGINE_ACCOUNT_OBJECTS_H
#define FATHOM_ENGINE_ACCOUNT_OBJECTS_H

#include <stdint.h>

#include "engine/account/account.h"
#include "engine/results.h"

/* Adds the objects of a newly mapped module of the results. */
void fm_objects_add_module(struct fm_account *account, unsigned module);

/* After fm_heap_settle() has changed something. */
void fm_objects_heap_changed(struct fm_account *account);

/* For an access outside of the instruction's two objects: settles the counts of one slot and reuses it for the new
   object. Returns the slot. */
struct fm_result_slot *fm_objects_change(struct fm_account *account, struct fm_result_site *site, uint64_t address);

/* Adds the counts of the site's slots to its place and its objects. */
void fm_objects_settle(struct fm_account *account, struct fm_result_site *site);

/* The object in a slot; object_nowhere if the results lack a record. */
static inline struct fm_result_object *fm_objects_of(struct fm_account *account, const struct fm_result_place *place,
                                                     unsigned slot)
{
	uint32_t number = place->objects[slot & 1] - 1;

	return number < FM_RESULT_OBJECTS_MAX ? &account->results->objects[number] : &account->object_nowhere;
}

/* Index + 1 of the object at an address in the results; 0: none. */
uint32_t fm_objects_at(struct fm_account *account, uint64_t address);

/* Resets the lock in a forked child, which has one thread. */
void fm_objects_after_fork(struct fm_account *account);

void fm_objects_forget(struct fm_account *account);

#endif
