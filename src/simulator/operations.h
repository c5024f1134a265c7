/* Latencies and intervals of the operations of instructions (operations.def). */
#ifndef FATHOM_SIMULATOR_OPERATIONS_H
#define FATHOM_SIMULATOR_OPERATIONS_H

#include <stdbool.h>

/* SERIAL: no other instruction is in flight. */
enum fm_unit { FM_UNIT_NONE, FM_UNIT_ANY, FM_UNIT_MULTIPLY, FM_UNIT_DIVIDE, FM_UNIT_VECTOR, FM_UNIT_SERIAL };

enum fm_operation {
#define OPERATION(identifier, ...) FM_OPERATION_##identifier,
#include "simulator/operations.def"
#undef OPERATION
	FM_OPERATION_COUNT
};

struct fm_operation_description {
	unsigned latency;  /* cycles */
	unsigned interval; /* hundredths of cycles; 0: limited by the ports only */
	bool given;        /* false: the default of operations.def */
};

/* Names of an operation: "float_add", as in files; in text; and its unit. */
const char *fm_operation_name(enum fm_operation operation);
const char *fm_operation_words(enum fm_operation operation);
enum fm_unit fm_operation_unit(enum fm_operation operation);

/* The operation that owns its unit: itself, unless two share one. */
enum fm_operation fm_operation_shares(enum fm_operation operation);

/* The operation in whose units it also takes a place; FM_OPERATION_none: none. */
enum fm_operation fm_operation_among(enum fm_operation operation);

/* The operation of a name; FM_OPERATION_COUNT: none. */
enum fm_operation fm_operation_find(const char *name);

/* The default values of an operation. */
struct fm_operation_description fm_operation_usual(enum fm_operation operation);

#endif
