/* Time of page faults, predicted from the costs of first touches in a profile. Pure arithmetic. */
#ifndef FATHOM_PROFILE_FAULTS_H
#define FATHOM_PROFILE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/figure.h"
#include "profile/parameters.h"

/* Kernel seconds of `faults` page faults, of which up to `huge` made a page of 2 MiB: the costs of a first write and of
   the release. The kind of each fault is unknown, so that the interval covers the cheapest to the dearest kind, and 0
   to `huge` huge pages. The value counts all huge pages if `always` is set (the kernel uses them without a request),
   otherwise none. `figures` has FM_TOUCH_PARAMETERS. */
struct fm_figure fm_faults_predict(const struct fm_figure *figures, uint64_t faults, uint64_t huge, bool always);

#endif
