/* Loads a library, calls it, unloads it, again and again; two threads: dlopen LIBRARY COUNT */
#include "counted.h"
#include <dlfcn.h>
#include <pthread.h>

static const char *path;
static int times;

static void *one(void *start)
{
	unsigned long value = (unsigned long)start;

	for (int i = 0; i < times; i++) {
		void *library = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY);
		unsigned long (*plugin)(unsigned long);

		if (!library)
			abort();
		*(void **)&plugin = dlsym(library, "plugin");
		value ^= plugin(5);
		dlclose(library);
	}
	return (void *)value;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	void *values[2];

	path = count > 1 ? arguments[1] : "./plugin.so";
	times = atoi(count > 2 ? arguments[2] : "300");
	counted();
	values[0] = one((void *)0);
	pthread_create(&thread, NULL, one, (void *)0);
	pthread_join(thread, &values[1]);
	printf("%d %lu\n", values[0] == values[1], work(20000000));
	return 0;
}
