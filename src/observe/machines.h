/* Machines by name: simulated ones from their files, `host` from the machine profile, and the profiles themselves. */
#ifndef FATHOM_OBSERVE_MACHINES_H
#define FATHOM_OBSERVE_MACHINES_H

#include "recording/recording.h"

/* Makes sure that there is a profile of this host. Where none is kept yet, or none can be read, a quick one is measured
   (10 seconds, announced by a remark); it is kept if there is a place for it, and used for this run in any case. */
struct fm_observation;
int fm_profile_ensure(const struct fm_observation *wanted, struct fm_error *error);

/* The profile of this host (path NULL), as text and checked. -ENOTSUP with the remedy when there is none. */
int fm_profile_text(const char *path, char **ret_text, struct fm_error *error);

/* The same as a profile. */
int fm_profile_chosen(const char *path, struct fm_machine **ret_profile, struct fm_error *error);

/* Where the profile of a simulated machine is kept, which holds what was validated there; of "host" and NULL the
   machine's own. Allocated. */
int fm_profile_path(const char *machine, char **ret_path, struct fm_error *error);

/* Instructions per ns that the core of this machine does at best at that clock; 0: not known. */
double fm_host_best_rate(double ghz);

/* "host" is the profile's machine at the clock of now and with the neighbours of now, which takes some tenths of a
   second to see. */
int fm_machine_chosen(const char *name, struct fm_machine_description *ret_description, struct fm_error *error);

/* A performance group: a file, or FAMILY/NAME of ours. false when there is none. */
bool fm_group_path(const char *name, char *path, size_t size);

/* The vendor's formulas of a family; NULL: of this machine's processor. false when there are none. */
bool fm_vendor_path(const char *family, char *path, size_t size);

/* A whole file as text, allocated. */
int fm_file_text(const char *path, char **ret_text, struct fm_error *error);

#endif
