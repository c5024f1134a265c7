/* The fences keep the load between the two readings of the time stamp and everything else outside of them. */
#include "preload/probe.h"

extern const char fm_probe_load[], fm_probe_edge_load[], fm_probe_fixed[], fm_probe_edge_fixed[];

static __attribute__((noinline)) uint32_t time_load(uint64_t address)
{
	uint32_t ticks;

	__asm__ volatile("mfence\n"
	                 "lfence\n"
	                 "rdtsc\n"
	                 "lfence\n"
	                 "mov %%eax, %%r8d\n"
	                 ".globl fm_probe_load\n"
	                 ".hidden fm_probe_load\n"
	                 "fm_probe_load:\n"
	                 "movzbl (%1), %%ecx\n"
	                 "lfence\n"
	                 "rdtsc\n"
	                 "sub %%r8d, %%eax\n"
	                 "lfence\n"
	                 "jmp 1f\n"
	                 ".globl fm_probe_fixed\n"
	                 ".hidden fm_probe_fixed\n"
	                 "fm_probe_fixed:\n"
	                 "mov $-1, %%eax\n"
	                 "1:\n"
	                 : "=&a"(ticks)
	                 : "S"(address)
	                 : "rcx", "rdx", "r8", "memory", "cc");
	return ticks;
}

static __attribute__((noinline)) uint32_t time_load_from_edge(uint64_t address)
{
	uint32_t ticks;

	__asm__ volatile("mfence\n"
	                 "lfence\n"
	                 "rdtsc\n"
	                 "mov %%eax, %%r8d\n"
	                 "2:\n"
	                 "rdtsc\n"
	                 "cmp %%eax, %%r8d\n"
	                 "je 2b\n"
	                 "mov %%eax, %%r8d\n"
	                 "lfence\n"
	                 ".globl fm_probe_edge_load\n"
	                 ".hidden fm_probe_edge_load\n"
	                 "fm_probe_edge_load:\n"
	                 "movzbl (%1), %%ecx\n"
	                 "lfence\n"
	                 "rdtsc\n"
	                 "sub %%r8d, %%eax\n"
	                 "lfence\n"
	                 "jmp 1f\n"
	                 ".globl fm_probe_edge_fixed\n"
	                 ".hidden fm_probe_edge_fixed\n"
	                 "fm_probe_edge_fixed:\n"
	                 "mov $-1, %%eax\n"
	                 "1:\n"
	                 : "=&a"(ticks)
	                 : "S"(address)
	                 : "rcx", "rdx", "r8", "memory", "cc");
	return ticks;
}

void fm_probe(uint64_t address, bool from_edge, struct fm_probe_result *ret_result)
{
	uint32_t (*probe)(uint64_t) = from_edge ? time_load_from_edge : time_load;
	volatile uint8_t own = 0;
	uint32_t least = FM_PROBE_FAULTED;

	/* the code of the probe, not the program's data, waits for its first use */
	probe((uint64_t)&own);
	probe((uint64_t)&own);
	ret_result->neighbour = probe(address ^ 2048);
	ret_result->neighbour_again = probe(address ^ 1024);
	ret_result->cost = probe(address);
	for (unsigned i = 0; i < 3; i++) {
		uint32_t again = probe(address);

		if (again < least)
			least = again;
	}
	ret_result->baseline = least;
}

uint64_t fm_probe_fixup(uint64_t pc)
{
	if (pc == (uint64_t)fm_probe_load)
		return (uint64_t)fm_probe_fixed;
	if (pc == (uint64_t)fm_probe_edge_load)
		return (uint64_t)fm_probe_edge_fixed;
	return 0;
}
