/* Registers of x86-64 for walks up a stack. */
#ifndef FATHOM_PRELOAD_X86_64_REGISTERS_H
#define FATHOM_PRELOAD_X86_64_REGISTERS_H

#include <stdint.h>

/* DWARF's numbers of the registers of x86-64. */
enum { FM_BX = 3, FM_DI = 5, FM_BP = 6, FM_SP = 7, FM_R10 = 10, FM_R12 = 12, FM_R15 = 15, FM_RETURN = 16, FM_COLUMNS };

static inline uint64_t fm_walk_load(uint64_t address)
{
	uint64_t value;

	/* other functions' memory: hidden from sanitizers */
	__asm__ volatile("movq %1, %0" : "=r"(value) : "m"(*(const uint64_t *)address));
	return value;
}

static inline uint64_t fm_thread_pointer(void)
{
	uint64_t pointer;

	__asm__("mov %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

#endif
