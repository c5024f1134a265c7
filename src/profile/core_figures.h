/* The figures of the core in groups, as listed by core_figures.c and the JSON of a profile. */
#ifndef FATHOM_PROFILE_CORE_FIGURES_H
#define FATHOM_PROFILE_CORE_FIGURES_H

#include "profile/profile.h"

enum { FM_CORE_GROUPS = 5 };

extern const struct fm_core_group {
	const struct fm_parameter *rows;
	unsigned count;
	size_t figures, measured; /* in struct fm_machine */
} fm_core_groups[FM_CORE_GROUPS];

static inline bool fm_core_group_measured(const struct fm_machine *machine, unsigned group)
{
	return *(const bool *)((const char *)machine + fm_core_groups[group].measured);
}

static inline const struct fm_figure *fm_core_group_figures(const struct fm_machine *machine, unsigned group)
{
	return (const struct fm_figure *)((const char *)machine + fm_core_groups[group].figures);
}

#endif
