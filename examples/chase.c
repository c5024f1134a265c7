/* Follows a list whose nodes lie in random order over more memory than the caches hold: each step waits for the one
   before. */
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 1 << 20, STEPS = 1 << 20 };

struct node {
	struct node *next;
	long value;
	char rest[48];
};

int main(void)
{
	struct node *nodes = calloc(NODES, sizeof(*nodes)), *at;
	unsigned *order = malloc(NODES * sizeof(*order));
	unsigned long state = 1;
	long sum = 0;

	if (!nodes || !order)
		return 1;
	for (unsigned i = 0; i < NODES; i++)
		order[i] = i;
	for (unsigned i = NODES; i > 1; i--) {
		unsigned j, swap = order[i - 1];

		state = state * 6364136223846793005ul + 1442695040888963407ul;
		j = (unsigned)((state >> 33) % i);
		order[i - 1] = order[j];
		order[j] = swap;
	}
	for (unsigned i = 0; i < NODES; i++) {
		nodes[order[i]].next = &nodes[order[(i + 1) % NODES]];
		nodes[order[i]].value = i;
	}
	at = &nodes[order[0]];
	for (long i = 0; i < STEPS; i++) {
		sum += at->value;
		at = at->next;
	}
	printf("%ld\n", sum);
	free(nodes);
	free(order);
	return 0;
}
