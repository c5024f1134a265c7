#include "measure/team.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/processor.h"

struct member {
	pthread_t thread;
	struct fm_team *team;
	unsigned cpu;
	int slot; /* its index in the current piece of work, -1 when it has none */
	bool started;
};

struct fm_team {
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	pthread_cond_t done;
	uint64_t generation;
	unsigned active;  /* members of the current piece of work */
	unsigned running; /* of them, not finished yet */
	bool leaving;
	atomic_uint arrived; /* at the common start */
	fm_team_function prepare;
	fm_team_function work;
	void *context;
	struct fm_team_time *times;
	unsigned count;
	struct member members[];
};

static uint64_t thread_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void perform(struct fm_team *team, unsigned index)
{
	struct fm_team_time *time = &team->times[index];
	uint64_t on_cpu;

	if (team->prepare)
		team->prepare(team->context, index);
	/* spin, then start: sleeping here would spread the starts over tens of microseconds */
	atomic_fetch_add(&team->arrived, 1);
	while (atomic_load_explicit(&team->arrived, memory_order_acquire) < team->active)
		fm_pause();
	on_cpu = thread_time();
	time->begin_ns = fm_clock_now();
	team->work(team->context, index);
	time->end_ns = fm_clock_now();
	on_cpu = thread_time() - on_cpu;
	time->lost_ns = time->end_ns - time->begin_ns > on_cpu ? time->end_ns - time->begin_ns - on_cpu : 0;
}

static void *member_main(void *argument)
{
	struct member *member = argument;
	struct fm_team *team = member->team;
	uint64_t seen = 0;

	fm_bind_to_cpu(member->cpu, NULL);
	pthread_mutex_lock(&team->mutex);
	for (;;) {
		while (!team->leaving && team->generation == seen)
			pthread_cond_wait(&team->wake, &team->mutex);
		if (team->leaving)
			break;
		seen = team->generation;
		if (member->slot < 0)
			continue;
		pthread_mutex_unlock(&team->mutex);
		perform(team, (unsigned)member->slot);
		pthread_mutex_lock(&team->mutex);
		if (!--team->running)
			pthread_cond_signal(&team->done);
	}
	pthread_mutex_unlock(&team->mutex);
	return NULL;
}

int fm_team_create(const struct fm_cpu_list *cpus, struct fm_team **ret_team, struct fm_error *error)
{
	struct fm_team *team = calloc(1, sizeof(*team) + cpus->count * sizeof(team->members[0]));

	if (!team)
		return fm_error_set(error, ENOMEM, "out of memory");
	pthread_mutex_init(&team->mutex, NULL);
	pthread_cond_init(&team->wake, NULL);
	pthread_cond_init(&team->done, NULL);
	team->count = cpus->count;
	for (unsigned i = 0; i < cpus->count; i++) {
		struct member *member = &team->members[i];
		int code;

		member->team = team;
		member->slot = -1;
		member->cpu = cpus->cpu[i];
		code = pthread_create(&member->thread, NULL, member_main, member);
		if (code) {
			fm_team_destroy(team);
			return fm_error_set(error, code, "cannot start thread %u of %u: %s", i + 1, cpus->count,
			                    strerror(code));
		}
		member->started = true;
	}
	*ret_team = team;
	return 0;
}

void fm_team_destroy(struct fm_team *team)
{
	if (!team)
		return;
	pthread_mutex_lock(&team->mutex);
	team->leaving = true;
	pthread_cond_broadcast(&team->wake);
	pthread_mutex_unlock(&team->mutex);
	for (unsigned i = 0; i < team->count; i++)
		if (team->members[i].started)
			pthread_join(team->members[i].thread, NULL);
	pthread_cond_destroy(&team->done);
	pthread_cond_destroy(&team->wake);
	pthread_mutex_destroy(&team->mutex);
	free(team);
}

void fm_team_run(struct fm_team *team, const unsigned *who, unsigned members, fm_team_function prepare,
                 fm_team_function work, void *context, struct fm_team_time *times)
{
	pthread_mutex_lock(&team->mutex);
	team->prepare = prepare;
	team->work = work;
	team->context = context;
	team->times = times;
	for (unsigned i = 0; i < team->count; i++)
		team->members[i].slot = -1;
	for (unsigned i = 0; i < members; i++)
		team->members[who ? who[i] : i].slot = (int)i;
	team->active = team->running = members;
	atomic_store(&team->arrived, 0);
	team->generation++;
	pthread_cond_broadcast(&team->wake);
	while (team->running)
		pthread_cond_wait(&team->done, &team->mutex);
	pthread_mutex_unlock(&team->mutex);
}
