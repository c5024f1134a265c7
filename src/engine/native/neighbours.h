/* Programs that run beside the observed one: they are started before it, again when they end too early, if so wished,
   and ended after it. Only these processes, and those that they made, are ever told to end. */
#ifndef FATHOM_ENGINE_NATIVE_NEIGHBOURS_H
#define FATHOM_ENGINE_NATIVE_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "engine/engine.h"
#include "engine/native/beside.h"

struct fm_neighbours;

/* `prepare`: in each new process, with its context. */
int fm_neighbours_create(const struct fm_engine_options *options, void (*prepare)(void *context), void *context,
                         struct fm_neighbours **ret_neighbours, struct fm_error *error);
void fm_neighbours_destroy(struct fm_neighbours *neighbours);

/* All of them. */
int fm_neighbours_begin(struct fm_neighbours *neighbours, struct fm_error *error);

/* The trace of a process, ready to be read: if it is a neighbour's, it stands in the roster afterwards, and the answer
   is true. `process` is a descriptor of it, kept to end it; -1: none. */
bool fm_neighbours_take(struct fm_neighbours *neighbours, const char *name, uint32_t process, uint32_t parent,
                        int descriptor);

/* Who has ended? With `again`, it is started once more. */
void fm_neighbours_look_after(struct fm_neighbours *neighbours, bool again);

/* Have all that live written something? */
bool fm_neighbours_are_there(const struct fm_neighbours *neighbours);

/* They are told to end, and made to. */
void fm_neighbours_end(struct fm_neighbours *neighbours);

const struct fm_beside_roster *fm_neighbours_roster(const struct fm_neighbours *neighbours);
void fm_neighbours_report(const struct fm_neighbours *neighbours, struct fm_engine_neighbour *ret_neighbours);

#endif
