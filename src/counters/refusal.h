/* The reason of a refused event, in words, with a remedy. */
#ifndef FATHOM_COUNTERS_REFUSAL_H
#define FATHOM_COUNTERS_REFUSAL_H

#include <stdbool.h>

struct fm_refusal {
	char why[200];
	char remedy[280];
};

/* `what`: the missing resource ("core counters", the name of an event). `in_virtual_machine` determines the remedy. */
void fm_refusal_explain(int code, const char *what, bool in_virtual_machine, struct fm_refusal *ret_refusal);

/* The kernel's perf_event_paranoid; -99 without one. */
long long fm_paranoid_level(void);

#endif
