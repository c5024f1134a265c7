/* Allocates about a million times a second, and works with what it gets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4096 };

struct record {
	struct record *next;
	unsigned long values[12];
};

static struct record *make(unsigned long value)
{
	struct record *record = malloc(sizeof(*record));

	if (!record)
		exit(1);
	for (unsigned i = 0; i < 12; i++)
		record->values[i] = value * i;
	return record;
}

static char *copy(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *made = malloc(bytes);

	if (!made)
		exit(1);
	return memcpy(made, text, bytes);
}

int main(int count, char **arguments)
{
	static struct record *slots[SLOTS];
	unsigned long rounds = count > 1 ? strtoul(arguments[1], NULL, 10) : 400000, sum = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		unsigned place = (unsigned)(i * 2654435761u) >> 20;
		char text[32], *kept;

		free(slots[place]);
		slots[place] = make(i);
		snprintf(text, sizeof(text), "%lu", i * 7);
		kept = copy(text);
		sum += (unsigned char)kept[0];
		free(kept);
		for (unsigned k = 1; k < 700; k++) {
			const struct record *other = slots[(place * k) % SLOTS];

			if (other)
				sum += other->values[k % 12];
		}
	}
	printf("%lu\n", sum);
	return 0;
}
