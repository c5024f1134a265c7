/* Bins of growing width: single whole numbers at first, then a fixed number of bins per octave. */
#ifndef FATHOM_REUSE_BINS_H
#define FATHOM_REUSE_BINS_H

#include <math.h>
#include <stdint.h>

/* Distances: 16 bins per octave, each at most 6 % wide. */
enum { FM_DISTANCE_BITS = 4, FM_DISTANCE_BINS = (64 - FM_DISTANCE_BITS + 1) << FM_DISTANCE_BITS };

/* Times: 32 bins per octave up to 2^48 references; the last bin is for longer times and for no reuse. */
enum {
	FM_TIME_BITS = 5,
	FM_TIME_OCTAVES = 48,
	FM_TIME_BINS = ((FM_TIME_OCTAVES - FM_TIME_BITS + 1) << FM_TIME_BITS) + 1
};

/* Distances among followed lines: 2^bits bins per octave up to 2^20 lines; then one bin for longer distances, and one
   for first touches. */
enum { FM_LINES_OCTAVES = 20 };
#define FM_LINES_BINS(bits) (((FM_LINES_OCTAVES - (bits) + 1) << (bits)) + 2)

/* The bin of a whole number; 2^bits bins per octave. */
static inline unsigned fm_bin_of(uint64_t value, unsigned bits)
{
	unsigned shift;

	if (value >> bits == 0)
		return (unsigned)value;
	shift = 63u - (unsigned)__builtin_clzll(value) - bits;
	return (unsigned)((shift << bits) + (value >> shift));
}

/* The smallest number in a bin, as a double: it may be 2^64 or more. */
static inline double fm_bin_low(unsigned bin, unsigned bits)
{
	unsigned size = 1u << bits, octave = bin >> bits;

	if (octave < 2)
		return bin;
	if (octave + bits < 64)
		return (double)((uint64_t)(size + (bin & (size - 1))) << (octave - 1));
	return ldexp(size + (bin & (size - 1)), (int)octave - 1);
}

static inline unsigned fm_time_bin(double time)
{
	if (!(time < 0x1p48))
		return FM_TIME_BINS - 1;
	return fm_bin_of(time > 0 ? (uint64_t)time : 0, FM_TIME_BITS);
}

static inline double fm_time_bin_low(unsigned bin)
{
	return fm_bin_low(bin, FM_TIME_BITS);
}

#endif
