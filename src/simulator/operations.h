/* How long what instructions compute takes (operations.def). */
#ifndef FATHOM_SIMULATOR_OPERATIONS_H
#define FATHOM_SIMULATOR_OPERATIONS_H

#include <stdbool.h>

/* SERIAL: nothing else is on its way. */
enum fm_unit { FM_UNIT_NONE, FM_UNIT_ANY, FM_UNIT_MULTIPLY, FM_UNIT_DIVIDE, FM_UNIT_VECTOR, FM_UNIT_SERIAL };

enum fm_operation {
#define OPERATION(identifier, ...) FM_OPERATION_##identifier,
#include "simulator/operations.def"
#undef OPERATION
	FM_OPERATION_COUNT
};

struct fm_operation_description {
	unsigned latency;  /* cycles */
	unsigned interval; /* hundredths of cycles; 0: no limit but the ports */
	bool given;        /* else as in operations.def */
};

/* "float_add", as in files; for people; where it is executed. */
const char *fm_operation_name(enum fm_operation operation);
const char *fm_operation_words(enum fm_operation operation);
enum fm_unit fm_operation_unit(enum fm_operation operation);

/* The operation whose unit it needs: itself, unless there is but one for both. */
enum fm_operation fm_operation_shares(enum fm_operation operation);

/* The operation in whose units it takes a place as well: FM_OPERATION_none if in no others. */
enum fm_operation fm_operation_among(enum fm_operation operation);

/* Of that name; FM_OPERATION_COUNT: none is. */
enum fm_operation fm_operation_find(const char *name);

/* What holds where nothing was given. */
struct fm_operation_description fm_operation_usual(enum fm_operation operation);

#endif
