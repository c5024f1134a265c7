/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/processor.h"
#include "base/random.h"
#include "engine/qemu/frames.h"
#include "engine/qemu/mappings.h"
#include "engine/qemu/part.h"
#include "engine/account/places.h"
#include "engine/qemu/state.h"

enum { REMEMBERED = 256, NAMES_MAX = 512, ARGUMENTS = 6 };

/* The samples of a thread. It outlives a fork, as its frames do. */
struct sampler {
	struct fm_part_writer *writer; /* NULL: a forked process has none for it yet */
	uint32_t number;
	bool fresh; /* it has made no reference yet */
	uint64_t rest;
	struct fm_random random;
	uint64_t stack_begin, stack_end;
	uint64_t arguments[ARGUMENTS]; /* of the system call under way */
	/* stacks that it met lately */
	struct {
		uint64_t hash;
		uint32_t number;
	} remembered[REMEMBERED];
};

__thread uint64_t fm_samples_left __attribute__((tls_model("initial-exec")));
static __thread struct sampler *self __attribute__((tls_model("initial-exec")));

static struct {
	uint64_t every;
	bool first;     /* this process is, of all */
	bool listed;    /* its mappings have been */
	uint64_t seed;  /* of this process */
	uint64_t forks; /* that it made */
	/* markers; with the engine's mutex */
	char names[NAMES_MAX][FM_RESULT_NAME];
	unsigned name_count;
} samples;

/* Processes and threads */

void fm_samples_use(const char *folder, uint64_t every)
{
	samples.every = fm_engine.every = every;
	fm_part_use(folder);
	fm_mappings_begin();
}

static bool are_children_wanted(void)
{
	return !fm_part_session || fm_part_session->children;
}

void fm_samples_begin(uint32_t parent, bool executed)
{
	samples.first = !executed;
	samples.seed = executed;
	if (samples.first || are_children_wanted())
		fm_part_open(samples.every, parent, false);
}

void fm_samples_end(void)
{
	fm_part_end();
}

void fm_samples_go_on(void)
{
	if (fm_part_process)
		fm_part_process->ended = 0;
}

void fm_samples_program(const char *path)
{
	if (fm_part_process)
		snprintf(fm_part_process->program, sizeof(fm_part_process->program), "%s", path ? path : "");
}

static void write_thread(void)
{
	struct fm_stream_thread entry = {
	    .id = fm_self->record->host_thread, .stack_begin = self->stack_begin, .stack_end = self->stack_end};
	const char *program = strrchr(fm_engine.account->results->program, '/');

	/* the first thread has QEMU's name unless it has given itself another */
	if (prctl(PR_GET_NAME, entry.name) || !strncmp(entry.name, "qemu-", 5))
		snprintf(entry.name, sizeof(entry.name), "%s",
		         program ? program + 1 : fm_engine.account->results->program);
	entry.name[sizeof(entry.name) - 1] = 0;
	fm_part_write(self->writer, self->number, FM_STREAM_THREAD, &entry, sizeof(entry), NULL);
}

void fm_samples_thread_begin(const struct fm_engine_thread *thread)
{
	bool inherited = self;

	if (!samples.every)
		return;
	fm_samples_left = UINT64_MAX; /* without memory there are none */
	if (!self)
		self = calloc(1, sizeof(*self));
	if (!self)
		return;
	self->writer = fm_part_take();
	self->number = thread->index + 1;
	self->fresh = true;
	fm_random_seed(&self->random, samples.seed * 0x100000001b3u + thread->index);
	fm_samples_left = 1;
	if (!self->writer)
		return;
	if (!samples.listed)
		fm_mappings_write_all(self->writer);
	samples.listed = true;
	if (inherited)
		write_thread();
}

void fm_samples_thread_end(void)
{
	if (self && self->writer) {
		fm_part_write(self->writer, self->number, FM_STREAM_THREAD_END, NULL, 0, NULL);
		fm_part_give_back(self->writer);
	}
	free(self);
	self = NULL;
}

/* The first thing that any thread does is to use its stack. */
static void note_beginning(uint64_t address)
{
	self->fresh = false;
	if (self->stack_end || !self->writer)
		return;
	if (fm_mappings_around(address, &self->stack_begin, &self->stack_end) && self->number == 1)
		fm_mappings_write(self->writer, self->stack_begin, self->stack_end, 0, PROT_READ | PROT_WRITE,
		                  "[stack]");
	write_thread();
}

void fm_samples_before_fork(void)
{
	samples.forks++;
	fm_part_before_fork();
}

void fm_samples_after_fork_in_parent(void)
{
	fm_part_after_fork_in_parent();
}

void fm_samples_after_fork_in_child(uint32_t parent)
{
	fm_part_after_fork_in_child();
	if (!samples.every)
		return;
	samples.first = false;
	samples.seed = fm_frames_mix(samples.seed + 1, samples.forks);
	samples.forks = 0;
	samples.name_count = 0;
	if (self)
		self->writer = NULL;
	if (are_children_wanted() && fm_part_open(samples.every, parent, true))
		fm_samples_program(fm_engine.account->results->program);
}

