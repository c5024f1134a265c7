/* Lines handed from core to core. All three wait by reading; every wait that succeeds at once is exactly one load.
   A wait gives up after `patience` reads so that a partner that never answers cannot hang the caller: it then leaves
   a zero in result instead of a one. */
#include "../layout.h"

#define PATIENCE 100000000

.macro function name
	.globl fm_kernel_\name
	.type fm_kernel_\name, @function
	.p2align 6
fm_kernel_\name:
.endm

.macro end_function name
	movq $1, FM_ARGUMENT_RESULT(%rdi)
	ret
9:
	movq $0, FM_ARGUMENT_RESULT(%rdi)
	ret
	.size fm_kernel_\name, . - fm_kernel_\name
.endm

/* Wait until the word at \address equals \value. */
.macro wait_for address, value
	movl $PATIENCE, %r11d
7:
	cmpq (\address), \value
	je 8f
	pause
	subl $1, %r11d
	jnz 7b
	jmp 9f
8:
.endm

	.text

/* stream[0] is the line, passes the number this side waits for first. It answers with the number after it, and waits
   for the one after that: start one side with 0 and the other with 1 on a line that holds 0. Count is the turns. */
function ping_pong
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	movq FM_ARGUMENT_PASSES(%rdi), %rax
	.p2align 5
1:
	wait_for %rsi, %rax
	addq $1, %rax
	movq %rax, (%rsi)
	addq $1, %rax
	subq $1, %rcx
	jnz 1b
end_function ping_pong

/* stream[0] are the lines, count their number, stream[1] the flag line, passes the number of steps. A step of the
   producer raises the flag to an odd number, the consumer answers with the even one after it. */
function produce
	movq FM_ARGUMENT_PASSES(%rdi), %r10
	movq FM_ARGUMENT_STREAM+8(%rdi), %rdx
	movl $1, %eax
1:
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	.p2align 5
2:
	movq %rax, (%rsi)
	addq $FM_LINE_BYTES, %rsi
	subq $1, %rcx
	jnz 2b
	movq %rax, (%rdx)
	addq $1, %rax
	wait_for %rdx, %rax
	addq $1, %rax
	subq $1, %r10
	jnz 1b
end_function produce

function consume
	movq FM_ARGUMENT_PASSES(%rdi), %r10
	movq FM_ARGUMENT_STREAM+8(%rdi), %rdx
	movl $1, %eax
1:
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	wait_for %rdx, %rax
	.p2align 5
2:
	movq (%rsi), %r8
	addq $FM_LINE_BYTES, %rsi
	subq $1, %rcx
	jnz 2b
	addq $1, %rax
	movq %rax, (%rdx)
	addq $1, %rax
	subq $1, %r10
	jnz 1b
end_function consume

	.section .note.GNU-stack, "", @progbits
