/* The streaming kernels by name, without code: loads, stores and write-allocate traffic per element. Also the
   instruction sets. */
#ifndef FATHOM_STREAMS_STREAMS_H
#define FATHOM_STREAMS_STREAMS_H

enum fm_isa {
#define ISA(identifier, bytes) FM_ISA_##identifier,
#include "streams/isa.def"
#undef ISA
	FM_ISA_COUNT
};

enum fm_stream_kernel_index {
#define STREAM_KERNEL(identifier, ...) FM_STREAM_##identifier,
#define STRING_KERNEL(...)
#include "streams/streams.def"
	FM_STREAM_COUNT
};

enum fm_string_kernel_index {
#define STREAM_KERNEL(...)
#define STRING_KERNEL(identifier, ...) FM_STRING_##identifier,
#include "streams/streams.def"
	FM_STRING_COUNT
};

/* Quantities are per element of 8 bytes. */
struct fm_stream_kernel {
	const char *name;
	const char *formula;
	unsigned streams;
	unsigned loads;
	unsigned stores;
	unsigned loaded_bytes;
	unsigned stored_bytes;
	unsigned write_allocate_bytes; /* 0 for string instructions: measured */
	unsigned flops;
};

extern const struct fm_stream_kernel fm_streams[FM_STREAM_COUNT];
extern const struct fm_stream_kernel fm_strings[FM_STRING_COUNT]; /* by one string instruction per pass */

const char *fm_isa_name(enum fm_isa isa);
unsigned fm_isa_bytes(enum fm_isa isa);

/* Finds a kernel; NULL: unknown name. */
const struct fm_stream_kernel *fm_stream_find(const char *name);
const struct fm_stream_kernel *fm_string_find(const char *name);

#endif
