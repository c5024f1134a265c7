/* k independent chains walked at once, one function for each k from 1 to 32.
   No pointer may live in memory, or its store and reload would count as accesses: the first 12 are in general
   registers, the next 16 in vector registers, the last 4 in MMX registers. rdi, rcx and rax are taken. */
#include "../layout.h"

/* 1 to FM_CHAINS_MAX */
#define EACH_COUNT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, \
	17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32

.macro chain_general index, register, action
.ifc \action, enter
	movq FM_ARGUMENT_CHAIN + 8 * \index(%rdi), \register
.endif
.ifc \action, step
	movq (\register), \register
.endif
.ifc \action, leave
	movq \register, FM_ARGUMENT_CHAIN + 8 * \index(%rdi)
.endif
.endm

.macro chain_parked index, register, action
.ifc \action, enter
	movq FM_ARGUMENT_CHAIN + 8 * \index(%rdi), \register
.endif
.ifc \action, step
	movq \register, %rax
	movq (%rax), %rax
	movq %rax, \register
.endif
.ifc \action, leave
	movq \register, FM_ARGUMENT_CHAIN + 8 * \index(%rdi)
.endif
.endm

.macro chain index, chains, kind, register, action
.if \index < \chains
	chain_\kind \index, \register, \action
.endif
.endm

.macro each_chain chains, action
	chain 0, \chains, general, %rdx, \action
	chain 1, \chains, general, %rsi, \action
	chain 2, \chains, general, %r8, \action
	chain 3, \chains, general, %r9, \action
	chain 4, \chains, general, %r10, \action
	chain 5, \chains, general, %r11, \action
	chain 6, \chains, general, %r12, \action
	chain 7, \chains, general, %r13, \action
	chain 8, \chains, general, %r14, \action
	chain 9, \chains, general, %r15, \action
	chain 10, \chains, general, %rbx, \action
	chain 11, \chains, general, %rbp, \action
	chain 12, \chains, parked, %xmm0, \action
	chain 13, \chains, parked, %xmm1, \action
	chain 14, \chains, parked, %xmm2, \action
	chain 15, \chains, parked, %xmm3, \action
	chain 16, \chains, parked, %xmm4, \action
	chain 17, \chains, parked, %xmm5, \action
	chain 18, \chains, parked, %xmm6, \action
	chain 19, \chains, parked, %xmm7, \action
	chain 20, \chains, parked, %xmm8, \action
	chain 21, \chains, parked, %xmm9, \action
	chain 22, \chains, parked, %xmm10, \action
	chain 23, \chains, parked, %xmm11, \action
	chain 24, \chains, parked, %xmm12, \action
	chain 25, \chains, parked, %xmm13, \action
	chain 26, \chains, parked, %xmm14, \action
	chain 27, \chains, parked, %xmm15, \action
	chain 28, \chains, parked, %mm0, \action
	chain 29, \chains, parked, %mm1, \action
	chain 30, \chains, parked, %mm2, \action
	chain 31, \chains, parked, %mm3, \action
.endm

	.text

.irp chains, EACH_COUNT
	.p2align 6
	.type chase_parallel_\chains, @function
chase_parallel_\chains:
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
	each_chain \chains, enter
	.p2align 5
1:
	each_chain \chains, step
	subq $1, %rcx
	jnz 1b
	each_chain \chains, leave
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
.if \chains > 28
	emms
.endif
	ret
	.size chase_parallel_\chains, . - chase_parallel_\chains
.endr

	.section .data.rel.ro, "aw"
	.globl fm_kernel_chase_parallel
	.type fm_kernel_chase_parallel, @object
	.p2align 3
fm_kernel_chase_parallel:
.irp chains, EACH_COUNT
	.quad chase_parallel_\chains
.endr
	.size fm_kernel_chase_parallel, . - fm_kernel_chase_parallel

	.section .note.GNU-stack, "", @progbits
