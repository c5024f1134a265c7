/* Lines handed from one thread to another, argument: lines per step. The kernels of the library. */
#include <pthread.h>
#include <stdlib.h>

#include "kernels/kernel.h"

enum { STEPS = 100, LINES_MAX = 1024 };

static _Alignas(4096) char lines[LINES_MAX * FM_LINE_BYTES];
static _Alignas(4096) char flag[4096];
static unsigned count;

static void *consume(void *argument)
{
	struct fm_kernel_arguments arguments = {.stream = {lines, flag}, .count = count, .passes = STEPS};

	fm_kernel_consume(&arguments);
	return argument;
}

int main(int argc, char **argv)
{
	struct fm_kernel_arguments arguments = {.stream = {lines, flag}, .passes = STEPS};
	pthread_t thread;

	count = argc > 1 ? (unsigned)atoi(argv[1]) : 64;
	arguments.count = count;
	if (count < 1 || count > LINES_MAX || pthread_create(&thread, NULL, consume, NULL))
		return 1;
	fm_kernel_produce(&arguments);
	pthread_join(thread, NULL);
	return arguments.result != 1;
}
