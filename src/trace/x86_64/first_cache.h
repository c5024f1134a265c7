/* The first data cache of the processor, as it describes itself. */
#ifndef FATHOM_TRACE_X86_64_FIRST_CACHE_H
#define FATHOM_TRACE_X86_64_FIRST_CACHE_H

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

struct fm_first_cache {
	uint32_t line, sets, ways;
};

static inline bool fm_first_cache(struct fm_first_cache *ret_cache)
{
	static const uint32_t leaves[] = {4, 0x8000001d}; /* of Intel, and of AMD */
	uint32_t a, b, c, d;

	for (unsigned i = 0; i < 2; i++)
		for (uint32_t cache = 0; cache < 4 && __get_cpuid_count(leaves[i], cache, &a, &b, &c, &d); cache++) {
			uint32_t type = a & 31, level = a >> 5 & 7;

			if (level != 1 || (type != 1 && type != 3)) /* data, or all */
				continue;
			*ret_cache =
			    (struct fm_first_cache){.line = (b & 0xfff) + 1, .ways = (b >> 22) + 1, .sets = c + 1};
			return true;
		}
	return false;
}

/* Pages that the processor translates without delay; 0: it does not say. */
static inline uint32_t fm_first_pages(void)
{
	enum { LOADS = 4 };
	uint32_t a, b, c, d;

	for (uint32_t cache = 0; cache < 16 && __get_cpuid_count(0x18, cache, &a, &b, &c, &d); cache++)
		if (((d & 31) == 1 || (d & 31) == LOADS) && (d >> 5 & 7) == 1 && (b & 1))
			return (b >> 16) * c;
	if (__get_cpuid(0x80000005, &a, &b, &c, &d) && d)
		return b >> 16 & 0xff;
	return 0;
}

#endif
