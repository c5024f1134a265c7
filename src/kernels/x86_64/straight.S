/* Straight code: passes over the last `passes` bytes of FM_STRAIGHT_BYTES that lie before the end of the loop, `count` times.
   Nothing but where the code comes from limits it: a line is eight instructions that do nothing. passes is a multiple of
   64, and not 0. */
#include "../layout.h"

	.text
	.globl fm_kernel_straight
	.type fm_kernel_straight, @function
	.p2align 6
fm_kernel_straight:
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	leaq straight_end(%rip), %rdx
	subq FM_ARGUMENT_PASSES(%rdi), %rdx
	jmp *%rdx
	.p2align 6
	.rept FM_STRAIGHT_BYTES / 8
	.byte 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0
	.endr
straight_end:
	subq $1, %rcx
	jz 1f
	jmp *%rdx
1:
	ret
	.size fm_kernel_straight, . - fm_kernel_straight

	.section .note.GNU-stack, "", @progbits
