/* One reader of files under test: called with the bytes of a file. Whatever they are, the reader must refuse them with
   a reason or read them, and what it has read must be usable. */
#ifndef FATHOM_TESTS_FUZZ_H
#define FATHOM_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold of every input. abort() is what both libFuzzer and the replay report as a finding. */
#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The bytes as a string, to be freed. A byte 0 ends it, as it does for the readers that take text. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	must(text);
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

#endif
