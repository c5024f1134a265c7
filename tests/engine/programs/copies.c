/* Copies with string instructions: program_copies BYTES TIMES. Each is one instruction, whatever the library would do.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 4096;
	unsigned long times = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	char *from = calloc(2, bytes), *to = from + bytes;

	if (!from)
		return 1;
	for (unsigned long i = 0; i < times; i++) {
		void *target = to;
		const void *source = from;
		size_t left = bytes;

		__asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(left) : : "memory");
	}
	printf("%d\n", to[bytes / 2]);
	free(from);
	return 0;
}
