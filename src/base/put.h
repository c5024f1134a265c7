/* Concatenation of texts without the C library. The buffer must have room. Each function terminates the text and
   returns its end. */
#ifndef FATHOM_BASE_PUT_H
#define FATHOM_BASE_PUT_H

#include <stdint.h>

static inline char *fm_put_text(char *at, const char *text)
{
	while (*text)
		*at++ = *text++;
	*at = 0;
	return at;
}

static inline char *fm_put_number(char *at, uint64_t value)
{
	char digits[24];
	unsigned count = 0;

	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	while (count)
		*at++ = digits[--count];
	*at = 0;
	return at;
}

#endif
