#include "streams/streams.h"

#include <stddef.h>
#include <string.h>

const struct fm_stream_kernel fm_streams[FM_STREAM_COUNT] = {
#define STREAM_KERNEL(identifier, ...) {#identifier, __VA_ARGS__},
#define STRING_KERNEL(...)
#include "streams/streams.def"
};

const struct fm_stream_kernel fm_strings[FM_STRING_COUNT] = {
#define STREAM_KERNEL(...)
#define STRING_KERNEL(identifier, formula, streams, loads, stores, loaded, stored) \
	{#identifier, formula, streams, loads, stores, loaded, stored, 0, 0},
#include "streams/streams.def"
};

static const struct {
	const char *name;
	unsigned bytes;
} isas[FM_ISA_COUNT] = {
#define ISA(identifier, bytes) {#identifier, bytes},
#include "streams/isa.def"
#undef ISA
};

const char *fm_isa_name(enum fm_isa isa)
{
	return isas[isa].name;
}

unsigned fm_isa_bytes(enum fm_isa isa)
{
	return isas[isa].bytes;
}

static const struct fm_stream_kernel *find(const struct fm_stream_kernel *streams, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(streams[i].name, name))
			return &streams[i];
	return NULL;
}

const struct fm_stream_kernel *fm_stream_find(const char *name)
{
	return find(fm_streams, FM_STREAM_COUNT, name);
}

const struct fm_stream_kernel *fm_string_find(const char *name)
{
	return find(fm_strings, FM_STRING_COUNT, name);
}
