#include "doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CAPABILITY(function, name, enables) void fm_probe_##function(struct fm_capability *capability);
#include "doctor/capabilities.def"
#undef CAPABILITY

const struct fm_capability_probe fm_probes[] = {
#define CAPABILITY(function, name, enables) {name, enables, fm_probe_##function},
#include "doctor/capabilities.def"
#undef CAPABILITY
};
const unsigned fm_probe_count = sizeof(fm_probes) / sizeof(fm_probes[0]);

void fm_probe_run(const struct fm_capability_probe *probe, struct fm_capability *ret_capability)
{
	memset(ret_capability, 0, sizeof(*ret_capability));
	ret_capability->name = probe->name;
	ret_capability->enables = probe->enables;
	probe->probe(ret_capability);
}

void fm_capability_yes(struct fm_capability *capability, const char *format, ...)
{
	va_list list;

	capability->available = true;
	va_start(list, format);
	vsnprintf(capability->found, sizeof(capability->found), format, list);
	va_end(list);
}

void fm_capability_no(struct fm_capability *capability, const char *format, ...)
{
	va_list list;

	capability->available = false;
	va_start(list, format);
	vsnprintf(capability->why, sizeof(capability->why), format, list);
	va_end(list);
}

void fm_capability_remedy(struct fm_capability *capability, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(capability->remedy, sizeof(capability->remedy), format, list);
	va_end(list);
}
