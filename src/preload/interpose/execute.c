/* A process becomes another program, or ends at once. */
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/hooks.h"

int fm_execute_next(const struct fm_execution *execution)
{
	fm_next_find();
	return (execution->searched ? fm_next.execvpe : fm_next.execve)(execution->path, execution->arguments,
	                                                                execution->environment);
}

EXPORTED __attribute__((noreturn)) void _exit(int status)
{
	fm_hook_exit(status);
}

EXPORTED __attribute__((noreturn)) void _Exit(int status)
{
	fm_hook_exit(status);
}

EXPORTED int execve(const char *path, char *const *arguments, char *const *environment)
{
	return fm_hook_execute(&(struct fm_execution){path, false, arguments, environment});
}

EXPORTED int execv(const char *path, char *const *arguments)
{
	return execve(path, arguments, environ);
}

EXPORTED int execvpe(const char *file, char *const *arguments, char *const *environment)
{
	return fm_hook_execute(&(struct fm_execution){file, true, arguments, environment});
}

EXPORTED int execvp(const char *file, char *const *arguments)
{
	return execvpe(file, arguments, environ);
}

/* Those with a list of arguments: as an array, the environment after it. */
#define GATHER(first, array)                 \
	va_list list;                        \
	size_t count = 1;                    \
                                             \
	va_start(list, first);               \
	while (va_arg(list, char *))         \
		count++;                     \
	va_end(list);                        \
	char *array[count + 1];              \
                                             \
	array[0] = (char *)(uintptr_t)first; \
	va_start(list, first);               \
	for (size_t i = 1; i <= count; i++)  \
		array[i] = va_arg(list, char *);

EXPORTED int execl(const char *path, const char *argument, ...)
{
	GATHER(argument, arguments)
	va_end(list);
	return execv(path, arguments);
}

EXPORTED int execlp(const char *file, const char *argument, ...)
{
	GATHER(argument, arguments)
	va_end(list);
	return execvp(file, arguments);
}

EXPORTED int execle(const char *path, const char *argument, ...)
{
	char **environment;

	GATHER(argument, arguments)
	environment = va_arg(list, char **);
	va_end(list);
	return execve(path, arguments, environment);
}
