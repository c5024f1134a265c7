/* The chase with N multiplications per pointer, one function for each N.
   Independent: eight registers outside the chain take turns, so the multiplications may run while the load waits.
   Dependent: the pointer itself is multiplied by one, so that load and multiplications form a single chain. */
#include "../layout.h"

/* 0 to FM_MULTIPLICATIONS_MAX */
#define EACH_COUNT 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, \
	22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, \
	44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64

.macro chase_enter
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	movq FM_ARGUMENT_CHAIN(%rdi), %rax
	movl $1, %edx
.endm

.macro multiply_independent index
.if (\index & 7) == 0
	imulq %r8, %r8
.elseif (\index & 7) == 1
	imulq %r9, %r9
.elseif (\index & 7) == 2
	imulq %r10, %r10
.elseif (\index & 7) == 3
	imulq %r11, %r11
.elseif (\index & 7) == 4
	imulq %r12, %r12
.elseif (\index & 7) == 5
	imulq %r13, %r13
.elseif (\index & 7) == 6
	imulq %r14, %r14
.else
	imulq %r15, %r15
.endif
.endm

	.text

.irp count, EACH_COUNT
	.p2align 6
	.type chase_independent_\count, @function
chase_independent_\count:
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	chase_enter
	.irp register, 8, 9, 10, 11, 12, 13, 14, 15
	movq %rdx, %r\register
	.endr
	.p2align 5
1:
	movq (%rax), %rax
	.set multiplication, 0
	.rept \count
	multiply_independent multiplication
	.set multiplication, multiplication + 1
	.endr
	subq $1, %rcx
	jnz 1b
	movq %rax, FM_ARGUMENT_CHAIN(%rdi)
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	ret
	.size chase_independent_\count, . - chase_independent_\count

	.p2align 6
	.type chase_dependent_\count, @function
chase_dependent_\count:
	chase_enter
	.p2align 5
1:
	movq (%rax), %rax
	.rept \count
	imulq %rdx, %rax
	.endr
	subq $1, %rcx
	jnz 1b
	movq %rax, FM_ARGUMENT_CHAIN(%rdi)
	ret
	.size chase_dependent_\count, . - chase_dependent_\count
.endr

	.section .data.rel.ro, "aw"
	.globl fm_kernel_chase_independent
	.type fm_kernel_chase_independent, @object
	.p2align 3
fm_kernel_chase_independent:
.irp count, EACH_COUNT
	.quad chase_independent_\count
.endr
	.size fm_kernel_chase_independent, . - fm_kernel_chase_independent

	.globl fm_kernel_chase_dependent
	.type fm_kernel_chase_dependent, @object
fm_kernel_chase_dependent:
.irp count, EACH_COUNT
	.quad chase_dependent_\count
.endr
	.size fm_kernel_chase_dependent, . - fm_kernel_chase_dependent

	.section .note.GNU-stack, "", @progbits
