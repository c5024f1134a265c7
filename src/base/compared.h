/* A figure before and after a change. "No difference shown" is a possible result. */
#ifndef FATHOM_BASE_COMPARED_H
#define FATHOM_BASE_COMPARED_H

#include "base/figure.h"

enum fm_change {
	FM_CHANGE_NONE, /* no difference shown */
	FM_CHANGE_LESS,
	FM_CHANGE_MORE,
	FM_CHANGE_ONLY_FIRST, /* missing in the other recording */
	FM_CHANGE_ONLY_SECOND,
	FM_CHANGE_INCOMPARABLE, /* unavailable in one recording */
};

/* A figure of both recordings, their ratio (second over first) and their difference. */
struct fm_compared {
	struct fm_figure first, second, ratio, difference;
	enum fm_change change;
};

struct fm_compared fm_compared_make(const struct fm_figure *first, const struct fm_figure *second);

const char *fm_change_name(enum fm_change change);

#endif
