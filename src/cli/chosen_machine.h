/* The machine that --machine names. */
#ifndef FATHOM_CLI_CHOSEN_MACHINE_H
#define FATHOM_CLI_CHOSEN_MACHINE_H

#include "exact/description.h"
#include "machine/machine.h"

/* The saved profile of this host. -ENOTSUP with the remedy when there is none. */
int fm_chosen_profile(const char *path, struct fm_machine **ret_profile, struct fm_error *error);

/* Where the profile of a machine is: of this host when the name is NULL or "host", else of a simulated one. The path is
   allocated. */
int fm_chosen_profile_path(const char *machine, char **ret_path, struct fm_error *error);

/* A simulated machine by name or path; "host" is made from the saved profile. */
int fm_chosen_machine(const char *name, struct fm_machine_description *ret_description, struct fm_error *error);

#endif
