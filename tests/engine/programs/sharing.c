/* Two threads add to words of one line (argument "false"), or of two (argument "padded"). */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
	_Alignas(128) volatile long words[32];
} shared;

static void *add(void *argument)
{
	volatile long *word = argument;

	for (int i = 0; i < 100000; i++)
		++*word;
	return NULL;
}

int main(int argc, char **argv)
{
	int apart = argc > 1 && !strcmp(argv[1], "padded") ? 16 : 1;
	pthread_t thread;

	printf("%p\n", (void *)shared.words);
	pthread_create(&thread, NULL, add, (void *)&shared.words[apart]);
	add((void *)&shared.words[0]);
	pthread_join(thread, NULL);
	return shared.words[0] != 100000 || shared.words[apart] != 100000;
}
