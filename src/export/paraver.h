/* Parts of Paraver traces, shared by raw and folded traces. */
#ifndef FATHOM_EXPORT_PARAVER_H
#define FATHOM_EXPORT_PARAVER_H

#include "export/exporter.h"

enum fm_paraver_type {
#define PARAVER_TYPE(identifier, number, gradient, label) FM_PARAVER_##identifier = (number),
#include "export/paraver_types.def"
#undef PARAVER_TYPE
};

enum { FM_PARAVER_STACK = 5 /* frames per sample, including its function */ };

/* "2:cpu:1:task:thread:time" */
void fm_paraver_event(struct fm_sink *sink, uint64_t cpu, uint64_t task, uint64_t thread, uint64_t at);
/* ":type:value" */
void fm_paraver_value(struct fm_sink *sink, uint64_t type, int64_t value);
/* Place, object, cost and other values of a sample, without its time. `address` may be relative to the object. */
void fm_paraver_sample(struct fm_sink *sink, const struct fm_exported *exported, uint32_t index, uint64_t address);

/* "#Paraver (…):…_ns:1(cpus)", the beginning of the header. */
void fm_paraver_header(struct fm_sink *sink, const struct fm_exported *exported, uint64_t duration, uint64_t cpus);

/* Name and type of a counter. */
uint64_t fm_paraver_counter_type(const char *name, size_t index);

struct fm_paraver_counter {
	uint64_t type;
	const char *name, *unit;
};

/* The .pcf: all types, and all values with names. */
void fm_paraver_labels(struct fm_sink *sink, const struct fm_exported *exported,
                       const struct fm_paraver_counter *counters, size_t counter_count);

/* The folded trace. -EINVAL with the reason: the recording cannot be folded. */
int fm_paraver_write_folded(const struct fm_exported *exported, struct fm_sink *sinks, struct fm_error *error);

#endif
