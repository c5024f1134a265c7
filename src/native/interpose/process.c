/* What a program does to itself: it ends, becomes another program, limits its system calls, and changes its code. */
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "native/next.h"
#include "native/numbers.h"
#include "native/place.h"
#include "native/runtime.h"
#include "native/threads.h"

/* Not in a child of vfork, which has its parent's memory. */
static bool is_traced(void)
{
	return fm_file_is_open() && fm_process_id() == (pid_t)fm_head()->process;
}

EXPORTED __attribute__((noreturn)) void _exit(int status)
{
	uint64_t mask;

	if (is_traced()) {
		if (!fm_thread_step_out(&mask))
			mask = fm_block_all();
		fm_runtime_end();
	}
	for (;;)
		fm_system_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

EXPORTED __attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}

static void publish_before_end(void)
{
	struct fm_place *place;
	uint64_t mask;

	if (!is_traced())
		return;
	place = fm_thread_step_out(&mask);
	if (!place)
		mask = fm_block_all();
	fm_runtime_end();
	fm_change_mask(mask);
}

EXPORTED __attribute__((noreturn)) void quick_exit(int status)
{

	fm_next_find();
	publish_before_end();
	fm_next.quick_exit(status);
	__builtin_unreachable();
}

/* The program may have a handler, and go on in it. */
EXPORTED __attribute__((noreturn)) void abort(void)
{
	struct fm_place *place;
	uint64_t mask;

	fm_next_find();
	place = is_traced() ? fm_thread_step_out(&mask) : NULL;
	if (place) {
		fm_runtime_publish();
		fm_runtime_go_on();
		fm_thread_return(place, mask);
	}
	fm_next.abort();
	__builtin_unreachable();
}

/* Natively, with the program's mask, which the next program inherits. */
static struct fm_place *about_to_execute(uint64_t *ret_mask)
{
	struct fm_place *place = is_traced() ? fm_thread_step_out(ret_mask) : NULL;

	if (place) {
		fm_runtime_publish();
		fm_change_mask(*ret_mask);
	}
	return place;
}

static int did_not_execute(struct fm_place *place, int result)
{
	int error = errno;

	if (place) {
		uint64_t mask = fm_block_all();

		fm_runtime_go_on();
		fm_thread_return(place, mask);
	}
	errno = error;
	return result;
}

EXPORTED int execve(const char *path, char *const *arguments, char *const *environment)
{
	struct fm_place *place;
	uint64_t mask;

	fm_next_find();
	place = about_to_execute(&mask);
	return did_not_execute(place, fm_next.execve(path, arguments, environment));
}

EXPORTED int execv(const char *path, char *const *arguments)
{
	struct fm_place *place;
	uint64_t mask;

	fm_next_find();
	place = about_to_execute(&mask);
	return did_not_execute(place, fm_next.execv(path, arguments));
}

EXPORTED int execvp(const char *file, char *const *arguments)
{
	struct fm_place *place;
	uint64_t mask;

	fm_next_find();
	place = about_to_execute(&mask);
	return did_not_execute(place, fm_next.execvp(file, arguments));
}

EXPORTED int execvpe(const char *file, char *const *arguments, char *const *environment)
{
	struct fm_place *place;
	uint64_t mask;

	fm_next_find();
	place = about_to_execute(&mask);
	return did_not_execute(place, fm_next.execvpe(file, arguments, environment));
}

/* Those with a list of arguments: as an array, the environment after it. */
#define GATHER(first, array)                   \
	__builtin_va_list list;                \
	size_t count = 1;                      \
                                               \
	__builtin_va_start(list, first);       \
	while (__builtin_va_arg(list, char *)) \
		count++;                       \
	__builtin_va_end(list);                \
	char *array[count + 1];                \
                                               \
	array[0] = (char *)(uintptr_t)first;   \
	__builtin_va_start(list, first);       \
	for (size_t i = 1; i <= count; i++)    \
		array[i] = __builtin_va_arg(list, char *);

EXPORTED int execl(const char *path, const char *argument, ...)
{
	GATHER(argument, arguments)
	__builtin_va_end(list);
	return execv(path, arguments);
}

EXPORTED int execlp(const char *file, const char *argument, ...)
{
	GATHER(argument, arguments)
	__builtin_va_end(list);
	return execvp(file, arguments);
}

EXPORTED int execle(const char *path, const char *argument, ...)
{
	char **environment;

	GATHER(argument, arguments)
	environment = __builtin_va_arg(list, char **);
	__builtin_va_end(list);
	return execve(path, arguments, environment);
}

EXPORTED int prctl(int option, ...)
{
	unsigned long arguments[4];
	__builtin_va_list list;

	__builtin_va_start(list, option);
	for (unsigned i = 0; i < 4; i++)
		arguments[i] = __builtin_va_arg(list, unsigned long);
	__builtin_va_end(list);
	fm_next_find();
	if (option == PR_SET_SECCOMP)
		fm_runtime_stop_for_good();
	return fm_next.prctl(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}

EXPORTED long syscall(long number, ...)
{
	long arguments[6];
	__builtin_va_list list;

	__builtin_va_start(list, number);
	for (unsigned i = 0; i < 6; i++)
		arguments[i] = __builtin_va_arg(list, long);
	__builtin_va_end(list);
	fm_next_find();
	if (number == SYS_seccomp || (number == SYS_prctl && arguments[0] == PR_SET_SECCOMP))
		fm_runtime_stop_for_good();
	return fm_next.syscall(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
	                       arguments[5]);
}

static void code_changed(const void *address, size_t size)
{
	if (is_traced())
		fm_places_code_changed((uint64_t)address, (uint64_t)address + size);
}

EXPORTED int mprotect(void *address, size_t size, int protection)
{
	int result;

	fm_next_find();
	result = fm_next.mprotect(address, size, protection);
	code_changed(address, size);
	return result;
}

EXPORTED int munmap(void *address, size_t size)
{
	int result;

	fm_next_find();
	result = fm_next.munmap(address, size);
	code_changed(address, size);
	return result;
}

EXPORTED void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
	void *result;

	fm_next_find();
	result = fm_next.mmap(address, size, protection, flags, file, offset);
	if (flags & MAP_FIXED)
		code_changed(address, size);
	if (result != MAP_FAILED && protection & PROT_EXEC && file >= 0 && is_traced())
		fm_numbers_remapped();
	return result;
}

EXPORTED void *mmap64(void *address, size_t size, int protection, int flags, int file, off64_t offset)
{
	return mmap(address, size, protection, flags, file, offset);
}

static int add_unloaded(struct dl_phdr_info *information, size_t size, void *sum)
{
	(void)size;
	*(unsigned long long *)sum = information->dlpi_subs;
	return 1;
}

EXPORTED int dlclose(void *handle)
{
	unsigned long long before = 0, after = 0;
	int result;

	fm_next_find();
	dl_iterate_phdr(add_unloaded, &before);
	result = fm_next.dlclose(handle);
	dl_iterate_phdr(add_unloaded, &after);
	if (before != after && is_traced()) {
		fm_places_code_changed(0, UINT64_MAX);
		fm_numbers_remapped();
	}
	return result;
}
