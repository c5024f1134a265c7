/* The code of a window's references in the stream. Each reference is the number of references since the last touch of
   its line in the window, or 0 for a first touch. Seven bits per byte, lowest first; the highest bit of a byte is set
   if more follow. Lines themselves are not kept, only which references share one. */
#ifndef FATHOM_RECORD_WINDOW_CODE_H
#define FATHOM_RECORD_WINDOW_CODE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FM_WINDOW_REFERENCES_MAX = 16384,
	FM_WINDOW_REFERENCE_BYTES = 3, /* the most bytes of one reference */
};

static inline uint8_t *fm_window_encode(uint8_t *at, uint32_t since)
{
	for (; since >= 128; since >>= 7)
		*at++ = (uint8_t)(since | 128);
	*at++ = (uint8_t)since;
	return at;
}

/* Decodes a window: numbers its lines from 0 in order of appearance. -EBADMSG if the bytes are invalid, too few or too
   many. */
static inline int fm_window_decode(const uint8_t *bytes, size_t size, uint64_t *lines, uint32_t count)
{
	const uint8_t *at = bytes, *end = bytes + size;
	uint64_t different = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t since = 0, shift = 0;

		do {
			if (at == end || shift > 14)
				return -EBADMSG;
			since |= (uint32_t)(*at & 127) << shift;
			shift += 7;
		} while (*at++ & 128);
		if (since > i)
			return -EBADMSG;
		lines[i] = since ? lines[i - since] : different++;
	}
	return at == end ? 0 : -EBADMSG;
}

#endif
