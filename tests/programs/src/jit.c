/* Makes code while it runs, in pages that are either written or executed, and changes it again and again: jit COUNT */
#define _GNU_SOURCE
#include "counted.h"
#include <string.h>
#include <sys/mman.h>

int main(int count, char **arguments)
{
	/* mov eax, edi; imul eax, eax, 0; add eax, 0; ret */
	unsigned char code[] = {0x89, 0xf8, 0x69, 0xc0, 0, 0, 0, 0, 0x05, 0, 0, 0, 0, 0xc3};
	int times = atoi(count > 1 ? arguments[1] : "2000");
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned sum = 1;

	counted();
	for (int i = 0; i < times; i++) {
		unsigned factor = (unsigned)i * 2 + 1, addend = (unsigned)i * 7;
		unsigned (*function)(unsigned);

		mprotect(page, 4096, PROT_READ | PROT_WRITE);
		memcpy(code + 4, &factor, 4);
		memcpy(code + 9, &addend, 4);
		memcpy(page + i % 64, code, sizeof(code));
		mprotect(page, 4096, PROT_READ | PROT_EXEC);
		*(void **)&function = page + i % 64;
		for (int k = 0; k < 1000; k++)
			sum = function(sum);
	}
	printf("%u\n", sum);
	return 0;
}
