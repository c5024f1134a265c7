/* The simulated machine `host`, made from the machine profile with measured instead of advertised capacities and
   latencies. */
#ifndef FATHOM_PROFILE_SIMULATED_HOST_H
#define FATHOM_PROFILE_SIMULATED_HOST_H

#include "simulator/description.h"
#include "profile/profile.h"

/* Makes the description of `host`. -ENOTSUP if the profile lacks a figure. */
int fm_description_from_profile(const struct fm_machine *profile, struct fm_machine_description *ret_description,
                                struct fm_error *error);

#endif
