/* The registers of an interrupted thread, in the context passed to its signal handler. */
#ifndef FATHOM_BASE_CONTEXT_H
#define FATHOM_BASE_CONTEXT_H

#include <stdint.h>
#include <ucontext.h>

static inline uint64_t fm_context_pc(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return context->uc_mcontext.pc;
#endif
}

static inline void fm_context_set_pc(ucontext_t *context, uint64_t pc)
{
#if defined(__x86_64__)
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)pc;
#elif defined(__aarch64__)
	context->uc_mcontext.pc = pc;
#endif
}

static inline uint64_t fm_context_stack(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
	return context->uc_mcontext.sp;
#endif
}

#endif
