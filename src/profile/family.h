/* Published figures of the cores of processor families (families.def), with the origin `published`. They complement the
   measured figures and replace unavailable ones. */
#ifndef FATHOM_PROFILE_FAMILY_H
#define FATHOM_PROFILE_FAMILY_H

#include "base/figure.h"
#include "profile/topology.h"

struct fm_family;

/* The family of a processor, by vendor, family and model, since hypervisors change names. NULL: not in the table. */
const struct fm_family *fm_family_of(const struct fm_topology *topology);

/* The name of a family, such as "AMD Zen 3". */
const char *fm_family_words(const struct fm_family *family);

/* A figure by its name in `fathom machine --core`. Not available if the family, which may be NULL, has none. */
struct fm_figure fm_family_figure(const struct fm_family *family, const char *parameter);

/* The source of the figure; NULL without one. */
const char *fm_family_source(const struct fm_family *family, const char *parameter);

/* Is the published figure more than a tenth outside of the measured interval? */
bool fm_family_differs(const struct fm_figure *measured, const struct fm_figure *published);

/* The measured figure, or the published one if the former is not available or inconclusive. */
struct fm_figure fm_family_or_published(const struct fm_figure *measured, const struct fm_family *family,
                                        const char *parameter);

/* For tests: the first invalid line of the table, or NULL. */
const char *fm_family_check(bool (*known)(const char *parameter));

#endif
