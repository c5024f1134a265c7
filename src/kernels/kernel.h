/* The kernel library: small loops whose loads, stores and bytes are known exactly (kernels.def).

   Every kernel has the same signature and takes everything from one struct. Streaming kernels exist in several
   instruction sets; fm_isa_available() says which may be used, and the environment variable FATHOM_CPU, a list such
   as "scalar,sse", narrows the choice so that every variant can be tested on one machine. */
#ifndef FATHOM_KERNELS_KERNEL_H
#define FATHOM_KERNELS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/layout.h"

struct fm_kernel_arguments {
	void *stream[4];            /* streams A, B, C, D; each `count` blocks of FM_BLOCK_BYTES long */
	uint64_t count;             /* blocks per pass of a streaming kernel; steps of the others (a multiple of 16) */
	uint64_t passes;            /* how often the streams are walked */
	double scalar;              /* s in the formulas of kernels.def */
	uint64_t result;            /* whatever the kernel leaves: handover kernels 1, or 0 when nobody answered */
	void *chain[FM_CHAINS_MAX]; /* where chases start, and where they got to */
};

typedef void (*fm_kernel_function)(struct fm_kernel_arguments *arguments);

enum fm_isa {
#define ISA(identifier, bytes) FM_ISA_##identifier,
#include "kernels/isa.def"
#undef ISA
	FM_ISA_COUNT
};

enum fm_stream_kernel_index {
#define STREAM_KERNEL(identifier, ...) FM_STREAM_##identifier,
#define STEP_KERNEL(...)
#define FAMILY_KERNEL(...)
#define HANDOVER_KERNEL(...)
#define STRING_KERNEL(...)
#include "kernels/kernels.def"
	FM_STREAM_COUNT
};

enum fm_string_kernel_index {
#define STREAM_KERNEL(...)
#define STEP_KERNEL(...)
#define FAMILY_KERNEL(...)
#define HANDOVER_KERNEL(...)
#define STRING_KERNEL(identifier, ...) FM_STRING_##identifier,
#include "kernels/kernels.def"
	FM_STRING_COUNT
};

/* A streaming kernel; quantities are per element of 8 bytes. */
struct fm_stream_kernel {
	const char *name;
	const char *formula;
	unsigned streams;
	unsigned loads;
	unsigned stores;
	unsigned loaded_bytes;
	unsigned stored_bytes;
	unsigned write_allocate_bytes;
	unsigned flops;
	fm_kernel_function variant[FM_ISA_COUNT];
};

/* A kernel that advances step by step; quantities are per step. */
struct fm_step_kernel {
	const char *name;
	const char *step;
	unsigned loads;
	unsigned stores;
	unsigned loaded_bytes;
	unsigned stored_bytes;
	unsigned flops;
	fm_kernel_function function;
};

/* One function per value of a parameter, first to last. */
struct fm_family_kernel {
	const char *name;
	const char *parameter;
	unsigned first;
	unsigned last;
	unsigned loads;
	unsigned loads_per_unit;
	const fm_kernel_function *functions;
};

/* Producer and consumer; quantities per line handed over and per step. */
struct fm_handover_kernel {
	const char *name;
	const char *step;
	unsigned line_loads;
	unsigned line_stores;
	unsigned step_loads;
	unsigned step_stores;
	fm_kernel_function function;
};

/* A string instruction over whole streams; quantities are per element of 8 bytes. */
struct fm_string_kernel {
	const char *name;
	const char *formula;
	unsigned streams;
	unsigned loads;
	unsigned stores;
	unsigned loaded_bytes;
	unsigned stored_bytes;
	fm_kernel_function function;
};

extern const struct fm_stream_kernel fm_stream_kernels[FM_STREAM_COUNT];
extern const struct fm_step_kernel fm_step_kernels[];
extern const unsigned fm_step_kernel_count;
extern const struct fm_family_kernel fm_family_kernels[];
extern const unsigned fm_family_kernel_count;
extern const struct fm_handover_kernel fm_handover_kernels[];
extern const unsigned fm_handover_kernel_count;
extern const struct fm_string_kernel fm_string_kernels[FM_STRING_COUNT];

/* What a core can do, one kind of instruction each (core.def). */
struct fm_core_kernel {
	const char *name;
	const char *step;
	enum fm_isa isa;
	fm_kernel_function function;
};

enum fm_core_kernel_index {
#define CORE_KERNEL(identifier, ...) FM_CORE_KERNEL_##identifier,
#include "kernels/core.def"
#undef CORE_KERNEL
	FM_CORE_KERNELS
};

extern const struct fm_core_kernel fm_core_kernels[FM_CORE_KERNELS];

#define CORE_KERNEL(identifier, ...) void fm_kernel_##identifier(struct fm_kernel_arguments *arguments);
#include "kernels/core.def"
#undef CORE_KERNEL

/* Two chases with more and more between them, by the number of the function from 1 on: FM_WINDOW_INSTRUCTIONS
   instructions each, FM_WINDOW_LOADS loads or FM_WINDOW_STORES stores of stream[0]. */
extern const fm_kernel_function fm_kernel_window_instructions[FM_WINDOW_FUNCTIONS];
extern const fm_kernel_function fm_kernel_window_loads[FM_WINDOW_FUNCTIONS];
extern const fm_kernel_function fm_kernel_window_stores[FM_WINDOW_FUNCTIONS];

/* Passes over straight code: `count` times over `passes` bytes of it, at most FM_STRAIGHT_BYTES. */
void fm_kernel_straight(struct fm_kernel_arguments *arguments);

/* Passes over branches that are taken: `count` times over `passes` of them, at most FM_TAKEN_MOST. */
void fm_kernel_taken(struct fm_kernel_arguments *arguments);

/* Functions by name, for callers that know which one they want. */
#define STREAM_KERNEL(...)
#define STEP_KERNEL(identifier, ...) void fm_kernel_##identifier(struct fm_kernel_arguments *arguments);
#define FAMILY_KERNEL(identifier, parameter, first, last, ...) \
	extern const fm_kernel_function fm_kernel_##identifier[(last) - (first) + 1];
#define HANDOVER_KERNEL(identifier, ...) void fm_kernel_##identifier(struct fm_kernel_arguments *arguments);
#define STRING_KERNEL(identifier, ...) void fm_kernel_##identifier(struct fm_kernel_arguments *arguments);
#include "kernels/kernels.def"

const char *fm_isa_name(enum fm_isa isa);
unsigned fm_isa_bytes(enum fm_isa isa);

/* Does the processor have it, whatever the mask says? */
bool fm_isa_supported(enum fm_isa isa);

/* Supported and not masked. */
bool fm_isa_available(enum fm_isa isa);

/* The widest available one. Scalar code is always available. */
enum fm_isa fm_isa_widest(void);

/* Read FATHOM_CPU. -EINVAL with a message when it names an unknown instruction set or leaves none. Without a call all
   supported ones are available. */
int fm_isa_read_mask(struct fm_error *error);

/* NULL when there is none of that name. */
const struct fm_stream_kernel *fm_stream_kernel_find(const char *name);
const struct fm_string_kernel *fm_string_kernel_find(const char *name);

#endif
