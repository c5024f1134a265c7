#include "base/schedule.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A look costs some ten microseconds for each thread: often at first, for short programs, then less. */
static const long first_pause_ns = 1000000, longest_pause_ns = 10000000;

/* A look takes a processor, for which the threads of a team may wait. */
static const double part_of_time = 0.01;

/* The kernel accounts running threads at ticks of 1 to 10 ms. A thread that runs has run for this share of the time
   between two looks that are some ticks apart. */
static const double between_looks = 0.015, running_share = 0.1;

enum { PROCESSES_MAX = 64 };

struct fm_schedule {
	pid_t processes[PROCESSES_MAX]; /* those that were made are added as they are found */
	unsigned process_count;
	bool follows;        /* its children */
	double ran, delayed; /* of the first thread, before */
	bool in_thread;
	atomic_bool ended;
	pthread_t looker;
	double began;
	unsigned count;
	struct fm_scheduled threads[FM_SCHEDULED_MAX];
	struct fm_scheduled before[FM_SCHEDULED_MAX]; /* at the last look */
	unsigned before_count;
	double held_up;
	double ran_before[FM_SCHEDULED_MAX]; /* of each thread, when it was last decided who ran */
	double decided;
	double next; /* look, that may be skipped before */
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

static struct fm_scheduled *find(struct fm_schedule *schedule, pid_t process, pid_t thread)
{
	struct fm_scheduled *found;

	/* new ones are at the end */
	for (unsigned i = schedule->count; i-- > 0;)
		if (schedule->threads[i].thread == thread)
			return &schedule->threads[i];
	if (schedule->count == FM_SCHEDULED_MAX)
		return NULL;
	found = &schedule->threads[schedule->count++];
	*found = (struct fm_scheduled){.process = process, .thread = thread, .began = now() - schedule->began};
	return found;
}

static bool read_line(pid_t process, const char *thread, const char *name, char *line, size_t size)
{
	char path[96];
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/%s", (int)process, thread, name);
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

/* True if the thread is ready without a processor. The wait is only accounted when it gets one. */
static bool is_ready(pid_t process, const char *name)
{
	char line[256];
	const char *state = read_line(process, name, "stat", line, sizeof(line)) ? strrchr(line, ')') : NULL;

	return state && state[1] == ' ' && state[2] == 'R';
}

static void look_at(struct fm_schedule *schedule, pid_t process, const char *name)
{
	struct fm_scheduled *thread;
	double ran, delayed;
	char line[96];

	if (!read_line(process, name, "schedstat", line, sizeof(line)) || !fm_schedule_parse(line, &ran, &delayed))
		return;
	thread = find(schedule, process, (pid_t)atoi(name));
	if (thread == &schedule->threads[0]) {
		ran = ran > schedule->ran ? ran - schedule->ran : 0;
		delayed = delayed > schedule->delayed ? delayed - schedule->delayed : 0;
	}
	if (!thread || (thread->ran == ran && thread->delayed == delayed && is_ready(process, name)))
		return;
	thread->ran = ran;
	thread->delayed = delayed;
	thread->lived = now() - schedule->began - thread->began;
	if (thread->lived < ran + delayed)
		thread->lived = ran + delayed;
}

static void add_process(struct fm_schedule *schedule, pid_t process)
{
	for (unsigned i = 0; i < schedule->process_count; i++)
		if (schedule->processes[i] == process)
			return;
	if (process > 0 && schedule->process_count < PROCESSES_MAX)
		schedule->processes[schedule->process_count++] = process;
}

/* Which processes the thread has made that live. */
static void find_children(struct fm_schedule *schedule, pid_t process, const char *name)
{
	char line[512], *at = line, *end;
	long child;

	if (!read_line(process, name, "children", line, sizeof(line)))
		return;
	while ((child = strtol(at, &end, 10)) > 0 && end != at) {
		/* a number that did not fit is another's */
		if (*end)
			add_process(schedule, (pid_t)child);
		at = end;
	}
}

static void look_at_process(struct fm_schedule *schedule, pid_t process)
{
	const struct dirent *entry;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		look_at(schedule, process, entry->d_name);
		if (schedule->follows)
			find_children(schedule, process, entry->d_name);
	}
	if (folder)
		closedir(folder);
}

/* Accounts for the interval since the last reading, if waits took less than a tenth of it. */
static void note_quiet(struct fm_schedule *schedule, double held_up)
{
	double ran = 0, delayed = held_up - schedule->held_up;

	schedule->held_up = held_up;
	for (unsigned i = 0; i < schedule->before_count; i++) {
		ran += schedule->threads[i].ran - schedule->before[i].ran;
		delayed += schedule->threads[i].delayed - schedule->before[i].delayed;
	}
	for (unsigned i = 0; ran > 0 && delayed < ran / 10 && i < schedule->before_count; i++) {
		struct fm_scheduled *thread = &schedule->threads[i];
		const struct fm_scheduled *before = &schedule->before[i];
		double own = thread->ran - before->ran,
		       blocked = thread->lived - before->lived - own - (thread->delayed - before->delayed);

		thread->quiet_ran += own;
		thread->quiet_blocked += blocked > 0 ? blocked : 0;
	}
	memcpy(schedule->before, schedule->threads, schedule->count * sizeof(schedule->threads[0]));
	schedule->before_count = schedule->count;
}

/* Whether only one thread ran since this was last decided. */
static void note_alone(struct fm_schedule *schedule)
{
	double passed = now() - schedule->began - schedule->decided;
	unsigned running = 0, last = 0;

	if (passed < between_looks)
		return;
	for (unsigned i = 0; i < schedule->count; i++) {
		if (schedule->threads[i].ran - schedule->ran_before[i] > running_share * passed) {
			running++;
			last = i;
		}
		schedule->ran_before[i] = schedule->threads[i].ran;
	}
	if (running == 1)
		schedule->threads[last].alone += passed;
	schedule->decided += passed;
}

void fm_schedule_look(struct fm_schedule *schedule, double held_up)
{
	double begun = now();

	if (begun < schedule->next)
		return;
	for (unsigned i = 0; i < schedule->process_count; i++)
		look_at_process(schedule, schedule->processes[i]);
	note_quiet(schedule, held_up);
	note_alone(schedule);
	schedule->next = now() + (now() - begun) / part_of_time;
}

static void *look(void *context)
{
	struct fm_schedule *schedule = context;
	struct timespec pause = {.tv_nsec = first_pause_ns};

	while (!atomic_load(&schedule->ended)) {
		fm_schedule_look(schedule, 0);
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < longest_pause_ns)
			pause.tv_nsec += pause.tv_nsec / 8;
	}
	return NULL;
}

