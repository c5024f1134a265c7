/* What a whole run did, from what windows saw of it and from lines that were followed all the time.

   Numbers are estimated in up to three ways, and the narrowest interval is taken:

   - by instructions: the rate in windows, times the instructions that were executed (recording/windows.h);
   - by lines: windows tell how much there is for each line that the followed ones bring into a cache (or write back),
     and how many they do is known for the whole run. What happens between windows is in it, and windows in which a lot
     happens weigh what they are worth;
   - directly, at the last cache: what followed lines do there, times the share of lines that is followed. Windows are
     too short to know such a cache. Of lines that prefetchers bring into the cache above without need, the followed
     ones have only those of their pairs; the others miss the last cache as often as lines that are not new to it.

   Loads and stores are counted for the whole run. Hits are what is asked of a cache, less its misses. */
#ifndef FATHOM_RECORDING_ESTIMATE_H
#define FATHOM_RECORDING_ESTIMATE_H

#include "recording/recording.h"

struct fm_estimate {
	double value, low, high; /* 95 % */
};

enum { FM_ESTIMATES = sizeof(struct fm_core_counts) / sizeof(uint64_t) };

/* Each number of struct fm_core_counts, in its order. */
struct fm_estimates {
	struct fm_estimate counts[FM_ESTIMATES];
	unsigned windows;
};

/* Of one process, and of all. -ENOMEM. */
int fm_estimate_process(const struct fm_recording *recording, uint32_t process, struct fm_estimates *ret_estimates);
int fm_estimate_all(const struct fm_recording *recording, struct fm_estimates *ret_estimates);

#endif
