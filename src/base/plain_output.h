/* Output for locales without UTF-8 (LC_ALL=C, serial consoles, old log viewers): characters that tables, plots and
   sentences use become ASCII. */
#ifndef FATHOM_BASE_PLAIN_OUTPUT_H
#define FATHOM_BASE_PLAIN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* A stream that writes to `output`, in ASCII where the locale wants that; else `output`. Closing it closes both. */
FILE *fm_plain_output(FILE *output);

/* The same for standard output and error of the process, once. */
void fm_plain_output_standard(void);

/* Whether that was done; and how wide a text is then. */
bool fm_plain_is_wanted(void);
size_t fm_plain_width(const char *text);

/* The text in ASCII, into `plain`, which has room for 4 times its length. Returns the length; what is left of a
   character whose end is missing is in *ret_rest. */
size_t fm_plain_text(const char *text, size_t length, char *plain, size_t *ret_rest);

#endif
