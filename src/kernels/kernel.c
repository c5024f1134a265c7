#include "kernels/kernel.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(offsetof(struct fm_kernel_arguments, stream) == FM_ARGUMENT_STREAM, "layout.h");
_Static_assert(offsetof(struct fm_kernel_arguments, count) == FM_ARGUMENT_COUNT, "layout.h");
_Static_assert(offsetof(struct fm_kernel_arguments, passes) == FM_ARGUMENT_PASSES, "layout.h");
_Static_assert(offsetof(struct fm_kernel_arguments, scalar) == FM_ARGUMENT_SCALAR, "layout.h");
_Static_assert(offsetof(struct fm_kernel_arguments, result) == FM_ARGUMENT_RESULT, "layout.h");
_Static_assert(offsetof(struct fm_kernel_arguments, chain) == FM_ARGUMENT_CHAIN, "layout.h");

#define STREAM_KERNEL(identifier, ...)                                                         \
	FM_KERNEL void fm_kernel_##identifier##_scalar(struct fm_kernel_arguments *arguments); \
	FM_KERNEL void fm_kernel_##identifier##_sse(struct fm_kernel_arguments *arguments);    \
	FM_KERNEL void fm_kernel_##identifier##_avx2(struct fm_kernel_arguments *arguments);   \
	FM_KERNEL void fm_kernel_##identifier##_avx512(struct fm_kernel_arguments *arguments);
#define STRING_KERNEL(...)
#include "streams/streams.def"

const fm_kernel_function fm_stream_functions[FM_STREAM_COUNT][FM_ISA_COUNT] = {
#define STREAM_KERNEL(identifier, ...)                                                                 \
	{fm_kernel_##identifier##_scalar, fm_kernel_##identifier##_sse, fm_kernel_##identifier##_avx2, \
	 fm_kernel_##identifier##_avx512},
#define STRING_KERNEL(...)
#include "streams/streams.def"
};

const fm_kernel_function fm_string_functions[FM_STRING_COUNT] = {
#define STREAM_KERNEL(...)
#define STRING_KERNEL(identifier, ...) fm_kernel_##identifier,
#include "streams/streams.def"
};

const struct fm_step_kernel fm_step_kernels[] = {
#define STEP_KERNEL(identifier, step, loads, stores, loaded, stored, flops) \
	{#identifier, step, loads, stores, loaded, stored, flops, fm_kernel_##identifier},
#define FAMILY_KERNEL(...)
#define HANDOVER_KERNEL(...)
#include "kernels/kernels.def"
};
const unsigned fm_step_kernel_count = sizeof(fm_step_kernels) / sizeof(fm_step_kernels[0]);

const struct fm_family_kernel fm_family_kernels[] = {
#define STEP_KERNEL(...)
#define FAMILY_KERNEL(identifier, parameter, first, last, loads, loads_per_unit) \
	{#identifier, parameter, first, last, loads, loads_per_unit, fm_kernel_##identifier},
#define HANDOVER_KERNEL(...)
#include "kernels/kernels.def"
};
const unsigned fm_family_kernel_count = sizeof(fm_family_kernels) / sizeof(fm_family_kernels[0]);

const struct fm_handover_kernel fm_handover_kernels[] = {
#define STEP_KERNEL(...)
#define FAMILY_KERNEL(...)
#define HANDOVER_KERNEL(identifier, step, line_loads, line_stores, step_loads, step_stores) \
	{#identifier, step, line_loads, line_stores, step_loads, step_stores, fm_kernel_##identifier},
#include "kernels/kernels.def"
};
const unsigned fm_handover_kernel_count = sizeof(fm_handover_kernels) / sizeof(fm_handover_kernels[0]);

const struct fm_core_kernel fm_core_kernels[FM_CORE_KERNELS] = {
#define CORE_KERNEL(identifier, step, isa) {#identifier, step, FM_ISA_##isa, fm_kernel_##identifier},
#include "kernels/core.def"
#undef CORE_KERNEL
};

static unsigned mask = ~0u;

int fm_kernels_check(struct fm_error *error)
{
#if defined(__x86_64__)
	(void)error;
	return 0;
#else
	return fm_error_set(error, ENOTSUP, "the measuring kernels exist for x86-64 only, not for this processor");
#endif
}

bool fm_isa_supported(enum fm_isa isa)
{
#if defined(__x86_64__)
	switch (isa) {
	case FM_ISA_scalar:
		return true;
	case FM_ISA_sse: /* movddup is SSE3 */
		return __builtin_cpu_supports("sse3");
	case FM_ISA_avx2: /* the AVX2 variants use fused multiply-add, as every processor with AVX2 but one does */
		return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	case FM_ISA_avx512:
		return __builtin_cpu_supports("avx512f");
	case FM_ISA_COUNT:
		break;
	}
#else
	(void)isa;
#endif
	return false;
}

bool fm_isa_available(enum fm_isa isa)
{
	return (mask >> isa & 1) && fm_isa_supported(isa);
}

enum fm_isa fm_isa_widest(void)
{
	for (int isa = FM_ISA_COUNT - 1; isa > 0; isa--)
		if (fm_isa_available((enum fm_isa)isa))
			return (enum fm_isa)isa;
	return FM_ISA_scalar;
}

int fm_isa_read_mask(struct fm_error *error)
{
	const char *text = getenv("FATHOM_CPU");
	unsigned chosen = 0;

	if (!text || !*text) {
		mask = ~0u;
		return 0;
	}
	while (*text) {
		size_t length = strcspn(text, ",");
		int isa;

		for (isa = 0; isa < FM_ISA_COUNT; isa++)
			if (strlen(fm_isa_name((enum fm_isa)isa)) == length &&
			    !strncmp(text, fm_isa_name((enum fm_isa)isa), length))
				break;
		if (isa == FM_ISA_COUNT)
			return fm_error_set(
			    error, EINVAL,
			    "FATHOM_CPU names an unknown instruction set \"%.*s\": use a list of scalar, sse, "
			    "avx2, avx512",
			    (int)length, text);
		if (fm_isa_supported((enum fm_isa)isa))
			chosen |= 1u << isa;
		text += length;
		text += *text == ',';
	}
	if (!chosen)
		return fm_error_set(error, EINVAL, "FATHOM_CPU=%s leaves no instruction set that this processor has",
		                    getenv("FATHOM_CPU"));
	mask = chosen;
	return 0;
}
