# See harness.h. Nothing between the program's last instruction and the pushf touches the flags.
	.data
	.balign 8
	.globl harness_mask
harness_mask:	.quad 7
saved_stack:	.quad 0
current:	.quad 0
start:		.quad 0
saved_rdi:	.quad 0

	.text
	.globl harness_run, harness_end
	.type harness_run, @function
	.type harness_end, @function
harness_run:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, saved_stack(%rip)
	mov %rdi, current(%rip)
	mov %rsi, start(%rip)
	mov harness_mask(%rip), %rax
	xor %edx, %edx
	xrstor64 192(%rdi)
	pushq 128(%rdi)
	popfq
	mov 0(%rdi), %rax
	mov 8(%rdi), %rcx
	mov 16(%rdi), %rdx
	mov 24(%rdi), %rbx
	mov 32(%rdi), %rsp
	mov 40(%rdi), %rbp
	mov 48(%rdi), %rsi
	mov 64(%rdi), %r8
	mov 72(%rdi), %r9
	mov 80(%rdi), %r10
	mov 88(%rdi), %r11
	mov 96(%rdi), %r12
	mov 104(%rdi), %r13
	mov 112(%rdi), %r14
	mov 120(%rdi), %r15
	mov 56(%rdi), %rdi
	jmp *start(%rip)
harness_end:
	mov %rdi, saved_rdi(%rip)
	mov current(%rip), %rdi
	mov %rax, 0(%rdi)
	mov %rcx, 8(%rdi)
	mov %rdx, 16(%rdi)
	mov %rbx, 24(%rdi)
	mov %rsp, 32(%rdi)
	mov %rbp, 40(%rdi)
	mov %rsi, 48(%rdi)
	mov %r8, 64(%rdi)
	mov %r9, 72(%rdi)
	mov %r10, 80(%rdi)
	mov %r11, 88(%rdi)
	mov %r12, 96(%rdi)
	mov %r13, 104(%rdi)
	mov %r14, 112(%rdi)
	mov %r15, 120(%rdi)
	mov saved_rdi(%rip), %rax
	mov %rax, 56(%rdi)
	mov saved_stack(%rip), %rsp
	pushfq
	popq 128(%rdi)
	pushq $2
	popfq
	mov harness_mask(%rip), %rax
	xor %edx, %edx
	xsave64 192(%rdi)
	fninit
	pushq $0x1f80
	ldmxcsr (%rsp)
	add $8, %rsp
	vzeroupper
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.section .note.GNU-stack, "", @progbits
