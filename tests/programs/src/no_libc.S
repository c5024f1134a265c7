# A program without libc: marks itself by system calls, works, writes a line, ends with 7. COUNTED is sought in the environment.
.globl _start
.text
_start:
	mov (%rsp), %rcx
	lea 16(%rsp,%rcx,8), %rbx
next:
	mov (%rbx), %rdi
	test %rdi, %rdi
	jz work
	add $8, %rbx
	movabs $0x3d4445544e554f43, %rax	# "COUNTED="
	cmp %rax, (%rdi)
	jne next
	add $8, %rdi
	mov $2, %eax		# open, to append
	mov $0x401, %esi
	xor %edx, %edx
	syscall
	mov %eax, %edi
	mov $1, %eax
	lea mark(%rip), %rsi
	mov $5, %edx
	syscall
	mov $3, %eax
	syscall
work:
	mov $100000000, %rcx
	mov $1, %rax
1:	imul $31, %rax
	add %rcx, %rax
	dec %rcx
	jnz 1b
	and $15, %eax
	add $'a', %eax
	mov %al, text(%rip)
	mov $1, %eax
	mov $1, %edi
	lea text(%rip), %rsi
	mov $2, %edx
	syscall
	mov $231, %eax
	mov $7, %edi
	syscall
.data
mark:	.ascii "once\n"
text:	.ascii "?\n"
.section .note.GNU-stack,"",@progbits
