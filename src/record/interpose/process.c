/* What a program does to its files and to itself that would end the recording unnoticed: it closes files it does not
   know, and becomes another program. */
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/hooks.h"
#include "record/log.h"
#include "record/starts.h"
#include "record/timer.h"

enum { ENVIRONMENT_ROOM = 1000 };

EXPORTED int close(int file)
{

	if (__builtin_expect(fm_timer_has_file(file), 0)) { /* the program has no such file */
		errno = EBADF;
		return -1;
	}
	fm_next_find();
	return fm_next.close(file);
}

/* The program takes a number for itself that is ours: then it is the program's. */
EXPORTED int dup2(int from, int to)
{
	bool was_ours = to != from && fm_timer_has_file(to);
	int result;

	fm_next_find();
	result = fm_next.dup2(from, to);
	if (was_ours && result == to)
		fm_timer_lost_file(to);
	return result;
}

EXPORTED int dup3(int from, int to, int flags)
{
	bool was_ours = fm_timer_has_file(to);
	int result;

	fm_next_find();
	result = fm_next.dup3(from, to, flags);
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

	if (close_others(first < 0 ? 0 : (unsigned)first, UINT_MAX, 0) < 0) { /* an old kernel */
		fm_next_find();
		fm_next.closefrom(first);
	}
}

/* A child of vfork() has its parent's memory, and is not the process that was begun. */
static void note_end(void)
{
	if ((uint32_t)fm_process_id() == fm_process->process)
		fm_starts_end(fm_process->cpu_ns);
}

/* Whether LD_PRELOAD of this environment names our library and nothing else. */
static char *const *find_our_preload(char *const *environment)
{
	static const char name[] = "LD_PRELOAD=", library[] = "/libfathom-record.so";

	for (char *const *at = environment; at && *at; at++) {
		size_t length = strlen(*at);

		if (!strncmp(*at, name, sizeof(name) - 1))
			return length > sizeof(library) && !strpbrk(*at, ": ") &&
			               !strcmp(*at + length - (sizeof(library) - 1), library)
			           ? at
			           : NULL;
	}
	return NULL;
}

/* The environment for the program at `path`: the same, or, for one that is passed over, a copy in `room` in which our
   library is not preloaded. What runs here may be a child of vfork, which has its parent's memory: nothing is kept. */
static char *const *environment_for(const char *path, char *const *environment, char **room)
{
	char *const *preload;
	size_t count = 0, kept = 0;

	if (fm_self.inside || !path || !strchr(path, '/'))
		return environment;
	preload = find_our_preload(environment);
	if (!preload)
		return environment;
	while (environment[count])
		if (++count > ENVIRONMENT_ROOM)
			return environment;
	if (!fm_starts_leave_out(path))
		return environment;
	for (size_t i = 0; i < count; i++)
		if (environment + i != preload)
			room[kept++] = environment[i];
	room[kept] = NULL;
	return room;
}

/* Programs into which nothing can be loaded leave no file: then this is all that is known of them. */
static void about_to_execute(const char *path, bool left_out)
{
	struct fm_stream_child child = {0};

	if (fm_self.inside || !path)
		return;
	fm_starts_parent();
	if (!fm_is_alive())
		return;
	fm_self_enter();
	child.process = (uint32_t)fm_process_id();
	if (!left_out)
		fm_log_write_text(FM_STREAM_EXECUTE, &child, sizeof(child), path);
	fm_log_clock();
	note_end();
	fm_self_leave();
}

/* Without what others do when a process ends; forked processes often end so. */
void fm_hook_exit(int status)
{
	if (!fm_self.inside && !fm_starts_is_passed_over() && fm_is_alive()) {
		fm_self_enter();
		fm_log_clock();
		note_end();
		fm_self_leave();
	}
	for (;;)
		fm_system_call(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

int fm_hook_execute(const struct fm_execution *execution)
{
	struct fm_execution changed = *execution;
	char *room[ENVIRONMENT_ROOM + 1];

	changed.environment = environment_for(execution->path, execution->environment, room);
	about_to_execute(execution->path, changed.environment == room);
	return fm_execute_next(&changed);
}

EXPORTED int posix_spawn(pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const *arguments, char *const *environment)
{
	char *room[ENVIRONMENT_ROOM + 1];
	char *const *kept = environment_for(path, environment, room);

	fm_next_find();
	fm_starts_parent();
	return fm_next.posix_spawn(process, path, actions, attributes, arguments, kept);
}
