/* Reserves 8 GiB, touches 64 MiB of them. */
#define _GNU_SOURCE
#include "counted.h"
#include <sys/mman.h>

int main(void)
{
	char *area = mmap(NULL, 8UL << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned long sum = 0;

	counted();
	if (area == MAP_FAILED)
		return 77;
	for (unsigned long i = 0; i < 16384; i++)
		area[i * 524288 + i % 4096] = (char)i;
	for (unsigned long i = 0; i < 16384; i++)
		sum = sum * 31 + (unsigned char)area[i * 524288 + i % 4096];
	printf("%lu %lu\n", sum, work(100000000));
	return 0;
}
