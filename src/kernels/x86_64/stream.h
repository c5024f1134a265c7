/* Macros for streaming kernels. A kernel file defines one macro that handles one vector of every stream and
   instantiates it with `stream_kernel`, which writes the loop in all instruction sets of isa.def.

   Streams live in rsi, rdx, rcx, r8 (A, B, C, D). Plain base registers with a displacement: an indexed store cannot
   use the simple address unit of Intel cores. The scalar is broadcast to vector register 15. */
#include "../layout.h"

#define A %rsi
#define B %rdx
#define C %rcx
#define D %r8
#define SCALAR 15

.macro vector_load isa, register, offset, base
.ifc \isa, scalar
	movsd \offset(\base), %xmm\register
.endif
.ifc \isa, sse
	movapd \offset(\base), %xmm\register
.endif
.ifc \isa, avx2
	vmovapd \offset(\base), %ymm\register
.endif
.ifc \isa, avx512
	vmovapd \offset(\base), %zmm\register
.endif
.endm

.macro vector_store isa, register, offset, base
.ifc \isa, scalar
	movsd %xmm\register, \offset(\base)
.endif
.ifc \isa, sse
	movapd %xmm\register, \offset(\base)
.endif
.ifc \isa, avx2
	vmovapd %ymm\register, \offset(\base)
.endif
.ifc \isa, avx512
	vmovapd %zmm\register, \offset(\base)
.endif
.endm

/* Scalar non-temporal stores exist for general registers only, so scalar values pass through r9. */
.macro vector_load_for_nontemporal isa, register, offset, base
.ifc \isa, scalar
	movq \offset(\base), %r9
.else
	vector_load \isa, \register, \offset, \base
.endif
.endm

.macro vector_store_nontemporal isa, register, offset, base
.ifc \isa, scalar
	movnti %r9, \offset(\base)
.endif
.ifc \isa, sse
	movntpd %xmm\register, \offset(\base)
.endif
.ifc \isa, avx2
	vmovntpd %ymm\register, \offset(\base)
.endif
.ifc \isa, avx512
	vmovntpd %zmm\register, \offset(\base)
.endif
.endm

/* register = scalar * memory */
.macro vector_scale_memory isa, register, offset, base
.ifc \isa, scalar
	movsd \offset(\base), %xmm\register
	mulsd %xmm15, %xmm\register
.endif
.ifc \isa, sse
	movapd \offset(\base), %xmm\register
	mulpd %xmm15, %xmm\register
.endif
.ifc \isa, avx2
	vmulpd \offset(\base), %ymm15, %ymm\register
.endif
.ifc \isa, avx512
	vmulpd \offset(\base), %zmm15, %zmm\register
.endif
.endm

/* register += memory */
.macro vector_add_memory isa, register, offset, base
.ifc \isa, scalar
	addsd \offset(\base), %xmm\register
.endif
.ifc \isa, sse
	addpd \offset(\base), %xmm\register
.endif
.ifc \isa, avx2
	vaddpd \offset(\base), %ymm\register, %ymm\register
.endif
.ifc \isa, avx512
	vaddpd \offset(\base), %zmm\register, %zmm\register
.endif
.endm

/* register = register * scalar + memory; fused where the instruction set is defined to have it */
.macro vector_scale_add_memory isa, register, offset, base
.ifc \isa, scalar
	mulsd %xmm15, %xmm\register
	addsd \offset(\base), %xmm\register
.endif
.ifc \isa, sse
	mulpd %xmm15, %xmm\register
	addpd \offset(\base), %xmm\register
.endif
.ifc \isa, avx2
	vfmadd213pd \offset(\base), %ymm15, %ymm\register
.endif
.ifc \isa, avx512
	vfmadd213pd \offset(\base), %zmm15, %zmm\register
.endif
.endm

/* register = register * memory(base) + memory(addend); other is a second register to work in */
.macro vector_multiply_add_memory isa, register, other, offset, base, addend
.ifc \isa, scalar
	mulsd \offset(\base), %xmm\register
	addsd \offset(\addend), %xmm\register
