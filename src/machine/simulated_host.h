/* The machine called host: a simulated one made from the machine profile, with the capacities and latencies that were
   measured rather than the advertised ones. */
#ifndef FATHOM_MACHINE_SIMULATED_HOST_H
#define FATHOM_MACHINE_SIMULATED_HOST_H

#include "simulator/description.h"
#include "machine/machine.h"

/* -ENOTSUP when the profile does not say enough. */
int fm_description_from_profile(const struct fm_machine *profile, struct fm_machine_description *ret_description,
                                struct fm_error *error);

#endif
