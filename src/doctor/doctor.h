/* What can be measured here, found out by trying. A capability is available only when it was used once and worked. */
#ifndef FATHOM_DOCTOR_DOCTOR_H
#define FATHOM_DOCTOR_DOCTOR_H

#include <stdbool.h>

struct fm_capability {
	const char *name;
	const char *enables;
	bool available;
	char found[200];  /* what was found when it is available */
	char why[240];    /* why not */
	char remedy[320]; /* the command or setting that would change it, or that nothing can */
};

/* Fill found when available, why and remedy when not. */
typedef void (*fm_probe_function)(struct fm_capability *capability);

struct fm_probe {
	const char *name;
	const char *enables;
	fm_probe_function probe;
};

extern const struct fm_probe fm_probes[];
extern const unsigned fm_probe_count;

void fm_probe_run(const struct fm_probe *probe, struct fm_capability *ret_capability);

/* For the probes. */
void fm_capability_yes(struct fm_capability *capability, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fm_capability_no(struct fm_capability *capability, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fm_capability_remedy(struct fm_capability *capability, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
