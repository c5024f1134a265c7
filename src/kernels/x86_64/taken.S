/* Branches from line to line: passes over the last `passes` of FM_TAKEN_MOST that lie before the end of the loop, `count`
   times. passes is not 0. */
#include "../layout.h"

	.text
	.globl fm_kernel_taken
	.type fm_kernel_taken, @function
	.p2align 6
fm_kernel_taken:
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	movq FM_ARGUMENT_PASSES(%rdi), %rax
	shlq $6, %rax
	leaq taken_end(%rip), %rdx
	subq %rax, %rdx
	jmp *%rdx
	.p2align 6
	.rept FM_TAKEN_MOST
	jmp 1f
	.p2align 6
1:
	.endr
taken_end:
	subq $1, %rcx
	jz 1f
	jmp *%rdx
1:
	ret
	.size fm_kernel_taken, . - fm_kernel_taken

	.section .note.GNU-stack, "", @progbits
