/* Text for locales without UTF-8 (LC_ALL=C, serial consoles, old log viewers): characters that tables, plots and
   sentences use become ASCII. */
#ifndef FATHOM_BASE_PLAIN_TEXT_H
#define FATHOM_BASE_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Converts a text to ASCII; `plain` has room for 4 times its length. Returns the length; *ret_rest is the number of
   bytes of an incomplete last character. */
size_t fm_plain_text(const char *text, size_t length, char *plain, size_t *ret_rest);

/* From this call on, fm_text_width() returns widths in ASCII, and output is converted by its writer. */
void fm_plain_want(void);
bool fm_plain_is_wanted(void);
size_t fm_plain_width(const char *text);

#endif
