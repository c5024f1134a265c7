/* The registers of x86-64 at a call, and a call that keeps the vector registers. */
#include <stddef.h>

#include "preload/modules.h"
#include "preload/unwind.h"

/* The loader may use vector registers, and they may hold values of the program. It is built for every processor, so
   what is beyond the first 16 bytes of each stays as it is. */
__attribute__((naked)) int fm_call_find_object(__attribute__((unused)) find_object_function *function,
                                               __attribute__((unused)) void *address,
                                               __attribute__((unused)) struct dl_find_object *result)
{
	__asm__("pushq %rbp\n\t"
	        ".cfi_adjust_cfa_offset 8\n\t"
	        ".cfi_offset %rbp, -16\n\t"
	        "movq %rsp, %rbp\n\t"
	        ".cfi_def_cfa_register %rbp\n\t"
	        "subq $256, %rsp\n\t"
	        "andq $-16, %rsp\n\t"
	        ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
	        "movups %xmm\\i, 16 * \\i(%rsp)\n\t"
	        ".endr\n\t"
	        "movq %rdi, %rax\n\t"
	        "movq %rsi, %rdi\n\t"
	        "movq %rdx, %rsi\n\t"
	        "call *%rax\n\t"
	        ".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n\t"
	        "movups 16 * \\i(%rsp), %xmm\\i\n\t"
	        ".endr\n\t"
	        "leave\n\t"
	        ".cfi_def_cfa %rsp, 8\n\t"
	        "ret");
}

_Static_assert(offsetof(struct fm_unwind_registers, di) == 72 && sizeof(struct fm_unwind_registers) == 80,
               "fm_unwind_here writes it");

/* The registers as they are behind the call of this. */
__attribute__((naked)) unsigned fm_unwind_here(__attribute__((unused)) uint64_t *addresses,
                                               __attribute__((unused)) unsigned most,
                                               __attribute__((unused)) unsigned skip)
{
	__asm__("subq $88, %rsp\n\t"
	        ".cfi_adjust_cfa_offset 88\n\t"
	        "movq 88(%rsp), %rax\n\t"
	        "movq %rax, 0(%rsp)\n\t"
	        "leaq 96(%rsp), %rax\n\t"
	        "movq %rax, 8(%rsp)\n\t"
	        "movq %rbp, 16(%rsp)\n\t"
	        "movq %rbx, 24(%rsp)\n\t"
	        "movq %r12, 32(%rsp)\n\t"
	        "movq %r13, 40(%rsp)\n\t"
	        "movq %r14, 48(%rsp)\n\t"
	        "movq %r15, 56(%rsp)\n\t"
	        "movq $0, 64(%rsp)\n\t"
	        "movl %edx, %ecx\n\t"
	        "movl %esi, %edx\n\t"
	        "movq %rdi, %rsi\n\t"
	        "movq %rsp, %rdi\n\t"
	        "call fm_unwind_captured\n\t"
	        "addq $88, %rsp\n\t"
	        ".cfi_adjust_cfa_offset -88\n\t"
	        "ret");
}
