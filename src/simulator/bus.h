/* A resource that cores share by bandwidth, such as the memory of a socket. Cores request it in their own time, which
   may differ by the skew: a single "free from" would delay the core behind by the one ahead. So time is divided into
   windows of limited capacity. */
#ifndef FATHOM_SIMULATOR_BUS_H
#define FATHOM_SIMULATOR_BUS_H

#include <stdbool.h>
#include <stdint.h>

enum { FM_BUS_WINDOW = 256 /* cycles */, FM_BUS_WINDOWS = 256 };

/* The path of one core to a level. Its requests are not in order of time: a store requests at its commit, long after
   later loads. Windows are short, since only one core uses them. */
enum { FM_LANE_WINDOW = 16 /* cycles */, FM_LANE_WINDOWS = 8192 };

struct fm_lane {
	uint64_t numbers[FM_LANE_WINDOWS];
	uint32_t used[FM_LANE_WINDOWS]; /* hundredths of cycles */
};

/* The first cycle, not before `cycle`, in which the lane is free for `cost` hundredths of cycles. A remainder beyond
   the window uses the next ones. */
static inline uint64_t fm_lane_take(struct fm_lane *lane, uint64_t cycle, uint64_t cost)
{
	uint64_t begin = 0;
	bool begun = false;

	if (!cost)
		return cycle;
	for (uint64_t number = cycle / FM_LANE_WINDOW;; number++) {
		uint64_t slot = number % FM_LANE_WINDOWS, room, first;

		if (lane->numbers[slot] > number)
			return cycle; /* beyond the oldest window */
		if (lane->numbers[slot] < number) {
			lane->numbers[slot] = number;
			lane->used[slot] = 0;
		}
		if (lane->used[slot] >= 100 * FM_LANE_WINDOW)
			continue;
		/* within the window requests follow each other */
		first = number * FM_LANE_WINDOW + lane->used[slot] / 100;
		if (!begun)
			begin = first > cycle ? first : cycle;
		begun = true;
		room = 100 * FM_LANE_WINDOW - lane->used[slot];
		if (cost <= room) {
			lane->used[slot] += (uint32_t)cost;
			return begin;
		}
		lane->used[slot] = 100 * FM_LANE_WINDOW;
		cost -= room;
	}
}

struct fm_bus {
	struct {
		uint64_t number;
		uint64_t used; /* hundredths of cycles */
	} windows[FM_BUS_WINDOWS];
};

/* The first cycle, not before `cycle`, in which the bus is free for `cost` hundredths of cycles. */
static inline uint64_t fm_bus_take(struct fm_bus *bus, uint64_t cycle, uint64_t cost)
{
	for (uint64_t number = cycle / FM_BUS_WINDOW;; number++) {
		uint64_t slot = number % FM_BUS_WINDOWS;

		if (bus->windows[slot].number > number)
			return cycle; /* beyond the oldest window */
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
