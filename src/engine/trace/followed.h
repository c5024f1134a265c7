/* Followed lines: logged for the whole run, inside and outside of windows. They serve large caches, whose contents are
   unknown in windows, and the time between windows.
   One pair of lines in 32 is chosen by address (translate/translate.h, struct fm_translate_filter). All accesses to
   these lines go to a second simulated hierarchy with a 32nd of each cache, without stream prefetchers and TLBs. The
   fills and write-backs there, times 32, estimate those of all lines; differences between groups of lines give the
   error.
   If caches are indexed by address, lines are chosen by the index bits of the second cache: its sets, and those of all
   lower caches, are followed as a whole and behave as in the first hierarchy. With pages at random, any choice is
   equivalent. */
#ifndef FATHOM_ENGINE_TRACE_FOLLOWED_H
#define FATHOM_ENGINE_TRACE_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/results.h"
#include "trace/shared.h"
#include "simulator/description.h"

enum { FM_FOLLOWED_SHARE = 32 }; /* one line in 32 is followed */

struct fm_account;
struct fm_consumer;
struct fm_traced_thread;
struct fm_followed;

/* Chooses the lines by `random`, in the session. False if the machine has no suitable lines. */
bool fm_followed_choose(const struct fm_machine_description *description, uint64_t random,
                        struct fm_trace_session *session);

/* *ret_lines is NULL if the session follows no lines. */
int fm_followed_create(const struct fm_machine_description *description, const struct fm_trace_session *session,
                       struct fm_followed **ret_lines, struct fm_error *error);
void fm_followed_destroy(struct fm_followed *lines);

/* Also records stack distances from now on: engine/trace/line_curves.h. 0 or -ENOMEM. */
int fm_followed_keep_distances(struct fm_followed *lines);

/* Simulates entries of followed lines outside of windows, up to the first other entry. Returns their number. */
uint64_t fm_followed_feed(struct fm_consumer *consumer, struct fm_traced_thread *thread,
                          const struct fm_trace_entry *entries, uint64_t count);

/* The thread's entries so far were executed between `began` and `ended` (ticks): simulates the use of the last cache by
   neighbours in that time. */
void fm_followed_pass(struct fm_consumer *consumer, const struct fm_traced_thread *thread, uint64_t began,
                      uint64_t ended);

/* Threads of the program ran natively until the phase of this number: from now on the contents of the last cache are
   unknown, up to the first touch of a line or until its set is full of lines touched since. */
void fm_followed_rested(struct fm_followed *lines, uint64_t phase);

/* The bit of an unknown outcome in the last cache. */
#define FM_FOLLOWED_UNKNOWN (1u << 31)

/* Access to a followed line in a window; `site` is NULL if unknown. Returns one bit per cache that missed, and
   FM_FOLLOWED_UNKNOWN. */
unsigned fm_followed_access(struct fm_followed *lines, struct fm_traced_thread *thread,
                            const struct fm_result_site *site, uint64_t address, bool store);

/* fm_followed_access() for all followed lines in [address, address + bytes). */
void fm_followed_range(struct fm_followed *lines, struct fm_traced_thread *thread, const struct fm_result_site *site,
                       uint64_t address, uint64_t bytes, bool store);

/* Copies the counts of followed lines; the second function writes them into the results. */
void fm_followed_take(const struct fm_followed *lines, struct fm_result_followed *ret_followed);
void fm_followed_finish(const struct fm_followed *lines, struct fm_account *account);

#endif
