/* Limits of cache and bandwidth by the processor, with the kernel's resctrl file system. The program's tasks are moved
   into a new group with its own share; the default group and foreign groups are never written. A separate process
   creates and removes the group, so that the state is restored however the tool ends.

   The root is /sys/fs/resctrl, or $FATHOM_RESCTRL_ROOT (a tree of files, for tests). Symbolic links in it are not
   followed. */
#ifndef FATHOM_INTERFERENCE_RESCTRL_H
#define FATHOM_INTERFERENCE_RESCTRL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum { FM_RESCTRL_DOMAINS = 64 };

enum fm_resctrl_cache { FM_RESCTRL_L2, FM_RESCTRL_L3, FM_RESCTRL_CACHES };

/* Unit of a limit of bandwidth. */
enum fm_resctrl_unit {
	FM_RESCTRL_PERCENT,
	FM_RESCTRL_MEGABYTES, /* per second: mounted with mba_MBps */
	FM_RESCTRL_EIGHTHS,   /* of GB/s: AMD */
};

struct fm_resctrl_ways {
	bool available;
	bool split;      /* separate masks for code and data (CDP), set to equal values */
	bool restricted; /* the default group is restricted by another user */
	uint64_t mask;
	uint64_t shared; /* ways that other hardware also uses; avoided if possible */
	unsigned ways, least;
	unsigned domain_count, domains[FM_RESCTRL_DOMAINS];
};

struct fm_resctrl_bandwidth {
	bool available, restricted;
	enum fm_resctrl_unit unit;
	uint64_t least, step, most;
	unsigned domain_count, domains[FM_RESCTRL_DOMAINS];
};

struct fm_resctrl_facts {
	struct fm_resctrl_ways caches[FM_RESCTRL_CACHES];
	struct fm_resctrl_bandwidth bandwidth;
};

const char *fm_resctrl_root(void);

/* Reads the facts. -ENOTSUP with the missing condition and its remedy; -EBUSY with the names of foreign groups. */
int fm_resctrl_probe(struct fm_resctrl_facts *ret_facts, struct fm_error *error);

struct fm_resctrl;

/* Creates the group, with all resources. */
int fm_resctrl_begin(struct fm_resctrl **ret_resctrl, struct fm_error *error);
const struct fm_resctrl_facts *fm_resctrl_facts(const struct fm_resctrl *resctrl);

/* Moves a process with its threads; children follow. */
int fm_resctrl_add(struct fm_resctrl *resctrl, pid_t process, struct fm_error *error);

/* Sets ways and bandwidth (in its unit) in all domains; 0: no limit. The nearest amounts of the hardware are set and
   returned. */
struct fm_resctrl_limit {
	enum fm_resctrl_cache cache;
	unsigned ways;
	uint64_t bandwidth;
};
int fm_resctrl_limit(struct fm_resctrl *resctrl, const struct fm_resctrl_limit *limit,
                     struct fm_resctrl_limit *ret_limit, struct fm_error *error);

/* Restores the state; -EIO on failure. The object is freed in any case. */
int fm_resctrl_end(struct fm_resctrl *resctrl, struct fm_error *error);

/* A mask of contiguous ways, without those of other hardware if possible; 0 if there are too few. */
uint64_t fm_resctrl_mask(const struct fm_resctrl_ways *cache, unsigned ways);

#endif
