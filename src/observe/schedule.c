#include "observe/schedule.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A look costs some ten microseconds for each thread: often at first, for short programs, then less. */
static const long first_pause_ns = 1000000, longest_pause_ns = 10000000;

struct fm_schedule {
	pid_t process;
	atomic_bool ended;
	pthread_t looker;
	double began;
	unsigned count;
	struct fm_scheduled threads[FM_SCHEDULED_MAX];
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

bool fm_schedule_parse(const char *line, double *ret_ran, double *ret_delayed)
{
	unsigned long long ran, delayed;

	if (sscanf(line, "%llu %llu", &ran, &delayed) != 2)
		return false;
	*ret_ran = (double)ran * 1e-9;
	*ret_delayed = (double)delayed * 1e-9;
	return true;
}

static struct fm_scheduled *find(struct fm_schedule *schedule, pid_t thread)
{
	struct fm_scheduled *found;

	/* new ones are at the end */
	for (unsigned i = schedule->count; i-- > 0;)
		if (schedule->threads[i].thread == thread)
			return &schedule->threads[i];
	if (schedule->count == FM_SCHEDULED_MAX)
		return NULL;
	found = &schedule->threads[schedule->count++];
	*found = (struct fm_scheduled){.thread = thread, .began = now() - schedule->began};
	return found;
}

static bool read_line(const struct fm_schedule *schedule, const char *thread, const char *name, char *line, size_t size)
{
	char path[96];
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/%s", (int)schedule->process, thread, name);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return false;
	length = read(file, line, size - 1);
	close(file);
	if (length <= 0)
		return false;
	line[length] = '\0';
	return true;
}

/* Is it ready, and has no processor? What it waits for that is only counted once it has got one. */
static bool is_ready(const struct fm_schedule *schedule, const char *name)
{
	char line[256];
	const char *state = read_line(schedule, name, "stat", line, sizeof(line)) ? strrchr(line, ')') : NULL;

	return state && state[1] == ' ' && state[2] == 'R';
}

static void look_at(struct fm_schedule *schedule, const char *name)
{
	struct fm_scheduled *thread;
	double ran, delayed;
	char line[96];

	if (!read_line(schedule, name, "schedstat", line, sizeof(line)) || !fm_schedule_parse(line, &ran, &delayed))
		return;
	thread = find(schedule, (pid_t)atoi(name));
	if (!thread || (thread->ran == ran && thread->delayed == delayed && is_ready(schedule, name)))
		return;
	thread->ran = ran;
	thread->delayed = delayed;
	thread->lived = now() - schedule->began - thread->began;
	if (thread->lived < ran + delayed)
		thread->lived = ran + delayed;
}

static void *look(void *context)
{
	struct fm_schedule *schedule = context;
	struct timespec pause = {.tv_nsec = first_pause_ns};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)schedule->process);
	while (!atomic_load(&schedule->ended)) {
		DIR *folder = opendir(path);
		const struct dirent *entry;

		while (folder && (entry = readdir(folder)))
			if (entry->d_name[0] != '.')
				look_at(schedule, entry->d_name);
		if (folder)
			closedir(folder);
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < longest_pause_ns)
			pause.tv_nsec += pause.tv_nsec / 8;
	}
	return NULL;
}

struct fm_schedule *fm_schedule_begin(pid_t process)
{
	struct fm_schedule *schedule = calloc(1, sizeof(*schedule));
	sigset_t all, before;
	int failed;

	if (!schedule)
		return NULL;
	schedule->process = process;
	schedule->began = now();
	/* signals are for whoever waits for the program */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&schedule->looker, NULL, look, schedule);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!failed)
		return schedule;
	free(schedule);
	return NULL;
}

static int by_number(const void *left, const void *right)
{
	const struct fm_scheduled *a = left, *b = right;

	return (a->thread > b->thread) - (a->thread < b->thread);
}

unsigned fm_schedule_end(struct fm_schedule *schedule, struct fm_scheduled ret_threads[FM_SCHEDULED_MAX])
{
	unsigned count;

	if (!schedule)
		return 0;
	atomic_store(&schedule->ended, true);
	pthread_join(schedule->looker, NULL);
	count = schedule->count;
	qsort(schedule->threads, count, sizeof(schedule->threads[0]), by_number);
	memcpy(ret_threads, schedule->threads, count * sizeof(schedule->threads[0]));
	free(schedule);
	return count;
}
