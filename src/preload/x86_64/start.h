/* Where a walk up the stack of an interrupted thread begins. */
#ifndef FATHOM_PRELOAD_X86_64_START_H
#define FATHOM_PRELOAD_X86_64_START_H

#include <ucontext.h>

#include "preload/unwind.h"

/* `pc`: the program's address, if the context has one of a code cache. */
static inline struct fm_unwind_registers fm_unwind_start(const ucontext_t *context, uint64_t pc)
{
	const greg_t *registers = context->uc_mcontext.gregs;

	return (struct fm_unwind_registers){.pc = pc,
	                                    .sp = (uint64_t)registers[REG_RSP],
	                                    .bp = (uint64_t)registers[REG_RBP],
	                                    .bx = (uint64_t)registers[REG_RBX],
	                                    .r12 = (uint64_t)registers[REG_R12],
	                                    .r13 = (uint64_t)registers[REG_R13],
	                                    .r14 = (uint64_t)registers[REG_R14],
	                                    .r15 = (uint64_t)registers[REG_R15],
	                                    .r10 = (uint64_t)registers[REG_R10],
	                                    .di = (uint64_t)registers[REG_RDI]};
}

#endif