struct fm_schedule *fm_schedule_create(pid_t process)
{
	struct fm_schedule *schedule = calloc(1, sizeof(*schedule));
	char name[16], line[96];

	if (!schedule)
		return NULL;
	add_process(schedule, process);
	schedule->began = now();
	snprintf(name, sizeof(name), "%d", (int)process);
	if (!read_line(process, name, "schedstat", line, sizeof(line)) ||
	    !fm_schedule_parse(line, &schedule->ran, &schedule->delayed))
		schedule->ran = schedule->delayed = 0;
	find(schedule, process, process);
	return schedule;
}

struct fm_schedule *fm_schedule_begin(pid_t process)
{
	struct fm_schedule *schedule = fm_schedule_create(process);
	sigset_t all, before;
	int failed;

	if (!schedule)
		return NULL;
	schedule->follows = true;
	schedule->in_thread = true;
	/* signals belong to the thread that waits for the program */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&schedule->looker, NULL, look, schedule);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!failed)
		return schedule;
	free(schedule);
	return NULL;
}

static unsigned place_of(const struct fm_schedule *schedule, pid_t process)
{
	unsigned at = 0;

	while (at < schedule->process_count && schedule->processes[at] != process)
		at++;
	return at;
}

static int by_process(const void *left, const void *right, void *context)
{
	const struct fm_scheduled *a = left, *b = right;
	unsigned first = place_of(context, a->process), second = place_of(context, b->process);

	return first != second ? (first > second) - (first < second)
	                       : (a->thread > b->thread) - (a->thread < b->thread);
}

unsigned fm_schedule_end(struct fm_schedule *schedule, struct fm_scheduled ret_threads[FM_SCHEDULED_MAX])
{
	unsigned count = 0;

	if (!schedule)
		return 0;
	if (schedule->in_thread) {
		atomic_store(&schedule->ended, true);
		pthread_join(schedule->looker, NULL);
	}
	qsort_r(schedule->threads, schedule->count, sizeof(schedule->threads[0]), by_process, schedule);
	/* where there is no schedstat, nothing is known of the first either */
	for (unsigned i = 0; i < schedule->count; i++)
		if (schedule->threads[i].lived > 0)
			ret_threads[count++] = schedule->threads[i];
	free(schedule);
	return count;
}

unsigned fm_schedule_busiest(struct fm_scheduled *threads, unsigned count)
{
	double most = -1;
	pid_t busiest = 0;
	unsigned left = 0;

	for (unsigned i = 0; i < count; i++) {
		double ran = 0;

		for (unsigned k = 0; k < count; k++)
			ran += threads[k].process == threads[i].process ? threads[k].ran : 0;
		if (ran > most) {
			most = ran;
			busiest = threads[i].process;
		}
	}
	for (unsigned i = 0; i < count; i++)
		if (threads[i].process == busiest)
			threads[left++] = threads[i];
	return left;
}
