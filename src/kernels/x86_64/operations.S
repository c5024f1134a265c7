/* What instructions compute, one of a kind: in a chain, where each waits for the one before, and in ten chains side by
   side, where only the units limit. Also loads and stores of one line, which only their ports limit, a value that goes
   through the store buffer, and branches. Count must be a multiple of FM_CORE_STEPS; a step is one of the instructions. */
#include "../layout.h"

.macro function name
	.globl fm_kernel_\name
	.type fm_kernel_\name, @function
	.p2align 6
fm_kernel_\name:
	movq FM_ARGUMENT_COUNT(%rdi), %rcx
.endm

.macro end_function name
	ret
	.size fm_kernel_\name, . - fm_kernel_\name
.endm

.macro loop_begin
	.p2align 5
1:
.endm

.macro loop_end
	subq $FM_CORE_STEPS, %rcx
	jnz 1b
.endm

/* Numbers that neither grow nor vanish, and that no divider finds easy. */
	.section .rodata
	.p2align 4
value:
	.double 1.3178
step:
	.double 1.0000000007
dividend:
	.double 3.7261
summand:
	.double 1.7193

	.text

.macro save_registers
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
.endm

.macro restore_registers
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
.endm

/* Ten registers take turns: 25 times, and six of them once more. */
.macro in_turns operation source
	.rept 25
	.irp register, rax, rbx, rbp, r8, r9, r10, r11, r12, r13, r14
	\operation \source, %\register
	.endr
	.endr
	.irp register, rax, rbx, rbp, r8, r9, r10
	\operation \source, %\register
	.endr
.endm

.macro set_all value
	.irp register, rax, rbx, rbp, r8, r9, r10, r11, r12, r13, r14
	movq \value, %\register
	.endr
.endm

function adds_free
	save_registers
	movl $1, %edx
	set_all %rdx
	loop_begin
	in_turns addq, %rdx
	loop_end
	restore_registers
end_function adds_free

function shift_free
	save_registers
	movl $1, %edx
	set_all %rdx
	loop_begin
	in_turns rolq, $7
	loop_end
	restore_registers
end_function shift_free

function adds_chain
	movl $1, %edx
	xorl %eax, %eax
	loop_begin
	.rept FM_CORE_STEPS
	addq %rdx, %rax
	.endr
	loop_end
end_function adds_chain

function multiply_chain
	movl $1, %edx
	movq %rdx, %rax
	loop_begin
	.rept FM_CORE_STEPS
	imulq %rdx, %rax
	.endr
	loop_end
end_function multiply_chain

function multiply_free
	save_registers
	movl $1, %edx
	set_all %rdx
	loop_begin
	in_turns imulq, %rdx
	loop_end
	restore_registers
end_function multiply_free

/* Quotients of 30 bits. Above the dividend stands nothing, as compilers write it: the remainder, which some cores have later, is not waited for. */
function divide_chain
	movl $1, %r8d
	movl $0x31415926, %eax
	loop_begin
	.rept FM_CORE_STEPS
	xorl %edx, %edx
	divq %r8
	.endr
	loop_end
end_function divide_chain

/* The dividend comes from a register that nobody changes. */
function divide_free
	movl $1, %r8d
	movl $0x31415926, %r9d
	loop_begin
	.rept FM_CORE_STEPS
	movq %r9, %rax
	xorl %edx, %edx
	divq %r8
	.endr
	loop_end
end_function divide_free

.macro load_all value
	.irp register, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	movsd \value(%rip), %xmm\register
	.endr
.endm

.macro float_in_turns operation source
	.rept 25
	.irp register, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	\operation \source, %xmm\register
	.endr
	.endr
	.irp register, 0, 1, 2, 3, 4, 5
	\operation \source, %xmm\register
	.endr
.endm

.macro float_kernels name operation operand
function \name\()_chain
	movsd value(%rip), %xmm0
	movsd \operand(%rip), %xmm12
	loop_begin
	.rept FM_CORE_STEPS
	\operation %xmm12, %xmm0
	.endr
	loop_end
