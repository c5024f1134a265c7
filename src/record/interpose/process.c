/* What a program does to its files and to itself that would end the recording unnoticed: it closes files it does not
   know, and becomes another program. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/log.h"
#include "record/starts.h"
#include "record/timer.h"

#define EXPORTED __attribute__((visibility("default")))
#define NEXT(name) \
	if (!next) \
	next = (__typeof__(next))dlsym(RTLD_NEXT, name)

EXPORTED int close(int file)
{
	static int (*next)(int);

	if (__builtin_expect(fm_timer_has_file(file), 0)) { /* the program has no such file */
		errno = EBADF;
		return -1;
	}
	NEXT("close");
	return next(file);
}

/* The program takes a number for itself that is ours: then it is the program's. */
EXPORTED int dup2(int from, int to)
{
	static int (*next)(int, int);
	bool was_ours = to != from && fm_timer_has_file(to);
	int result;

	NEXT("dup2");
	result = next(from, to);
	if (was_ours && result == to)
		fm_timer_lost_file(to);
	return result;
}

EXPORTED int dup3(int from, int to, int flags)
{
	static int (*next)(int, int, int);
	bool was_ours = fm_timer_has_file(to);
	int result;

	NEXT("dup3");
	result = next(from, to, flags);
	if (was_ours && result == to)
		fm_timer_lost_file(to);
	return result;
}

/* Everything from first to last but ours. */
static int close_others(unsigned first, unsigned last, int flags)
{
	for (unsigned ours; (ours = fm_timer_next_file(first)) != UINT_MAX && ours <= last; first = ours + 1)
		if (ours > first && fm_system_call(SYS_close_range, first, ours - 1, flags, 0, 0, 0) < 0)
			break;
	if (first > last)
		return 0;
	return (int)fm_system_call(SYS_close_range, first, last, flags, 0, 0, 0);
}

EXPORTED int close_range(unsigned first, unsigned last, int flags)
{
	int result;

	if (first > last) {
		errno = EINVAL;
		return -1;
	}
	result = close_others(first, last, flags);
	if (result < 0)
		errno = -result;
	return result < 0 ? -1 : 0;
}

EXPORTED void closefrom(int first)
{
	static void (*next)(int);

	if (close_others(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0) < 0) { /* an old kernel */
		NEXT("closefrom");
		next(first);
	}
}

/* A child of vfork() has its parent's memory, and is not the process that was begun. */
static void note_end(void)
{
	if ((uint32_t)fm_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0) == fm_process->process)
		fm_starts_end(fm_process->cpu_ns);
}

/* Programs into which nothing can be loaded leave no file: then this is all that is known of them. */
static void about_to_execute(const char *path)
{
	struct fm_stream_child child = {0};

	if (!fm_log_is_open() || fm_self.inside || !path)
		return;
	fm_self_enter();
	child.process = (uint32_t)fm_system_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
	fm_log_write_text(FM_STREAM_EXECUTE, &child, sizeof(child), path);
	fm_log_clock();
	note_end();
	fm_self_leave();
}

/* Without what others do when a process ends; forked processes often end so. */
static void leave(int status)
{
	if (fm_log_is_open() && !fm_self.inside) {
		fm_self_enter();
		fm_log_clock();
		note_end();
		fm_self_leave();
	}
	for (;;)
		fm_system_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

EXPORTED __attribute__((noreturn)) void _exit(int status)
{
	leave(status);
	__builtin_unreachable();
}

EXPORTED __attribute__((noreturn)) void _Exit(int status)
{
	leave(status);
	__builtin_unreachable();
}

EXPORTED int execve(const char *path, char *const *arguments, char *const *environment)
{
	static int (*next)(const char *, char *const *, char *const *);

	NEXT("execve");
	about_to_execute(path);
	return next(path, arguments, environment);
}

EXPORTED int execv(const char *path, char *const *arguments)
{
	static int (*next)(const char *, char *const *);

	NEXT("execv");
	about_to_execute(path);
	return next(path, arguments);
}

EXPORTED int execvp(const char *file, char *const *arguments)
{
	static int (*next)(const char *, char *const *);

	NEXT("execvp");
	about_to_execute(file);
	return next(file, arguments);
}

EXPORTED int execvpe(const char *file, char *const *arguments, char *const *environment)
{
	static int (*next)(const char *, char *const *, char *const *);

	NEXT("execvpe");
	about_to_execute(file);
	return next(file, arguments, environment);
}
