/* Kernels that advance step by step: the empty loop, dependent additions, the plain chase, the random update, one word again
   and again. */
#include "../layout.h"

.macro function name
	.globl fm_kernel_\name
	.type fm_kernel_\name, @function
	.p2align 6
fm_kernel_\name:
.endm

.macro end_function name
	ret
	.size fm_kernel_\name, . - fm_kernel_\name
.endm

	.text

/* The loop of a step kernel and nothing in it: subtract it to see what the steps cost. */
function empty
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	.p2align 5
1:
	subq $1, %rcx
	jnz 1b
end_function empty

/* Register plus register: newer cores fold additions of a constant into renaming, and a chain of those would run
   faster than one per cycle. Count must be a multiple of 16. */
function adds
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	xorl %eax, %eax
	movl $1, %edx
	.p2align 5
1:
	.rept 16
	addq %rdx, %rax
	.endr
	subq $16, %rcx
	jnz 1b
	movq %rax, FM_ARGUMENT_RESULT(%rdi)
end_function adds

/* One request in flight. Starts at chain[0], leaves the pointer reached there. Count must be a multiple of 16. */
function chase
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	movq FM_ARGUMENT_CHAIN(%rdi), %rax
	.p2align 5
1:
	.rept 16
	movq (%rax), %rax
	.endr
	subq $16, %rcx
	jnz 1b
	movq %rax, FM_ARGUMENT_CHAIN(%rdi)
end_function chase

/* stream[0] is the buffer, passes its number of lines, a power of two. The generator is a 64-bit linear congruential
   one; the line is taken from its upper bits, whose period is long. */
function random_update
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	movq FM_ARGUMENT_PASSES(%rdi), %r8
	movq FM_ARGUMENT_RESULT(%rdi), %rax
	movabsq $6364136223846793005, %r9
	movabsq $1442695040888963407, %r10
	subq $1, %r8
	.p2align 5
1:
	imulq %r9, %rax
	addq %r10, %rax
	movq %rax, %rdx
	shrq $24, %rdx
	andq %r8, %rdx
	shlq $6, %rdx
	addq $1, (%rsi, %rdx)
	subq $1, %rcx
	jnz 1b
	movq %rax, FM_ARGUMENT_RESULT(%rdi)
end_function random_update

/* stream[0] is the word, for several threads the same. */
function locked_add
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	.p2align 5
1:
	movl $1, %eax
	lock xaddq %rax, (%rsi)
	subq $1, %rcx
	jnz 1b
end_function locked_add

/* stream[0] is the word, for several threads another one of the same line. */
function word_store
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	.p2align 5
1:
	movq %rcx, (%rsi)
	subq $1, %rcx
	jnz 1b
end_function word_store

	.section .note.GNU-stack, "", @progbits
