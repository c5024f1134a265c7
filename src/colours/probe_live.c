#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/clock.h"
#include "colours/probe.h"

static double chase(void *context, char *const *lines, unsigned count, unsigned steps)
{
	char *at = lines[0];
	uint64_t begin;

	(void)context;
	for (unsigned i = 0; i < count; i++)
		*(char **)(void *)lines[i] = lines[i + 1 < count ? i + 1 : 0];
	for (unsigned i = 0; i < 2 * count; i++)
		at = *(char *volatile *)(void *)at;
	begin = fm_clock_now();
	for (unsigned i = 0; i < steps; i++)
		at = *(char *volatile *)(void *)at;
	__asm__ volatile("" ::"r"(at));
	return (double)(fm_clock_now() - begin) / steps;
}

#if defined(__x86_64__)
static inline void load(const char *address)
{
	(void)*(const volatile char *)address;
}

/* Each address depends on the value loaded before, so that latencies add up. */
static inline uint32_t timed(const struct fm_colours_lines *lines, const char *page)
{
	uint64_t begin, end, value = 0;
	unsigned ignored;

	_mm_mfence();
	_mm_lfence();
	begin = __rdtsc();
	_mm_lfence();
	for (unsigned i = 0; i < lines->count; i++) {
		value += *(const volatile unsigned char *)(page + lines->offsets[i] + value);
		/* as far as the compiler knows, this may be anything: it is 0 */
		__asm__ volatile("and $0, %0" : "+r"(value)::"cc");
	}
	__asm__ volatile("lfence" ::"r"(value) : "memory");
	end = __rdtscp(&ignored);
	_mm_lfence();
	return (uint32_t)(end - begin < UINT32_MAX ? end - begin : UINT32_MAX);
}

static uint32_t reload(void *context, const struct fm_colours_lines *lines, char *target, char *const *pages,
                       unsigned count, unsigned passes)
{
	(void)context;
	for (unsigned i = 0; i < lines->count; i++)
		load(target + lines->offsets[i]);
	_mm_lfence();
	/* offset by offset: the same set is filled by one page after the other */
	for (unsigned pass = 0; pass < passes; pass++) {
		for (unsigned i = 0; i < lines->count; i++) {
			uint32_t offset = lines->offsets[i];

			for (unsigned k = 0; k < count; k++)
				load(pages[k] + offset);
		}
		_mm_lfence();
	}
	load(target + lines->warm);
	_mm_lfence();
	return timed(lines, target);
}

const struct fm_colours_probe fm_colours_probe_live = {.chase = chase, .reload = reload};
#else
const struct fm_colours_probe fm_colours_probe_live = {.chase = chase};
#endif