end_function \name\()_chain

function \name\()_free
	load_all value
	movsd \operand(%rip), %xmm12
	loop_begin
	float_in_turns \operation, %xmm12
	loop_end
end_function \name\()_free
.endm

float_kernels float_add addsd, step
float_kernels float_multiply mulsd, step

/* x becomes c / x, and x again: the same two quotients, of which none is simple. */
function float_divide_chain
	movsd value(%rip), %xmm0
	movsd dividend(%rip), %xmm12
	loop_begin
	.rept FM_CORE_STEPS / 2
	movapd %xmm12, %xmm1
	divsd %xmm0, %xmm1
	movapd %xmm12, %xmm0
	divsd %xmm1, %xmm0
	.endr
	loop_end
end_function float_divide_chain

function float_divide_free
	load_all value
	movsd step(%rip), %xmm12
	loop_begin
	float_in_turns divsd, %xmm12
	loop_end
end_function float_divide_free

/* A root alone would soon be 1; the addition that keeps it from that is taken off by the caller. */
function float_root_chain
	movsd value(%rip), %xmm0
	movsd summand(%rip), %xmm12
	loop_begin
	.rept FM_CORE_STEPS
	sqrtsd %xmm0, %xmm0
	addsd %xmm12, %xmm0
	.endr
	loop_end
end_function float_root_chain

function float_root_free
	movsd dividend(%rip), %xmm12
	xorpd %xmm0, %xmm0
	loop_begin
	.rept 25
	.irp register, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	movapd %xmm12, %xmm\register
	sqrtsd %xmm12, %xmm\register
	.endr
	.endr
	.irp register, 0, 1, 2, 3, 4, 5
	movapd %xmm12, %xmm\register
	sqrtsd %xmm12, %xmm\register
	.endr
	loop_end
end_function float_root_free

function float_fused_chain
	vmovsd value(%rip), %xmm0
	vmovsd step(%rip), %xmm12
	vxorpd %xmm13, %xmm13, %xmm13
	loop_begin
	.rept FM_CORE_STEPS
	vfmadd132sd %xmm12, %xmm13, %xmm0
	.endr
	loop_end
end_function float_fused_chain

function float_fused_free
	.irp register, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	vmovsd value(%rip), %xmm\register
	.endr
	vmovsd step(%rip), %xmm12
	vxorpd %xmm13, %xmm13, %xmm13
	loop_begin
	.rept 25
	.irp register, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
	vfmadd132sd %xmm12, %xmm13, %xmm\register
	.endr
	.endr
	.irp register, 0, 1, 2, 3, 4, 5
	vfmadd132sd %xmm12, %xmm13, %xmm\register
	.endr
	loop_end
end_function float_fused_free

/* What programs mostly do, and nothing of it more often than any core has units for: three additions, two loads and a floating
   point addition in turns, each as long as instructions are on average. Instructions that do nothing would be purer, but some
   cores take two of them for one. */
.macro mixture_turn first second third number
	addq $1, %\first
	movq 8(%rsi), %rdi
	addq $1, %\second
	addsd %xmm7, %xmm\number
	addq $1, %\third
	movq 16(%rsi), %r14
.endm

function mixture
	save_registers
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	load_all value
	movsd step(%rip), %xmm7
	loop_begin
	.rept 14
	mixture_turn rax, rbx, rbp, 0
	mixture_turn r8, r9, r10, 1
	mixture_turn r11, r12, r13, 2
	.endr
	addq $1, %rax
	movq 8(%rsi), %rdi
	addq $1, %r8
	/* the subtraction and its branch are the last one */
	loop_end
	restore_registers
end_function mixture

/* Four calls in each line, one after the other: there are few places, and not many in one line, since of many some cores do not
   know at once where they go. */
function calls
	.p2align 6
1:
	.rept FM_CORE_CALLS
	.p2align 4
	call 2f
	.endr
	.p2align 4
	subq $FM_CORE_CALLS, %rcx
	jnz 1b
	ret
	.p2align 6
