/* Stacks on x86-64: calls on another stack, and the stack pointer of a jump. */
#ifndef FATHOM_TRACE_X86_64_STACK_H
#define FATHOM_TRACE_X86_64_STACK_H

#include <setjmp.h>
#include <stdint.h>

/* The stack pointer in a jmp_buf, which the C library encodes with a secret. */
static inline uint64_t fm_stack_of_jump(const struct __jmp_buf_tag *buffer)
{
	uint64_t stack = (uint64_t)buffer->__jmpbuf[6];

	__asm__("ror $17, %0\n"
	        "xor %%fs:0x30, %0"
	        : "+r"(stack));
	return stack;
}

/* Calls a function that does not return, with five arguments. `stack` is a multiple of 16. */
static inline __attribute__((noreturn)) void fm_stack_leap(uint64_t stack, void *function, uint64_t first,
                                                           uint64_t second, uint64_t third, uint64_t fourth,
                                                           uint64_t fifth)
{
	register uint64_t last __asm__("r8") = fifth;

	__asm__ volatile("mov %0, %%rsp\n"
	                 "xor %%ebp, %%ebp\n"
	                 "call *%1\n"
	                 "ud2"
	                 :
	                 : "a"(stack), "b"(function), "D"(first), "S"(second), "d"(third), "c"(fourth), "r"(last)
	                 : "memory");
	__builtin_unreachable();
}

/* Calls a function with two arguments on the stack that ends at `end`, a multiple of 16. */
static inline void fm_stack_call(char *end, void *function, void *first, void *second)
{
	__asm__ volatile("mov %%rsp, %%rbx\n"
	                 "mov %2, %%rsp\n"
	                 "call *%3\n"
	                 "mov %%rbx, %%rsp"
	                 : "+D"(first), "+S"(second)
	                 : "r"(end), "r"(function)
	                 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2",
	                   "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
	                   "xmm14", "xmm15");
}

#endif
