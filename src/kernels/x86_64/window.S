/* Two chases, chain[0] and chain[1], with instructions between a load of the one and a load of the other: as many as
   the number of the function times FM_WINDOW_…. As long as both loads fit into the core at the same time, they are on
   their way together; when what lies between fills it, they take twice as long. */
#include "../layout.h"

/* 1 to FM_WINDOW_FUNCTIONS */
#define EACH 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
	30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40

.macro between kind count
.ifc \kind, instructions
	/* of two kinds, so that neither runs out of registers; two that do nothing would be one to some cores */
	.rept \count * FM_WINDOW_INSTRUCTIONS / 2
	leal 1(%rsi), %edx
	pxor %xmm0, %xmm0
	.endr
.endif
.ifc \kind, loads
	.rept \count * FM_WINDOW_LOADS
	movl (%rsi), %edx
	.endr
.endif
.ifc \kind, stores
	.rept \count * FM_WINDOW_STORES
	movl %edx, (%rsi)
	.endr
.endif
.endm

.macro family kind
	.text
.irp count, EACH
	.p2align 6
	.type window_\kind\()_\count, @function
window_\kind\()_\count:
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	movq FM_ARGUMENT_CHAIN(%rdi), %rax
	movq FM_ARGUMENT_CHAIN + 8(%rdi), %r8
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	.p2align 5
1:
	movq (%rax), %rax
	between \kind, \count
	movq (%r8), %r8
	between \kind, \count
	subq $1, %rcx
	jnz 1b
	movq %rax, FM_ARGUMENT_CHAIN(%rdi)
	movq %r8, FM_ARGUMENT_CHAIN + 8(%rdi)
	ret
	.size window_\kind\()_\count, . - window_\kind\()_\count
.endr

	.section .data.rel.ro, "aw"
	.globl fm_kernel_window_\kind
	.type fm_kernel_window_\kind, @object
	.p2align 3
fm_kernel_window_\kind:
.irp count, EACH
	.quad window_\kind\()_\count
.endr
	.size fm_kernel_window_\kind, . - fm_kernel_window_\kind
.endm

family instructions
family loads
family stores

	.section .note.GNU-stack, "", @progbits
