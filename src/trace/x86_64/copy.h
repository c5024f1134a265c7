/* Copies that bypass the caches, to keep the program's lines there: pieces of 16 bytes, `to` aligned to 16. */
#ifndef FATHOM_TRACE_X86_64_COPY_H
#define FATHOM_TRACE_X86_64_COPY_H

#include <emmintrin.h>
#include <stddef.h>

static inline void fm_copy_past(void *to, const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(__m128i); i++)
		_mm_stream_si128((__m128i *)to + i, _mm_loadu_si128((const __m128i *)from + i));
}

/* Orders the copies before all later stores, as seen by other processors. */
static inline void fm_copy_past_end(void)
{
	_mm_sfence();
}

#endif
