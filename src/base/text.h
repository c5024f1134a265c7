/* Short texts for people: sizes, durations, CPU lists. */
#ifndef FATHOM_BASE_TEXT_H
#define FATHOM_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* "48 KiB", "1.25 MiB", "3 GiB". Returns buffer. */
const char *fm_text_bytes(char *buffer, size_t size, double bytes);

/* A number with about three significant digits and no exponent: "1234", "56.7", "0.0123". Returns buffer. */
const char *fm_text_number(char *buffer, size_t size, double value);

/* Limits a text to `columns` columns and to the size of the buffer; "…" replaces the middle of a longer text. Returns
   buffer. */
const char *fm_text_elide(char *buffer, size_t size, const char *text, size_t columns);

/* "1,234,567". Returns buffer. */
const char *fm_text_grouped(char *buffer, size_t size, uint64_t value);

/* True if all words of the pattern occur in one of the texts, regardless of case. Blanks and '*' separate words; NULL
   and "" match everything. */
bool fm_text_has_words(const char *pattern, const char *first, const char *second);

/* "500ms", "10s", "2min", "1h"; a plain number is seconds. -EINVAL with a message otherwise. */
int fm_text_parse_duration(const char *text, double *ret_seconds, struct fm_error *error);

/* A whole number within limits; `what` names the option in the message. */
int fm_text_parse_unsigned(const char *text, const char *what, uint64_t least, uint64_t most, uint64_t *ret_value,
                           struct fm_error *error);

/* The first line of a small file without its newline; 0 or -errno. */
int fm_text_read_line(const char *path, char *buffer, size_t size);

/* The first number in a small file; 0 or -errno, -ENODATA if there is none. */
int fm_text_read_number(const char *path, long long *ret_value);

/* Columns of the text on a terminal. */
size_t fm_text_width(const char *text);

/* True for UTF-8 without control characters other than tabs, which can be printed and written as JSON. */
bool fm_text_is_clean(const char *text);

/* Removes an incomplete character of UTF-8 at the end of a truncated text. */
void fm_text_complete(char *text);

/* The width of the terminal, at least 60; 100 if the descriptor is no terminal. */
unsigned fm_text_columns(int file_descriptor);

#endif
