/* Windows: occasional bursts that log all their references, some thousands, for miss-ratio curves (src/reuse). */
#ifndef FATHOM_RECORD_WINDOW_H
#define FATHOM_RECORD_WINDOW_H

#include "record/chosen.h"

/* Draws the number of references of the next window. Lengths vary, so that no period of the program is always hit
   alike. */
uint32_t fm_windows_length(void);

/* Makes a translator for windows, with the slot as its context, and memory for their references. `choose`,
   `on_system_call` and `on_leave` come from the caller. 0 or a negative errno. */
int fm_record_windows_open(struct translator_slot *slot, struct fm_translate_client client, size_t code_size);

/* Begins and ends a run of references in slot->logging that measures the pace. Ending it watches a regularly touched
   word with fm_windows_watch(). The end is called inside (self.h). */
void fm_windows_begin_pace(struct translator_slot *slot);
void fm_windows_end_pace(struct translator_slot *slot);

/* Prepares a window of `length` references in slot->logging. */
void fm_record_window_begin(struct translator_slot *slot, uint32_t length);

/* Ends the window and writes it to the log. Inside (self.h). */
void fm_windows_end(struct translator_slot *slot);

/* The last step of a window: watches one of its lines, if a line qualifies. */
void fm_windows_watch(struct translator_slot *slot);

/* Approximate cost of logging beyond the program's own time, in ticks. */
uint64_t fm_windows_extra(const struct translator_slot *slot);

/* Code has changed: discards the translations of windows. */
void fm_windows_flush(struct translator_slot *slot);

#endif
