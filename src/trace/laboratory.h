/* The laboratory: how fast does the processor execute the program's own code if all of its cache lines are in place?
   While the process has one thread, two kinds of rounds alternate:

   - Natural time. For a fraction of a millisecond, the thread runs in code that counts executions of one branch, the
     mark, and reads the clock now and then.
   - Placed time. The next instructions are executed with a log of all references and of the overwritten contents. Then
     memory and registers are restored. The counting code executes the same instructions again. On the way, the next
     lines are loaded (plan.h), and the clock measures the time. Only the second execution has lasting effects. A round
     therefore contains no system call and no access to shared memory.

   All functions need blocked signals. */
#ifndef FATHOM_TRACE_LABORATORY_H
#define FATHOM_TRACE_LABORATORY_H

#include "trace/place.h"

/* In a new process, also a forked one. */
void fm_laboratory_prepare(void);

/* The options of FM_UNDO and FM_TIMED; `client` has the place as its context. */
void fm_laboratory_options(struct fm_translate_client *client, struct fm_translate_options *options, unsigned which);

/* Would fm_laboratory_begin() do something? */
bool fm_laboratory_is_due(const struct fm_place *place);

/* At a tick that found the thread in the cache, after it was settled. True: the context continues without further
   action. False: enter the place's translator as usual. */
bool fm_laboratory_begin(struct fm_place *place, ucontext_t *context);

/* True if the thread is being timed, and is not late. */
bool fm_laboratory_is_busy(const struct fm_place *place);

/* Ends the round of the thread, which is outside of the cache. */
void fm_laboratory_end(struct fm_place *place);

/* The program was interrupted: what is being timed is worth nothing. */
void fm_laboratory_disturb(const struct fm_place *place);

#endif
