/* What is published of the core of a processor family (families.def). Such a figure has the origin `published`: it
   stands beside what was measured, and in for what could not be. */
#ifndef FATHOM_MACHINE_FAMILY_H
#define FATHOM_MACHINE_FAMILY_H

#include "base/figure.h"
#include "machine/topology.h"

struct fm_family;

/* By vendor, family and model, since hypervisors change names. NULL when the table does not have it. */
const struct fm_family *fm_family_of(const struct fm_topology *topology);

/* "AMD Zen 3". */
const char *fm_family_words(const struct fm_family *family);

/* By the name that `fathom machine --core` prints. Not available when the family, which may be NULL, has none. */
struct fm_figure fm_family_figure(const struct fm_family *family, const char *parameter);

/* Where the value was published; NULL when there is none. */
const char *fm_family_source(const struct fm_family *family, const char *parameter);

/* Is what was published more than a tenth outside the interval of what was measured? */
bool fm_family_differs(const struct fm_figure *measured, const struct fm_figure *published);

/* The measured figure, or the published one where that is not available or not conclusive. */
struct fm_figure fm_family_or_published(const struct fm_figure *measured, const struct fm_family *family,
                                        const char *parameter);

/* Is every line of the table of use? For tests: the first that is not, or NULL. */
const char *fm_family_check(bool (*known)(const char *parameter));

#endif
