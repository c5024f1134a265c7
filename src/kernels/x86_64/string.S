/* Whole streams with one string instruction each: what memset and memcpy of a C library use for long buffers. Bytes,
   not words, since processors treat those best; zeros, since those are what programs clear with (Zen 3 writes long runs
   of them twice as fast as other bytes). The calling convention keeps the direction flag clear. */
#include "../layout.h"

.macro string_function name
	.globl fm_kernel_\name
	.type fm_kernel_\name, @function
	.p2align 6
fm_kernel_\name:
	movq %rdi, %r10
	movq FM_ARGUMENT_PASSES(%r10), %r11
	xorl %eax, %eax
1:
	movq FM_ARGUMENT_STREAM(%r10), %rdi
	movq FM_ARGUMENT_STREAM+8(%r10), %rsi
	movq FM_ARGUMENT_COUNT(%r10), %rcx
	shlq $FM_BLOCK_SHIFT, %rcx
.endm

.macro end_string_function name
	subq $1, %r11
	jnz 1b
	ret
	.size fm_kernel_\name, . - fm_kernel_\name
.endm

	.text

string_function rep_stos
	rep stosb
end_string_function rep_stos

string_function rep_movs
	rep movsb
end_string_function rep_movs

	.section .note.GNU-stack, "", @progbits
