/* Less cache and less bandwidth by the processor itself: the kernel's resctrl file system, where kernel and CPU have
   it. A group of our own is made, the program's tasks are put into it, and its share is set; the default group and
   those of others are never written. The group is made, and removed again, by a process of its own: what was before is
   restored however the tool ends.

   The root is /sys/fs/resctrl, or $FATHOM_RESCTRL_ROOT (a tree of files, for tests). No symbolic link in it is
   followed. */
#ifndef FATHOM_INTERFERENCE_RESCTRL_H
#define FATHOM_INTERFERENCE_RESCTRL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum { FM_RESCTRL_DOMAINS = 64 };

enum fm_resctrl_cache { FM_RESCTRL_L2, FM_RESCTRL_L3, FM_RESCTRL_CACHES };

/* In what a limit of bandwidth is written. */
enum fm_resctrl_unit {
	FM_RESCTRL_PERCENT,
	FM_RESCTRL_MEGABYTES, /* per second: mounted with mba_MBps */
	FM_RESCTRL_EIGHTHS,   /* of GB/s: AMD */
};

struct fm_resctrl_ways {
	bool available;
	bool split;      /* code and data have masks of their own (CDP); both get the same */
	bool restricted; /* the default group does not have all of them: somebody has changed it */
	uint64_t mask;
	uint64_t shared; /* ways that other hardware uses, too; ours are taken elsewhere, if possible */
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

/* Can it be used here, and what does it have? -ENOTSUP with what is missing and who can change it; -EBUSY when somebody
   else uses it: their groups are named. */
int fm_resctrl_probe(struct fm_resctrl_facts *ret_facts, struct fm_error *error);

struct fm_resctrl;

/* Make our group, which has everything at first. */
int fm_resctrl_begin(struct fm_resctrl **ret_resctrl, struct fm_error *error);
const struct fm_resctrl_facts *fm_resctrl_facts(const struct fm_resctrl *resctrl);

/* The process and all of its threads; what it makes later goes along. */
int fm_resctrl_add(struct fm_resctrl *resctrl, pid_t process, struct fm_error *error);

/* So many ways, and so much bandwidth in its unit, in all domains. 0 ways, or an amount of 0: all there is. The nearest
   that the hardware can is set, and returned. */
struct fm_resctrl_limit {
	enum fm_resctrl_cache cache;
	unsigned ways;
	uint64_t bandwidth;
};
int fm_resctrl_limit(struct fm_resctrl *resctrl, const struct fm_resctrl_limit *limit,
                     struct fm_resctrl_limit *ret_limit, struct fm_error *error);

/* Everything is as it was: -EIO when it is not. The resctrl is gone either way. */
int fm_resctrl_end(struct fm_resctrl *resctrl, struct fm_error *error);

/* The mask of so many ways in a row: those that other hardware does not use, if there are enough. 0: it cannot be. */
uint64_t fm_resctrl_mask(const struct fm_resctrl_ways *cache, unsigned ways);

#endif
