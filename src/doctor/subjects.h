/* Declares all probes of capabilities.def for the files that define them. */
#ifndef FATHOM_DOCTOR_SUBJECTS_H
#define FATHOM_DOCTOR_SUBJECTS_H

#include "doctor/doctor.h"

#define CAPABILITY(function, name, enables) void fm_probe_##function(struct fm_capability *capability);
#include "doctor/capabilities.def"
#undef CAPABILITY

#endif
