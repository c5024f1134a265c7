#ifndef FATHOM_TRANSLATE_STRINGS_H
#define FATHOM_TRANSLATE_STRINGS_H

#include "translate/internal.h"

/* Of the interrupted thread. */
struct fm_translate_string_state {
	uint64_t count, source, destination, flags; /* rcx, rsi, rdi */
};

/* A thread was interrupted at `code`, in the cache. If that is a repeated string instruction its entries, written
   before it began, say how much it would do: afterwards they say how much it has done, since what is left is logged
   when it goes on. Its entries are the last ones before `end` or, where `follows`, those behind it. Returns the end of
   what counts now. */
struct fm_translate_entry *fm_translate_settle_string(const uint8_t *code, const struct fm_translate_entry *from,
                                                      struct fm_translate_entry *end, bool follows,
                                                      const struct fm_translate_string_state *now);

#endif
