/* Why the kernel refuses an event, in words, and what would help. */
#ifndef FATHOM_COUNTERS_REFUSAL_H
#define FATHOM_COUNTERS_REFUSAL_H

#include <stdbool.h>

struct fm_refusal {
	char why[200];
	char remedy[280];
};

/* `what` is missing when it is ("core counters", an event's name); in_virtual_machine decides who can help. */
void fm_refusal_explain(int code, const char *what, bool in_virtual_machine, struct fm_refusal *ret_refusal);

/* The kernel's perf_event_paranoid, or -99 when it has none. */
long long fm_paranoid_level(void);

#endif
