/* Where in the program an access comes from. Called while QEMU translates, one thread at a time.
   SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef FATHOM_EXACT_PLUGIN_PLACES_H
#define FATHOM_EXACT_PLUGIN_PLACES_H

#include <stdint.h>

#include "exact/results.h"

/* The file of the program. */
void fm_places_note_program(const char *path);

/* The file the code at an address came from, noted once. */
void fm_places_note_module(uint64_t address);

/* The record of the instruction at an address; one for all when the table is full. */
struct fm_result_site *fm_places_find(uint64_t address);

/* The rest of what is known of it. */
struct fm_result_place *fm_places_of(const struct fm_result_site *site);

/* A forked child's results number the same instructions and objects; their addresses and names stay with the parent's.
 */
void fm_places_inherit(struct fm_results *own, const struct fm_results *parent);

#endif