/* Samples */

/* One in each n references: what is left of these n, and a random part of the next. */
static void choose_next(void)
{
	uint64_t chosen = fm_random_below(&self->random, samples.every);

	fm_samples_left = self->rest + chosen + 1;
	self->rest = samples.every - 1 - chosen;
}

static bool is_time(uint64_t now)
{
	const struct fm_session *session = fm_part_session;
	uint64_t since;

	if (!session)
		return true;
	since = now - session->begun;
	return !*(const volatile uint32_t *)&session->stop && since >= session->delay &&
	       (!session->duration || since - session->delay < session->duration);
}

static uint32_t find_stack(uint64_t pc)
{
	uint64_t hash = fm_frames_mix(fm_frames ? fm_frames_hash(fm_frames) : 0, pc), addresses[FM_STREAM_STACK_MAX];
	unsigned place = hash % REMEMBERED, count = 0;
	uint32_t number;

	if (self->remembered[place].number && self->remembered[place].hash == hash)
		return self->remembered[place].number;
	number = fm_part_find_stack(hash);
	if (!number) {
		addresses[count++] = pc;
		for (uint64_t i = fm_frames ? fm_frames->count : 0;
		     count < FM_STREAM_STACK_MAX && fm_frames && i > fm_frames->base; i--)
			addresses[count++] = fm_frames_at(fm_frames, i - 1)->address;
		number = fm_part_stack(self->writer, self->number, hash, addresses, count);
	}
	self->remembered[place].hash = hash;
	self->remembered[place].number = number;
	return number;
}

struct fm_stream_sample *fm_samples_choose(const struct fm_engine_thread *thread, const struct fm_result_site *site,
                                           uint64_t address, unsigned bytes, unsigned kind)
{
	uint64_t now = fm_ticks(), pc = fm_places_address(fm_engine.account, site);
	struct fm_stream_sample *sample;
	uint32_t stack;

	if (!self)
		return NULL;
	if (self->fresh) {
		note_beginning(address);
		self->rest = 0;
		choose_next();
		/* this reference is the first of its n */
		if (--fm_samples_left)
			return NULL;
	}
	choose_next();
	if (!self->writer || !is_time(now))
		return NULL;
	stack = find_stack(pc);
	sample = fm_part_begin(self->writer, self->number, now, sizeof(*sample));
	if (!sample)
		return NULL;
	sample->pc = pc;
	sample->address = address;
	sample->size = (uint16_t)bytes;
	sample->kind = (uint8_t)kind;
	sample->flags = FM_STREAM_SIMULATED;
	sample->node = (int16_t)thread->core->socket;
	sample->page_node = FM_STREAM_NO_NODE;
	sample->cpu = thread->core->index;
	sample->stack = stack;
	sample->period_ns = samples.every;
	return sample;
}

/* A line that another core's private cache had was found by way of the first cache that is shared. */
static unsigned level_of(unsigned served)
{
	if (served == FM_SERVED_CORE)
		return fm_engine.account->hierarchy->private_caches < fm_engine.account->cache_count
		           ? fm_engine.account->hierarchy->private_caches + 1
		           : fm_engine.account->cache_count;
	return served < fm_engine.account->cache_count ? served + 1 : fm_engine.account->cache_count + 1;
}

void fm_samples_finish(struct fm_stream_sample *sample, unsigned served)
{
	sample->level = level_of(served);
	sample->cost = fm_engine.account->latency[served];
	fm_part_commit(sample, FM_STREAM_SAMPLE);
}

/* Names, regions and mappings */

static uint32_t find_name(const char *name)
{
	uint32_t number = 0;

	pthread_mutex_lock(&fm_engine.mutex);
	while (number < samples.name_count && strcmp(samples.names[number], name))
		number++;
	if (number == samples.name_count && number < NAMES_MAX) {
		const struct fm_stream_name entry = {.number = number + 1};

		snprintf(samples.names[samples.name_count++], sizeof(samples.names[0]), "%s", name);
		fm_part_write(self->writer, self->number, FM_STREAM_NAME, &entry, sizeof(entry), name);
	}
	pthread_mutex_unlock(&fm_engine.mutex);
	return number < NAMES_MAX ? number + 1 : 0;
}

void fm_samples_region(const char *name, bool begins)
{
	struct fm_stream_region entry = {0};

	if (!self || !self->writer)
		return;
	entry.name = find_name(name);
	if (entry.name)
		fm_part_write(self->writer, self->number, begins ? FM_STREAM_REGION_BEGIN : FM_STREAM_REGION_END,
		              &entry, sizeof(entry), NULL);
}

void fm_samples_call(const uint64_t *arguments)
{
	if (self)
		memcpy(self->arguments, arguments, sizeof(self->arguments));
}

void fm_samples_call_return(int64_t number, int64_t result)
{
	if (self && self->writer)
		fm_mappings_called(self->writer, number, fm_engine.x86, self->arguments, result);
}
