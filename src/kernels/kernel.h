/* The kernel library: small loops with exactly known loads, stores and bytes (streams/streams.def, kernels.def). All
   kernels have one signature and one argument struct. Streaming kernels exist in several instruction sets. The
   environment variable FATHOM_CPU, such as "scalar,sse", narrows the choice (fm_isa_available()), so that every variant
   can be tested on one machine. */
#ifndef FATHOM_KERNELS_KERNEL_H
#define FATHOM_KERNELS_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/layout.h"
#include "streams/streams.h"

struct fm_kernel_arguments {
	void *stream[4]; /* streams A, B, C, D; each `count` blocks of FM_BLOCK_BYTES long */
	uint64_t count;  /* blocks per pass of a streaming kernel; steps of the others (a multiple of 16) */
	uint64_t passes; /* passes over the streams */
	double scalar;   /* s in the formulas of kernels.def */
	uint64_t result; /* result of the kernel; result of line transfer kernels: 1 if the partner answered, else 0 */
	void *chain[FM_CHAINS_MAX]; /* start of the chases, then their end */
};

typedef void (*fm_kernel_function)(struct fm_kernel_arguments *arguments);

/* The code is in a folder per architecture. On other architectures the functions are NULL, and fm_kernels_check() gives
   the reason. */
#if defined(__x86_64__)
#define FM_KERNEL extern
#else
#define FM_KERNEL extern __attribute__((weak))
#endif

/* -ENOTSUP with the reason if there is no code for this processor. */
int fm_kernels_check(struct fm_error *error);

/* A kernel that advances in steps; quantities are per step. */
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

/* Producer and consumer; quantities per transferred line and per step. */
struct fm_handover_kernel {
	const char *name;
	const char *step;
	unsigned line_loads;
	unsigned line_stores;
	unsigned step_loads;
	unsigned step_stores;
	fm_kernel_function function;
};

/* Kernels of streams/streams.def. */
extern const fm_kernel_function fm_stream_functions[FM_STREAM_COUNT][FM_ISA_COUNT];
extern const fm_kernel_function fm_string_functions[FM_STRING_COUNT];

extern const struct fm_step_kernel fm_step_kernels[];
extern const unsigned fm_step_kernel_count;
extern const struct fm_family_kernel fm_family_kernels[];
extern const unsigned fm_family_kernel_count;
extern const struct fm_handover_kernel fm_handover_kernels[];
extern const unsigned fm_handover_kernel_count;

/* The core kernels, one per kind of instruction (core.def). */
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

#define CORE_KERNEL(identifier, ...) FM_KERNEL void fm_kernel_##identifier(struct fm_kernel_arguments *arguments);
#include "kernels/core.def"
#undef CORE_KERNEL

/* Two chases with a growing number of instructions between them, by function number from 1 on: FM_WINDOW_INSTRUCTIONS
   instructions each, FM_WINDOW_LOADS loads or FM_WINDOW_STORES stores of stream[0]. */
FM_KERNEL const fm_kernel_function fm_kernel_window_instructions[FM_WINDOW_FUNCTIONS];
FM_KERNEL const fm_kernel_function fm_kernel_window_loads[FM_WINDOW_FUNCTIONS];
FM_KERNEL const fm_kernel_function fm_kernel_window_stores[FM_WINDOW_FUNCTIONS];

/* `count` passes over `passes` bytes of straight code, at most FM_STRAIGHT_BYTES. */
FM_KERNEL void fm_kernel_straight(struct fm_kernel_arguments *arguments);

/* `count` passes over `passes` taken branches, at most FM_TAKEN_MOST. */
FM_KERNEL void fm_kernel_taken(struct fm_kernel_arguments *arguments);

/* Functions by name. */
#define STEP_KERNEL(identifier, ...) FM_KERNEL void fm_kernel_##identifier(struct fm_kernel_arguments *arguments);
#define FAMILY_KERNEL(identifier, parameter, first, last, ...) \
	FM_KERNEL const fm_kernel_function fm_kernel_##identifier[(last) - (first) + 1];
#define HANDOVER_KERNEL(identifier, ...) FM_KERNEL void fm_kernel_##identifier(struct fm_kernel_arguments *arguments);
#include "kernels/kernels.def"

#define STREAM_KERNEL(...)
#define STRING_KERNEL(identifier, ...) FM_KERNEL void fm_kernel_##identifier(struct fm_kernel_arguments *arguments);
#include "streams/streams.def"

/* True if the processor supports the instruction set, regardless of the mask. */
bool fm_isa_supported(enum fm_isa isa);

/* True if it is supported and not masked. */
bool fm_isa_available(enum fm_isa isa);

/* The widest available instruction set; scalar code is always available. */
enum fm_isa fm_isa_widest(void);

/* Reads FATHOM_CPU. -EINVAL with a message for an unknown instruction set or an empty choice. Without a call, all
   supported instruction sets are available. */
int fm_isa_read_mask(struct fm_error *error);

#endif
