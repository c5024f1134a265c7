#include "interference/probe.h"

#include <math.h>

#include "base/clock.h"
#include "base/processor.h"
#include "kernels/layout.h"

#define FILLED 0x01010101u /* what fm_buffer_allocate() leaves in every integer */

enum { PARTS_SHIFT = 64 - 10, BISECTIONS = 60 };
_Static_assert(FM_PROBE_PARTS == 1 << 10, "the first bits of a random number choose the part");

/* The place below which a share of the accesses falls. */
static double place_of(const struct fm_distribution *distribution, double share)
{
	double low = 0, high = 1;

	for (unsigned i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (fm_distribution_share(distribution, 0, middle) < share)
			low = middle;
		else
			high = middle;
	}
	return high;
}

void fm_probe_prepare(struct fm_probe *probe, const struct fm_buffer *buffer,
                      const struct fm_distribution *distribution, uint64_t bytes, unsigned additions, uint64_t seed)
{
	uint64_t whole = bytes / sizeof(uint32_t);
	double integers = (double)whole;

	probe->integers = (const uint32_t *)(const void *)buffer->memory;
	probe->additions = additions;
	probe->state = (seed + 1) * 0x9e3779b97f4a7c15u | 1;
	for (unsigned i = 0; i <= FM_PROBE_PARTS; i++)
		probe->places[i] =
		    (uint32_t)fmin(place_of(distribution, (double)i / FM_PROBE_PARTS) * integers, integers - 1);
}

static inline uint64_t next_state(uint64_t state)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^ state << 17;
}

static inline uint32_t index_of(const struct fm_probe *probe, uint64_t state)
{
	uint64_t mixed = state * 0x2545f4914f6cdd1du;
	uint32_t from = probe->places[mixed >> PARTS_SHIFT], to = probe->places[(mixed >> PARTS_SHIFT) + 1];

	return from + (uint32_t)(((mixed & 0xffffffffu) * (to - from)) >> 32);
}

static inline uint64_t add(uint64_t value, unsigned additions)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < additions; i++) {
		sum += value;
		__asm__ volatile("" : "+r"(sum));
	}
	return sum;
}

double fm_probe_time(struct fm_probe *probe, unsigned accesses)
{
	const uint64_t known = (uint64_t)probe->additions * FILLED;
	uint64_t state = probe->state, begin = fm_clock_now();

	for (unsigned i = 0; i < accesses; i++) {
		uint64_t sum;

		state = next_state(state);
		sum = add(probe->integers[index_of(probe, state)], probe->additions);
		/* the difference is 0, but only who has waited for the value knows */
		state += sum - known;
	}
	probe->state = state;
	return (double)(fm_clock_now() - begin) / accesses;
}

void fm_probe_warm(struct fm_probe *probe, uint64_t accesses)
{
	uint64_t state = probe->state, sum = 0;

	for (uint64_t i = 0; i < accesses; i++) {
		state = next_state(state);
		sum += probe->integers[index_of(probe, state)];
	}
	__asm__ volatile("" : : "r"(sum));
	probe->state = state;
}

void fm_probe_flush_next(const struct fm_probe *probe, unsigned accesses)
{
	uint64_t state = probe->state;

	for (unsigned i = 0; i < accesses; i++) {
		state = next_state(state);
		fm_flush_line(&probe->integers[index_of(probe, state)]);
	}
	fm_flush_wait();
}

double fm_probe_own(const struct fm_expected *expected, double private_bytes)
{
	return fm_expected_hits(expected, FM_EXPECTED_che, private_bytes / FM_LINE_BYTES);
}

double fm_probe_capacity(const struct fm_expected *expected, const struct fm_probe_times *times, double own, double ns)
{
	double span = times->far_ns - times->near_ns, hits;

	if (!(span > 0) || !(times->near_ns > 0))
		return NAN;
	hits = (times->far_ns - ns + own * (times->private_ns - times->near_ns)) / span;
	return fm_expected_capacity(expected, FM_EXPECTED_che, fmax(hits, own)) * FM_LINE_BYTES;
}

double fm_probe_expected(const struct fm_expected *expected, const struct fm_probe_times *times, double own,
                         double bytes)
{
	double hits = fmax(fm_expected_hits(expected, FM_EXPECTED_che, bytes / FM_LINE_BYTES), own);

	return own * times->private_ns + (hits - own) * times->near_ns + (1 - hits) * times->far_ns;
}