.endif
.ifc \isa, sse
	mulpd \offset(\base), %xmm\register
	addpd \offset(\addend), %xmm\register
.endif
.ifc \isa, avx2
	vmovapd \offset(\base), %ymm\other
	vfmadd213pd \offset(\addend), %ymm\other, %ymm\register
.endif
.ifc \isa, avx512
	vmovapd \offset(\base), %zmm\other
	vfmadd213pd \offset(\addend), %zmm\other, %zmm\register
.endif
.endm

.macro vector_broadcast_scalar isa
.ifc \isa, scalar
	movsd FM_ARGUMENT_SCALAR(%rdi), %xmm15
	movq FM_ARGUMENT_SCALAR(%rdi), %r9
.endif
.ifc \isa, sse
	movddup FM_ARGUMENT_SCALAR(%rdi), %xmm15
.endif
.ifc \isa, avx2
	vbroadcastsd FM_ARGUMENT_SCALAR(%rdi), %ymm15
.endif
.ifc \isa, avx512
	vbroadcastsd FM_ARGUMENT_SCALAR(%rdi), %zmm15
.endif
.endm

/* The accumulators of a reduction: whatever was in the registers before may be slow to add (denormals, NaNs). */
.macro vector_clear isa
	.irp register, 0, 1, 2, 3, 4, 5, 6, 7
.ifc \isa, scalar
	xorpd %xmm\register, %xmm\register
.endif
.ifc \isa, sse
	xorpd %xmm\register, %xmm\register
.endif
.ifc \isa, avx2
	vxorpd %xmm\register, %xmm\register, %xmm\register
.endif
.ifc \isa, avx512
	vxorpd %xmm\register, %xmm\register, %xmm\register
.endif
	.endr
.endm

.macro vector_leave isa
.ifc \isa, avx2
	vzeroupper
.endif
.ifc \isa, avx512
	vzeroupper
.endif
.endm

/* Four vectors with registers of their own per round: enough to keep four loads and their arithmetic in flight
   without naming more registers than the narrowest body needs. */
.macro stream_variant name, isa, width, streams, vector, finish
	.globl fm_kernel_\name\()_\isa
	.type fm_kernel_\name\()_\isa, @function
	.p2align 6
fm_kernel_\name\()_\isa:
	vector_broadcast_scalar \isa
	vector_clear \isa
	movq FM_ARGUMENT_PASSES(%rdi), %r11
1:
	movq FM_ARGUMENT_STREAM(%rdi), A
.if \streams > 1
	movq FM_ARGUMENT_STREAM+8(%rdi), B
.endif
.if \streams > 2
	movq FM_ARGUMENT_STREAM+16(%rdi), C
.endif
.if \streams > 3
	movq FM_ARGUMENT_STREAM+24(%rdi), D
.endif
	movq FM_ARGUMENT_COUNT(%rdi), %rax
	.p2align 6
2:
	.set vector_offset, 0
	.rept FM_BLOCK_BYTES / (4 * \width)
	.irp register, 0, 1, 2, 3
	\vector \isa, \register, vector_offset
	.set vector_offset, vector_offset + \width
	.endr
	.endr
	addq $FM_BLOCK_BYTES, A
.if \streams > 1
	addq $FM_BLOCK_BYTES, B
.endif
.if \streams > 2
	addq $FM_BLOCK_BYTES, C
.endif
.if \streams > 3
	addq $FM_BLOCK_BYTES, D
.endif
	subq $1, %rax
	jnz 2b
	subq $1, %r11
	jnz 1b
	\finish
	vector_leave \isa
	ret
	.size fm_kernel_\name\()_\isa, . - fm_kernel_\name\()_\isa
.endm

.macro nothing
.endm

.macro stream_kernel name, streams, vector, finish=nothing
	.text
	stream_variant \name, scalar, 8, \streams, \vector, \finish
	stream_variant \name, sse, 16, \streams, \vector, \finish
	stream_variant \name, avx2, 32, \streams, \vector, \finish
	stream_variant \name, avx512, 64, \streams, \vector, \finish
	.section .note.GNU-stack, "", @progbits
.endm
