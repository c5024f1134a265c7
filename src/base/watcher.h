/* The caller of long work: it may interrupt the work and receives its progress. */
#ifndef FATHOM_BASE_WATCHER_H
#define FATHOM_BASE_WATCHER_H

#include <stdbool.h>

/* All members may be NULL. */
struct fm_watcher {
	const volatile bool *interrupted;
	void (*progress)(void *context, const char *what, double share, double seconds_left);
	void *context;
};

static inline bool fm_watcher_stops(const struct fm_watcher *watcher)
{
	return watcher->interrupted && *watcher->interrupted;
}

static inline void fm_watcher_tell(const struct fm_watcher *watcher, const char *what, double share,
                                   double seconds_left)
{
	if (watcher->progress)
		watcher->progress(watcher->context, what, share, seconds_left);
}

#endif
