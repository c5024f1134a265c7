/* Machines by name: simulated ones from their files, `host` from the machine profile, and the profiles themselves. */
#ifndef FATHOM_OBSERVE_MACHINES_H
#define FATHOM_OBSERVE_MACHINES_H

#include "recording/recording.h"

/* Ensures a profile of this host. Without a readable one, measures a quick one (10 seconds, announced by a remark),
   uses it for this run and saves it if possible. */
struct fm_observation;
int fm_profile_ensure(const struct fm_observation *wanted, struct fm_error *error);

/* The checked text of a profile; path NULL: of this host. -ENOTSUP with the remedy without one. */
int fm_profile_text(const char *path, char **ret_text, struct fm_error *error);

/* fm_profile_text(), parsed. */
int fm_profile_chosen(const char *path, struct fm_machine **ret_profile, struct fm_error *error);

/* Path of the profile, with validated formulas, of a simulated machine; "host" or NULL: of this machine. Allocated. */
int fm_profile_path(const char *machine, char **ret_path, struct fm_error *error);

/* Highest instructions per ns of this machine's core at that clock; 0: unknown. */
double fm_host_best_rate(double ghz);

/* The description of a machine by name. "host" is the profile with the present clock and load by neighbours, measured
   in some tenths of a second. */
int fm_machine_chosen(const char *name, struct fm_machine_description *ret_description, struct fm_error *error);

/* Path of a performance group: a file, or an installed FAMILY/NAME. False without one. */
bool fm_group_path(const char *name, char *path, size_t size);

/* Path of the vendor's formulas of a family; NULL: of this machine's processor. False without one. */
bool fm_vendor_path(const char *family, char *path, size_t size);

/* A whole file as text, allocated. */
int fm_file_text(const char *path, char **ret_text, struct fm_error *error);

#endif
