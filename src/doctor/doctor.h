/* The capabilities of this machine, each found by one successful use. */
#ifndef FATHOM_DOCTOR_DOCTOR_H
#define FATHOM_DOCTOR_DOCTOR_H

#include <stdbool.h>

struct fm_capability {
	const char *name;
	const char *enables;
	bool available;
	char found[200];  /* the finding, if available */
	char why[240];    /* the reason, if not */
	char remedy[320]; /* a command or setting that enables it, or "none" */
};

/* Fills found if available, else why and remedy. */
typedef void (*fm_probe_function)(struct fm_capability *capability);

struct fm_capability_probe {
	const char *name;
	const char *enables;
	fm_probe_function probe;
};

extern const struct fm_capability_probe fm_probes[];
extern const unsigned fm_probe_count;

void fm_probe_run(const struct fm_capability_probe *probe, struct fm_capability *ret_capability);

/* For probes: set the result. */
void fm_capability_yes(struct fm_capability *capability, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fm_capability_no(struct fm_capability *capability, const char *format, ...) __attribute__((format(printf, 2, 3)));
void fm_capability_remedy(struct fm_capability *capability, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
