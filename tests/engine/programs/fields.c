/* Two hot fields on one line, the same two on lines of their own, and a message that is handed over and back. */
#include <pthread.h>
#include <stdio.h>

enum { ADDITIONS = 20000, MESSAGES = 1000 };

static struct {
	_Alignas(64) volatile long first;
	volatile long second;
} hot;

static struct {
	_Alignas(64) volatile long first;
	_Alignas(64) volatile long second;
} apart;

static struct {
	_Alignas(64) volatile long turn;
	volatile long words[7];
} message;

static void *other(void *argument)
{
	long sum = 0;

	for (int i = 0; i < ADDITIONS; i++)
		hot.second++;
	for (int i = 0; i < ADDITIONS; i++)
		apart.second++;
	for (int i = 0; i < MESSAGES; i++) {
		while (message.turn != 1)
			;
		for (int k = 0; k < 7; k++)
			sum += message.words[k];
		message.turn = 0;
	}
	*(long *)argument = sum;
	return NULL;
}

int main(void)
{
	pthread_t thread;
	long sum = 0;

	if (pthread_create(&thread, NULL, other, &sum))
		return 1;
	for (int i = 0; i < ADDITIONS; i++)
		hot.first++;
	for (int i = 0; i < ADDITIONS; i++)
		apart.first++;
	for (int i = 0; i < MESSAGES; i++) {
		while (message.turn != 0)
			;
		for (int k = 0; k < 7; k++)
			message.words[k] = i;
		message.turn = 1;
	}
	pthread_join(thread, NULL);
	printf("%ld %ld\n", hot.first + hot.second + apart.first + apart.second, sum);
	return 0;
}
