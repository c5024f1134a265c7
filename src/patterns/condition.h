/* A condition on a verdict, for scripts: "latency:memory>20" or, of two runs, "time>5". */
#ifndef FATHOM_PATTERNS_CONDITION_H
#define FATHOM_PATTERNS_CONDITION_H

#include "base/error.h"
#include "patterns/causes.h"
#include "patterns/runs.h"

struct fm_condition {
	char name[FM_CAUSE_NAME]; /* a cause, or "time" */
	double percent;
};

enum fm_condition_state {
	FM_CONDITION_FALSE, /* the whole interval is at or below the limit */
	FM_CONDITION_OPEN,  /* the interval includes the limit, or the share is unknown */
	FM_CONDITION_TRUE,
};

/* Parses "CAUSE>PERCENT". -EINVAL with a message. */
int fm_condition_parse(const char *text, struct fm_condition *ret_condition, struct fm_error *error);

/* Does the share of the cause exceed the limit? */
enum fm_condition_state fm_condition_test(const struct fm_condition *condition, const struct fm_analysis *analysis,
                                          struct fm_figure *ret_share);

/* The same of the second run; "time" is the time that it takes longer, as a share of the first. */
enum fm_condition_state fm_condition_test_runs(const struct fm_condition *condition, const struct fm_runs *runs,
                                               struct fm_figure *ret_share);

#endif
