#ifndef FATHOM_TRANSLATE_X86_64_STRINGS_H
#define FATHOM_TRANSLATE_X86_64_STRINGS_H

#include "translate/internal.h"

/* State of the interrupted thread. */
struct fm_translate_string_state {
	uint64_t count, source, destination, flags; /* rcx, rsi, rdi */
};

/* Adjusts the log after an interrupt at `code` in the cache. The entries of a repeated string instruction are written
   before it and have its full count. Afterwards they have the count done so far: the rest is logged when it continues.
   The entries are the last before `end` or, with `follows`, those behind it. Returns the new end of the log. */
struct fm_translate_entry *fm_translate_settle_string(const uint8_t *code, const struct fm_translate_entry *from,
                                                      struct fm_translate_entry *end, bool follows,
                                                      const struct fm_translate_string_state *now);

#endif
