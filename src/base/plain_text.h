/* Text for locales without UTF-8 (LC_ALL=C, serial consoles, old log viewers): characters that tables, plots and
   sentences use become ASCII. */
#ifndef FATHOM_BASE_PLAIN_TEXT_H
#define FATHOM_BASE_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The text in ASCII, into `plain`, which has room for 4 times its length. Returns the length; what is left of a
   character whose end is missing is in *ret_rest. */
size_t fm_plain_text(const char *text, size_t length, char *plain, size_t *ret_rest);

/* From now on texts are as wide as they are in ASCII: whoever prints them writes them so. */
void fm_plain_want(void);
bool fm_plain_is_wanted(void);
size_t fm_plain_width(const char *text);

#endif
