#include "simulator/operations.h"

#include <string.h>

static const struct {
	const char *name, *words;
	enum fm_unit unit;
	unsigned latency, interval;
} operations[FM_OPERATION_COUNT] = {
#define OPERATION(identifier, words, unit, latency, interval) {#identifier, words, FM_UNIT_##unit, latency, interval},
#include "simulator/operations.def"
#undef OPERATION
};

const char *fm_operation_name(enum fm_operation operation)
{
	return operations[operation].name;
}

const char *fm_operation_words(enum fm_operation operation)
{
	return operations[operation].words;
}

enum fm_unit fm_operation_unit(enum fm_operation operation)
{
	return operations[operation].unit;
}

enum fm_operation fm_operation_shares(enum fm_operation operation)
{
	/* port 5 of Intel's cores */
	return operation == FM_OPERATION_convert || operation == FM_OPERATION_float_across ? FM_OPERATION_vector_far
	                                                                                   : operation;
}

enum fm_operation fm_operation_among(enum fm_operation operation)
{
	/* some of the units that add can shift, too */
	return operation == FM_OPERATION_shift ? FM_OPERATION_simple : FM_OPERATION_none;
}

enum fm_operation fm_operation_find(const char *name)
{
	unsigned i = 0;

	while (i < FM_OPERATION_COUNT && strcmp(operations[i].name, name))
		i++;
	return (enum fm_operation)i;
}

struct fm_operation_description fm_operation_usual(enum fm_operation operation)
{
	return (struct fm_operation_description){operations[operation].latency, operations[operation].interval, false};
}
