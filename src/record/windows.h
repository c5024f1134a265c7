/* Windows: now and then a burst logs all its references, some thousands, for miss-ratio curves (src/reuse). */
#ifndef FATHOM_RECORD_WINDOWS_H
#define FATHOM_RECORD_WINDOWS_H

#include "record/chosen.h"

/* How many references the next window shall have: lengths are mixed, for what is regular in the program. */
uint32_t fm_windows_length(void);

/* A translator for windows, with the slot as its context, and memory for their references. `choose`, `on_system_call`
   and `on_leave` are the caller's. */
int fm_windows_open(struct translator_slot *slot, struct fm_translate_client client, size_t code_size);

/* A run of references in slot->logging for the clock: before it, and after it, inside. Then a word that is touched
   regularly is watched by fm_windows_watch(). */
void fm_windows_begin_pace(struct translator_slot *slot);
void fm_windows_end_pace(struct translator_slot *slot);

/* Before a window in slot->logging. */
void fm_windows_begin(struct translator_slot *slot, uint32_t length);

/* After it: writes the window down. Inside (self.h). */
void fm_windows_end(struct translator_slot *slot);

/* The last thing: watches one of its lines, if there is one. */
void fm_windows_watch(struct translator_slot *slot);

/* What logging has cost beyond what the program itself would have taken, roughly: ticks. */
uint64_t fm_windows_extra(const struct translator_slot *slot);

/* Code has changed: translate it anew. */
void fm_windows_flush(struct translator_slot *slot);

#endif
