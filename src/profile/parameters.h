/* Names, words and units of the numbered figures of a profile, by tables. */
#ifndef FATHOM_PROFILE_PARAMETERS_H
#define FATHOM_PROFILE_PARAMETERS_H

#include "simulator/operations.h"

struct fm_parameter {
	const char *name, *words, *unit;
};

enum fm_core_parameter {
#define PARAMETER(identifier, ...) FM_CORE_##identifier,
#include "profile/core.def"
#undef PARAMETER
	FM_CORE_PARAMETERS
};

/* Distance of the points of code_bytes. */
enum { FM_CORE_CODE_STEP = 8 << 10 };

enum fm_prefetch_parameter {
#define PREFETCH_PARAMETER(identifier, ...) FM_PREFETCH_##identifier,
#include "profile/prefetch.def"
#undef PREFETCH_PARAMETER
	FM_PREFETCH_PARAMETERS
};

enum fm_translation_parameter {
#define TRANSLATION_PARAMETER(identifier, ...) FM_TRANSLATION_##identifier,
#include "profile/translation.def"
#undef TRANSLATION_PARAMETER
	FM_TRANSLATION_PARAMETERS
};

enum fm_touch_parameter {
#define TOUCH_PARAMETER(identifier, ...) FM_TOUCH_##identifier,
#include "profile/touch.def"
#undef TOUCH_PARAMETER
	FM_TOUCH_kernel_share, /* kernel share of the time of first writes */
	FM_TOUCH_PARAMETERS
};

enum fm_ways { FM_WAYS_first, FM_WAYS_second, FM_WAYS_COUNT };

extern const struct fm_parameter fm_core_parameters[FM_CORE_PARAMETERS];
extern const struct fm_parameter fm_prefetch_parameters[FM_PREFETCH_PARAMETERS];
extern const struct fm_parameter fm_translation_parameters[FM_TRANSLATION_PARAMETERS];      /* pages of 4 KiB */
extern const struct fm_parameter fm_translation_huge_parameters[FM_TRANSLATION_PARAMETERS]; /* pages of 2 MiB */
extern const struct fm_parameter fm_touch_parameters[FM_TOUCH_PARAMETERS];
extern const struct fm_parameter fm_ways_parameters[FM_WAYS_COUNT];

/* The parameters of an operation of the core. An operation without a measurement uses a similar one. */
struct fm_core_operation {
	enum fm_operation operation;
	enum fm_core_parameter latency, interval;
};

enum { FM_CORE_OPERATIONS = 10 };
extern const struct fm_core_operation fm_core_operations[FM_CORE_OPERATIONS];

enum fm_contention_kind {
#define CONTENTION_KIND(identifier, ...) FM_CONTENTION_##identifier,
#include "profile/contention.def"
#undef CONTENTION_KIND
	FM_CONTENTION_KINDS
};

extern const struct fm_parameter fm_contention_kinds[FM_CONTENTION_KINDS];

#endif
