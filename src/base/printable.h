/* Names from foreign programs, for tables, terminals and JSON. Control characters and invalid UTF-8 become question
   marks, and characters are never cut. */
#ifndef FATHOM_BASE_PRINTABLE_H
#define FATHOM_BASE_PRINTABLE_H

#include <stddef.h>

/* Bytes of the character at `text`; 0 if it is invalid. */
static inline size_t fm_printable_length(const unsigned char *text)
{
	size_t length = *text < 0x80                    ? 1
	                : *text >= 0xc2 && *text < 0xe0 ? 2
	                : *text >= 0xe0 && *text < 0xf0 ? 3
	                : *text >= 0xf0 && *text < 0xf5 ? 4
	                                                : 0;

	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	/* overlong encodings, surrogates, above U+10FFFF */
	if ((*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] > 0x9f) ||
	    (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] > 0x8f))
		return 0;
	return length;
}

static inline void fm_printable_copy(char *target, size_t size, const char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	size_t used = 0;

	while (*from && used + 1 < size) {
		size_t length = fm_printable_length(from);

		if (!length || *from < 0x20 || *from == 0x7f) {
			target[used++] = '?';
			from++;
			continue;
		}
		if (used + length >= size)
			break;
		for (size_t i = 0; i < length; i++)
			target[used++] = (char)*from++;
	}
	target[used] = '\0';
}

#endif
