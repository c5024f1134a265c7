/* Lines that are followed for the whole run, windows or not: what windows cannot know of large caches, and what happens
   between them.

   One pair of lines in 32 is chosen by its address (translate/translate.h, struct fm_translate_filter), and all
   accesses to it are seen. They go to a second simulated hierarchy, of the same description but without stream
   prefetchers and translation buffers, in which these lines have a 32nd of each cache for themselves. How many lines
   they bring in and write back, times 32, is an estimate of the whole, and how much groups of them differ tells its
   error.

   Where caches are indexed by addresses, lines are chosen by the bits that index the second cache: sets of it, and so
   of all lower ones, are followed as a whole, and do in the second hierarchy exactly what they do in the first. Where
   pages lie at random, any line is as good as any other. */
#ifndef FATHOM_ENGINE_NATIVE_FOLLOWED_H
#define FATHOM_ENGINE_NATIVE_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/results.h"
#include "native/trace.h"
#include "simulator/description.h"

enum { FM_FOLLOWED_SHARE = 32 }; /* one of so many is followed */

struct fm_consumer;
struct fm_native_thread;
struct fm_followed;

/* Chooses by `random`. False: there are no lines to follow on this machine. */
bool fm_followed_choose(const struct fm_machine_description *description, uint64_t random,
                        struct fm_trace_session *session);

/* *ret_lines is NULL if the session follows none. */
int fm_followed_create(const struct fm_machine_description *description, const struct fm_trace_session *session,
                       struct fm_followed **ret_lines, struct fm_error *error);
void fm_followed_destroy(struct fm_followed *lines);

/* From now on also how far apart their touches are: engine/native/line_curves.h. -ENOMEM. */
int fm_followed_keep_distances(struct fm_followed *lines);

/* Entries of lines outside of windows, up to the first that is none. Returns how many. */
uint64_t fm_followed_feed(struct fm_consumer *consumer, struct fm_native_thread *thread,
                          const struct fm_trace_entry *entries, uint64_t count);

/* The thread's entries up to here were executed between these two moments, in ticks: meanwhile neighbours have used the
   last cache. */
void fm_followed_pass(struct fm_consumer *consumer, const struct fm_native_thread *thread, uint64_t began,
                      uint64_t ended);

/* An access inside of a window to a line that is followed, by an instruction; NULL: not known. Returns which caches did
   not have it, one bit each. */
unsigned fm_followed_access(struct fm_followed *lines, struct fm_native_thread *thread,
                            const struct fm_result_site *site, uint64_t address, bool store);

/* Those lines of [address, address + bytes) that are followed. */
void fm_followed_range(struct fm_followed *lines, struct fm_native_thread *thread, const struct fm_result_site *site,
                       uint64_t address, uint64_t bytes, bool store);

/* What they did; and into the results. */
void fm_followed_take(const struct fm_followed *lines, struct fm_result_followed *ret_followed);
void fm_followed_finish(const struct fm_followed *lines, struct fm_results *results);

#endif
