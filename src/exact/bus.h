/* A resource that cores share by bandwidth, such as the memory of a socket. Cores ask in their own time, which may
   differ by the skew: a single "free from" would make the one behind wait for the one ahead. So time is cut into
   windows, and each has room for so much. */
#ifndef FATHOM_EXACT_BUS_H
#define FATHOM_EXACT_BUS_H

#include <stdint.h>

enum { FM_BUS_WINDOW = 256 /* cycles */, FM_BUS_WINDOWS = 256 };

struct fm_bus {
	struct {
		uint64_t number;
		uint64_t used; /* hundredths of cycles */
	} windows[FM_BUS_WINDOWS];
};

/* From when on, not before `cycle`, the bus can be had for so many hundredths of cycles. */
static inline uint64_t fm_bus_take(struct fm_bus *bus, uint64_t cycle, uint64_t cost)
{
	for (uint64_t number = cycle / FM_BUS_WINDOW;; number++) {
		uint64_t slot = number % FM_BUS_WINDOWS;

		if (bus->windows[slot].number > number)
			return cycle; /* long past: nobody knows any more */
		if (bus->windows[slot].number < number) {
			bus->windows[slot].number = number;
			bus->windows[slot].used = 0;
		}
		if (bus->windows[slot].used < 100 * FM_BUS_WINDOW) {
			bus->windows[slot].used += cost;
			return number * FM_BUS_WINDOW > cycle ? number * FM_BUS_WINDOW : cycle;
		}
	}
}

#endif