2:
	ret
	.size fm_kernel_calls, . - fm_kernel_calls

	.section .data.rel.ro, "aw"
	.p2align 3
places:
	.irp place, 0, 1, 2, 3
	.quad place_\place
	.endr
	.text

function indirect
	leaq places(%rip), %rdx
	xorl %eax, %eax
	.p2align 6
turn:
	jmp *(%rdx,%rax,8)
.macro place number next
	.p2align 6
place_\number:
	movl $\next, %eax
	subq $1, %rcx
	jnz turn
	ret
.endm
	place 0, 1
	place 1, 2
	place 2, 3
	place 3, 0
	.size fm_kernel_indirect, . - fm_kernel_indirect

/* Waits for everything before it, and lets nothing begin that comes after. */
function identify
	pushq %rbx
	movq %rcx, %rsi
	loop_begin
	.rept FM_CORE_STEPS
	xorl %eax, %eax
	cpuid
	.endr
	subq $FM_CORE_STEPS, %rsi
	jnz 1b
	popq %rbx
end_function identify

/* Ports: loads or stores of the line at stream[0]. */
.macro port_kernels width move_load move_store register0 register1 offset leave
function loads_\width
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	loop_begin
	.rept FM_CORE_STEPS / 2
	\move_load (%rsi), %\register0
	\move_load \offset(%rsi), %\register1
	.endr
	loop_end
	\leave
	ret
	.size fm_kernel_loads_\width, . - fm_kernel_loads_\width

function stores_\width
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	loop_begin
	.rept FM_CORE_STEPS / 2
	\move_store %\register0, (%rsi)
	\move_store %\register1, \offset(%rsi)
	.endr
	loop_end
	\leave
	ret
	.size fm_kernel_stores_\width, . - fm_kernel_stores_\width
.endm

port_kernels scalar, movq, movq, rax, rdx, 8
port_kernels sse, movaps, movaps, xmm0, xmm1, 16
port_kernels avx2, vmovaps, vmovaps, ymm0, ymm1, 32, vzeroupper
port_kernels avx512, vmovaps, vmovaps, zmm0, zmm1, 0, vzeroupper

/* Out and in again, half of it and through another register: some processors rename whole words away, whichever register
   they are stored and loaded through. In between something is added, as programs do: what is stored as it was loaded goes
   faster on some. */
function forward
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	movq %rsi, %rdx
	xorl %eax, %eax
	loop_begin
	.rept FM_CORE_STEPS
	movq %rax, (%rsi)
	movl 4(%rdx), %eax
	addl $1, %eax
	.endr
	loop_end
end_function forward

/* The same through one register, by which some cores know before they look at addresses: the stack pointer, since others
   are only remembered for few instructions. */
function reload
	xorl %eax, %eax
	loop_begin
	.rept FM_CORE_STEPS
	movq %rax, -8(%rsp)
	movq -8(%rsp), %rax
	addq $1, %rax
	.endr
	loop_end
end_function reload

/* Out in two parts and in again in one: no store alone has what is loaded, which waits for them to be in the cache. */
function blocked
	movq FM_ARGUMENT_STREAM(%rdi), %rsi
	xorl %eax, %eax
	loop_begin
	.rept FM_CORE_STEPS
	movl %eax, (%rsi)
	movl %eax, 4(%rsi)
	movq (%rsi), %rax
	addq $1, %rax
	.endr
	loop_end
end_function blocked

/* A branch that goes by a bit of a random number, if it is among those of passes; else never. */
function branches
	movq FM_ARGUMENT_PASSES(%rdi), %r8
	movq FM_ARGUMENT_RESULT(%rdi), %rax
	movabsq $6364136223846793005, %r9
	movabsq $1442695040888963407, %r10
	loop_begin
	.rept FM_CORE_STEPS
	imulq %r9, %rax
	addq %r10, %rax
	testq %r8, %rax
	jnz 2f
	addq $1, %rdx
2:
	.endr
	loop_end
	movq %rax, FM_ARGUMENT_RESULT(%rdi)
end_function branches

	.section .note.GNU-stack, "", @progbits
