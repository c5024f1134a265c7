/* Samples that the emulator takes. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/qemu/frames.h"
#include "engine/parts.h"
#include "engine/sampler.h"

enum { ROUNDS = 40000, LEVELS = FM_SIMULATED_CACHES_MAX + 2 };

static struct fm_machine_description machine;
static char folder[128];

static struct fm_session *make_session(uint64_t max_bytes)
{
	char path[200];
	struct fm_session *session;
	int file;

	snprintf(folder, sizeof(folder), "%s/fathom-samples-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/session", folder);
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(file >= 0 && !ftruncate(file, sizeof(*session)));
	session = mmap(NULL, sizeof(*session), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	assert_true(session != MAP_FAILED);
	*session = (struct fm_session){.magic = FM_SESSION_MAGIC,
	                               .version = FM_STREAM_VERSION,
	                               .children = 1,
	                               .begun = __builtin_ia32_rdtsc(),
	                               .max_bytes = max_bytes};
	return session;
}

static void remove_session(struct fm_session *session)
{
	char command[200];

	munmap(session, sizeof(*session));
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
}

static struct fm_engine_run run(uint64_t every, const char *argument, bool timing)
{
	const struct fm_engine_options options = {
	    .machine = &machine, .cores = "0-23", .samples = folder, .every = every, .timing = timing};
	struct fm_engine_run result;
	struct fm_error error;

	if (fm_engine_execute(&options, (char *[]){PROGRAMS "mixture", (char *)argument, NULL}, &result, &error))
		fail_msg("%s", error.message);
	assert_int_equal(result.exit_status, 0);
	return result;
}

static const struct fm_result_object *object(const struct fm_results *results, const char *name)
{
	for (unsigned i = 0; i < results->object_count; i++)
		if (!strcmp(results->objects[i].name, name))
			return &results->objects[i];
	fail_msg("%s was not accessed", name);
	return NULL;
}

static bool is_in(const struct fm_result_object *object, uint64_t address)
{
	return address - object->begin < object->size;
}

static uint64_t count_in(const struct part *part, const struct fm_result_object *object, uint32_t only_thread)
{
	const struct fm_stream_sample *sample;
	uint64_t count = 0;
	uint32_t thread;

	for (unsigned at = 0; (sample = part_sample(part, &at, &thread));)
		count += is_in(object, sample->address) && (!only_thread || only_thread == thread);
	return count;
}

static void sum_counts(const struct fm_results *results, struct fm_core_counts *ret_counts)
{
	memset(ret_counts, 0, sizeof(*ret_counts));
	for (unsigned i = 0; i < results->core_count; i++)
		fm_core_counts_add(ret_counts, &results->cores[i].counts);
}

static void check_each(const struct part *part, uint64_t every, uint64_t *levels, uint64_t *ret_loads,
                       uint64_t *ret_stores)
{
	const struct fm_stream_sample *sample;

	*ret_loads = *ret_stores = 0;
	memset(levels, 0, LEVELS * sizeof(*levels));
	for (unsigned at = 0; (sample = part_sample(part, &at, NULL));) {
		unsigned level = sample->level;

		assert_int_equal(sample->flags, FM_STREAM_SIMULATED);
		assert_true(level >= 1 && level <= machine.cache_count + 1);
		assert_int_equal(sample->cost, level <= machine.cache_count ? machine.caches[level - 1].latency
		                                                            : machine.memory_latency);
		assert_int_equal(sample->period_ns, every);
		assert_true(sample->size >= 1 && sample->size <= 64);
		assert_true(sample->pc && sample->address && sample->stack);
		levels[level]++;
		*ret_loads += (sample->kind & FM_STREAM_LOAD) != 0;
		*ret_stores += (sample->kind & FM_STREAM_STORE) != 0;
	}
}

/* The caches count an access that touches two lines twice. */
static void check_levels(const struct part *part, const struct fm_core_counts *counts, const uint64_t *levels)
{
	const struct fm_stream_sample *sample;
	uint64_t twice = 0, hits = 0, misses = 0;

	for (unsigned at = 0; (sample = part_sample(part, &at, NULL));)
		twice +=
		    sample->address / machine.line_bytes != (sample->address + sample->size - 1) / machine.line_bytes;
	/* they are few, or this would prove little */
	assert_true(twice < (counts->loads + counts->stores) / 500);
	for (unsigned i = 0; i < machine.cache_count; i++) {
		hits = counts->caches[i].load_hits + counts->caches[i].store_hits;
		misses = counts->caches[i].load_misses + counts->caches[i].store_misses;
		if (i == 0)
			assert_int_equal(hits + misses, counts->loads + counts->stores + twice);
		assert_true(hits >= levels[i + 1] && hits - levels[i + 1] <= twice);
	}
	assert_true(misses >= levels[machine.cache_count + 1] && misses - levels[machine.cache_count + 1] <= twice);
}

/* The emulated time stamp counter is the processor's, so that times of the engine and of the program's own library can
   be compared. */
static void time_stamps_are_the_hosts(void **state)
{
	struct fm_session *session = make_session(0);
	uint64_t before = __builtin_ia32_rdtsc(), after;
	struct fm_engine_run result;
	struct part part;
	char argument[40];

	(void)state;
	snprintf(argument, sizeof(argument), "clock=%llu", (unsigned long long)before);
	result = run(100, argument, false);
	after = __builtin_ia32_rdtsc();
	assert_true(part_read(folder, 0, &part));
	for (unsigned i = 0; i < part.count; i++)
		assert_true(part.entries[i]->time > before && part.entries[i]->time < after);
	part_free(&part);
	fm_engine_run_free(&result);
	remove_session(session);
}

/* All references, each with the level that the simulator counted. */
static void every_reference_is_there(void **state)
{
	(void)state;
	for (int timing = 0; timing < 2; timing++) {
		struct fm_session *session = make_session(0);
		struct fm_engine_run result = run(1, "", timing);
		uint64_t levels[LEVELS], loads, stores, threads = 0, mappings = 0, regions = 0;
		struct fm_core_counts counts;
		struct part part;

		sum_counts(result.results, &counts);
		assert_true(part_read(folder, 0, &part));
		assert_int_equal(part.process.process, result.results->process);
		assert_int_equal(part.process.sampler, FM_SAMPLER_ENGINE);
		assert_int_equal(part.process.lost_entries, 0);
		assert_true(part.process.ended > part.process.begun);
		assert_string_equal(part.process.program, PROGRAMS "mixture");
		check_each(&part, 1, levels, &loads, &stores);
		assert_int_equal(loads, counts.loads);
		assert_int_equal(stores, counts.stores);
		print_message("%llu loads, %llu stores, levels %llu %llu %llu %llu\n", (unsigned long long)loads,
		              (unsigned long long)stores, (unsigned long long)levels[1], (unsigned long long)levels[2],
		              (unsigned long long)levels[3], (unsigned long long)levels[4]);
		assert_int_equal(count_in(&part, object(result.results, "three"), 0), 3 * ROUNDS);
		assert_int_equal(count_in(&part, object(result.results, "one"), 0), ROUNDS);
		check_levels(&part, &counts, levels);
		for (unsigned i = 0; i < part.count; i++) {
			threads += part.entries[i]->kind == FM_STREAM_THREAD;
			mappings += part.entries[i]->kind == FM_STREAM_MAPPING;
			regions += part.entries[i]->kind == FM_STREAM_REGION_BEGIN ||
			           part.entries[i]->kind == FM_STREAM_REGION_END;
		}
		assert_int_equal(threads, 1);
		assert_true(mappings > 5);
		assert_int_equal(regions, 2);
		part_free(&part);
		fm_engine_run_free(&result);
		remove_session(session);
	}
}

/* One frame for mix() and one for each of its callers, of which the first is the same for all. */
static void stacks_lead_to_main(void **state)
{
	struct fm_session *session = make_session(0);
	struct fm_engine_run result = run(1, "", false);
	const struct fm_result_object *three = object(result.results, "three");
	const struct fm_stream_sample *sample;
	uint64_t caller = 0, begin = 0, end = 0;
	struct part part;

	(void)state;
	assert_true(part_read(folder, 0, &part));
	for (unsigned i = 0; i < part.count; i++) {
		const struct fm_stream_mapping *mapping = (const struct fm_stream_mapping *)(part.entries[i] + 1);

		if (part.entries[i]->kind == FM_STREAM_MAPPING && mapping->protection & PROT_EXEC &&
		    !strcmp((const char *)(mapping + 1), PROGRAMS "mixture")) {
			begin = mapping->begin;
			end = mapping->end;
		}
	}
	assert_true(end > begin);
	for (unsigned at = 0; (sample = part_sample(&part, &at, NULL));) {
		const uint64_t *stack;
		unsigned count;

		if (!is_in(three, sample->address) || at % 101)
			continue;
		stack = part_stack(&part, sample->stack, &count);
		assert_non_null(stack);
		/* the function, main, two of the C library, _start */
		assert_int_equal(count, 5);
		assert_true(stack[0] == sample->pc && sample->pc >= begin && sample->pc < end);
		assert_true(stack[1] >= begin && stack[1] < end && (!caller || stack[1] == caller));
		caller = stack[1];
		assert_true(stack[4] >= begin && stack[4] < end);
	}
	assert_true(caller);
	part_free(&part);
	fm_engine_run_free(&result);
	remove_session(session);
}

/* One in a hundred: so many as there are hundreds, and shares as they are though the loop is of four. The same in a
   second run. */
static void shares_are_unbiased(void **state)
{
	double first = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct fm_session *session = make_session(0);
		struct fm_engine_run result = run(100, "", false);
		struct fm_core_counts counts;
		uint64_t levels[LEVELS], loads, stores;
		double three, one, share;
		struct part part;

		sum_counts(result.results, &counts);
		assert_true(part_read(folder, 0, &part));
		check_each(&part, 100, levels, &loads, &stores);
		assert_near((double)(loads + stores), (double)(counts.loads + counts.stores) / 100, 1);
		three = (double)count_in(&part, object(result.results, "three"), 0);
		one = (double)count_in(&part, object(result.results, "one"), 0);
		share = three / (three + one);
		print_message("share %.4f of %g samples\n", share, three + one);
		assert_near(three + one, 4.0 * ROUNDS / 100, 2);
		assert_near(share, 0.75, 3 * sqrt(0.75 * 0.25 / (three + one)));
		if (i)
			assert_near(share, first, 0);
		first = share;
		part_free(&part);
		fm_engine_run_free(&result);
		remove_session(session);
	}
}

/* Each thread's are its own. */
static void threads_have_their_samples(void **state)
{
	(void)state;
	for (int timing = 0; timing < 2; timing++) {
		struct fm_session *session = make_session(0);
		struct fm_engine_run result = run(1, "threads", timing);
		uint64_t levels[LEVELS], loads, stores, threads = 0, ends = 0;
		const struct fm_result_object *three = object(result.results, "three");
		struct fm_core_counts counts;
		struct part part;

		assert_true(part_read(folder, 0, &part));
		sum_counts(result.results, &counts);
		check_each(&part, 1, levels, &loads, &stores);
		assert_int_equal(loads, counts.loads);
		assert_int_equal(stores, counts.stores);
		assert_int_equal(count_in(&part, three, 1), 3 * ROUNDS);
		assert_int_equal(count_in(&part, three, 2), 3 * ROUNDS);
		for (unsigned i = 0; i < part.count; i++) {
			const struct fm_stream_thread *thread = (const struct fm_stream_thread *)(part.entries[i] + 1);

			ends += part.entries[i]->kind == FM_STREAM_THREAD_END;
			if (part.entries[i]->kind != FM_STREAM_THREAD)
				continue;
			assert_true(part.entries[i]->thread == 1 || part.entries[i]->thread == 2);
			assert_int_equal(thread->id, result.results->threads[part.entries[i]->thread - 1].host_thread);
			assert_true(thread->stack_end > thread->stack_begin);
			threads++;
		}
		assert_int_equal(threads, 2);
		assert_true(ends >= 1);
		part_free(&part);
		fm_engine_run_free(&result);
		remove_session(session);
	}
}

/* A forked process has a file of its own, and knows the stacks of its parent; so has a program that it executes. */
static void processes_have_their_files(void **state)
{
	static const char *const hows[] = {"fork", "execute"};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct fm_session *session = make_session(0);
		struct fm_engine_run result = run(1, hows[i], false);
		const struct fm_stream_sample *sample;
		uint64_t samples = 0;
		struct fm_core_counts counts;
		struct part first, second, none;
		unsigned in_mix = 0;

		assert_true(part_read(folder, 0, &first));
		assert_true(part_read(folder, 1, &second));
		assert_false(part_read(folder, 2, &none));
		assert_int_equal(result.forked_count, 1);
		assert_int_equal(first.process.process, result.results->process);
		assert_int_equal(second.process.process, result.forked[0]->process);
		assert_int_equal(second.process.parent, result.forked[0]->parent);
		assert_int_equal(second.process.forked, i == 0);
		assert_true(first.process.ended && second.process.ended);
		sum_counts(result.forked[0], &counts);
		for (unsigned at = 0; (sample = part_sample(&second, &at, NULL)); samples++) {
			unsigned count;

			if (at % 1000)
				continue;
			assert_true(part_stack(&second, sample->stack, &count) ||
			            (i == 0 && part_stack(&first, sample->stack, &count)));
			in_mix += count >= 5;
		}
		assert_int_equal(samples, counts.loads + counts.stores);
		assert_true(in_mix > 100);
		if (i == 0) {
			assert_int_equal(count_in(&second, object(result.results, "three"), 0), 3 * ROUNDS);
			assert_int_equal(count_in(&first, object(result.results, "three"), 0), 3 * ROUNDS);
		}
		part_free(&first);
		part_free(&second);
		fm_engine_run_free(&result);
		remove_session(session);
	}
}

static void string_instructions_are_sampled_by_line(void **state)
{
	struct fm_session *session = make_session(0);
	struct fm_engine_run result = run(1, "string", false);
	const struct fm_result_object *copied = object(result.results, "copied");
	const struct fm_stream_sample *sample;
	uint64_t bytes = 0, count = 0;
	struct part part;

	(void)state;
	assert_true(part_read(folder, 0, &part));
	for (unsigned at = 0; (sample = part_sample(&part, &at, NULL));)
		if (is_in(copied, sample->address)) {
			assert_int_equal(sample->kind, FM_STREAM_LOAD | FM_STREAM_REPEATED);
			bytes += sample->size;
			count++;
		}
	assert_int_equal(bytes, copied->size);
	assert_int_equal(count, copied->size / machine.line_bytes);
	part_free(&part);
	fm_engine_run_free(&result);
	remove_session(session);
}

/* The largest size is kept, what is lost is counted, and what is there can be read. */
static void size_is_limited(void **state)
{
	enum { LIMIT = 4 << 20 };
	struct fm_session *session = make_session(LIMIT);
	struct fm_engine_run result = run(1, "", false);
	struct fm_core_counts counts;
	struct part part;
	uint64_t samples = 0;

	(void)state;
	sum_counts(result.results, &counts);
	assert_true(part_read(folder, 0, &part));
	for (unsigned at = 0; part_sample(&part, &at, NULL);)
		samples++;
	assert_true(session->full > session->begun);
	assert_int_equal(session->full_error, 0);
	assert_true(session->used_bytes <= LIMIT && session->used_bytes > LIMIT - 2 * FM_STREAM_CHUNK);
	/* the library in the program, if it is there, has a file too */
	assert_true(session->used_bytes >= FM_STREAM_HEAD + part.process.chunks * FM_STREAM_CHUNK);
	assert_true(part.process.lost_entries > 0);
	assert_true(samples + part.process.lost_entries >= counts.loads + counts.stores);
	part_free(&part);
	fm_engine_run_free(&result);
	remove_session(session);
}

static void wishes_of_the_session_are_heard(void **state)
{
	struct fm_session *session = make_session(0);
	struct fm_engine_run result;
	struct part part, none;

	(void)state;
	session->children = 0;
	result = run(1, "fork", false);
	assert_true(part_read(folder, 0, &part));
	assert_false(part_read(folder, 1, &none));
	part_free(&part);
	fm_engine_run_free(&result);
	remove_session(session);

	session = make_session(0);
	session->stop = 1;
	result = run(1, "", false);
	assert_true(part_read(folder, 0, &part));
	for (unsigned at = 0; part_sample(&part, &at, NULL);)
		fail_msg("a sample after the stop");
	part_free(&part);
	fm_engine_run_free(&result);
	remove_session(session);
}

/* The sampler as whoever records calls it. */
static void sampler_runs_a_program(void **state)
{
	struct fm_session *session = make_session(0);
	uint64_t samples = 0, references;
	struct part part;

	(void)state;
	references = sample_by_observer((char *[]){PROGRAMS "mixture", "fork", NULL}, MACHINES "/haswell-ep.machine",
	                                folder, 10);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(part_read(folder, i, &part));
		for (unsigned at = 0; part_sample(&part, &at, NULL);)
			samples++;
		part_free(&part);
	}
	assert_near((double)samples, (double)references / 10, 2);
	remove_session(session);
}

/* A program that is killed leaves all but its last few. */
static void samples_outlive_the_program(void **state)
{
	struct fm_session *session = make_session(0);
	const struct fm_engine_options options = {.machine = &machine, .samples = folder, .every = 10};
	struct fm_engine_run result;
	struct fm_core_counts counts;
	struct fm_error error;
	struct part part;
	uint64_t samples = 0;

	(void)state;
	assert_int_equal(fm_engine_execute(&options, (char *[]){PROGRAMS "ending", "kill", NULL}, &result, &error), 0);
	assert_int_equal(result.signal, SIGKILL);
	sum_counts(result.results, &counts);
	assert_true(part_read(folder, 0, &part));
	assert_int_equal(part.process.ended, 0);
	for (unsigned at = 0; part_sample(&part, &at, NULL);)
		samples++;
	assert_near((double)samples, (double)(counts.loads + counts.stores) / 10, 10);
	part_free(&part);
	fm_engine_run_free(&result);
	remove_session(session);
}

/* Calls deeper than there is room, and calls that never return. */
static void frames_are_followed(void **state)
{
	static struct fm_frames frames;
	uint64_t stack = 1 << 30, hash;

	(void)state;
	for (uint64_t i = 0; i < 3 * FM_FRAMES_MAX; i++)
		fm_frames_call(&frames, stack - 16 * i, i);
	assert_int_equal(frames.count - frames.base, FM_FRAMES_MAX);
	for (uint64_t i = 3 * FM_FRAMES_MAX; i-- > 2 * FM_FRAMES_MAX;) {
		assert_int_equal(fm_frames_at(&frames, frames.count - 1)->address, i);
		fm_frames_return(&frames, stack - 16 * i);
	}
	/* what was forgotten does not come back, and is not missed */
	assert_int_equal(frames.count, frames.base);
	fm_frames_return(&frames, stack);
	assert_int_equal(frames.count, frames.base);
	fm_frames_call(&frames, stack, 1);
	hash = fm_frames_hash(&frames);
	fm_frames_call(&frames, stack - 8, 2);
	fm_frames_call(&frames, stack - 64, 3);
	/* a longjmp to the second, which calls again, and returns */
	fm_frames_call(&frames, stack - 32, 4);
	assert_int_equal(frames.count - frames.base, 3);
	fm_frames_return(&frames, stack - 8);
	assert_int_equal(frames.count - frames.base, 1);
	assert_true(fm_frames_hash(&frames) == hash);
}

/* Sums over the threads of a process. */
static void region_sums(const struct fm_results *results, const char *name, uint64_t *ret_instances,
                        uint64_t *ret_loads)
{
	*ret_instances = *ret_loads = 0;
	for (unsigned i = 0; i < results->region_count; i++)
		if (!strcmp(results->regions[i].name, name)) {
			*ret_instances += results->regions[i].instances;
			*ret_loads += results->regions[i].counts.loads;
		}
}

/* A function as a region: loads of the array, a thousand each time it is read, and few others. */
static void functions_are_regions(void **state)
{
	static const struct {
		const char *name;
		uint64_t instances, reads, calls, marked;
	} cases[] = {
	    {"descend", 5, 15, 5, 0}, {"escape", 4, 4, 4, 0},      {"marked", 3, 6, 1, 1},
	    {"last", 1, 1, 1, 0},     {"read_all", 38, 38, 38, 0}, {"none", 0, 0, 0, 0},
	};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		const unsigned at = i / 2;
		const struct fm_engine_options options = {
		    .machine = &machine, .cores = "0", .region = cases[at].name, .timing = i % 2};
		uint64_t instances, loads;
		struct fm_engine_run result;
		struct fm_error error;

		if (fm_engine_execute(&options, (char *[]){PROGRAMS "functions", NULL}, &result, &error))
			fail_msg("%s", error.message);
		assert_int_equal(result.exit_status, 0);
		region_sums(result.results, cases[at].name, &instances, &loads);
		print_message("%s: %llu instances, %llu loads, %llu calls\n", cases[at].name,
		              (unsigned long long)instances, (unsigned long long)loads,
		              (unsigned long long)result.results->region_calls);
		assert_int_equal(instances, cases[at].instances);
		assert_true(loads >= 1000 * cases[at].reads && loads < 1000 * cases[at].reads + 1000);
		assert_int_equal(result.results->region_calls, cases[at].calls);
		assert_int_equal(result.results->region_marked, cases[at].marked);
		fm_engine_run_free(&result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_reference_is_there),
	    cmocka_unit_test(stacks_lead_to_main),
	    cmocka_unit_test(time_stamps_are_the_hosts),
	    cmocka_unit_test(shares_are_unbiased),
	    cmocka_unit_test(threads_have_their_samples),
	    cmocka_unit_test(processes_have_their_files),
	    cmocka_unit_test(string_instructions_are_sampled_by_line),
	    cmocka_unit_test(size_is_limited),
	    cmocka_unit_test(samples_outlive_the_program),
	    cmocka_unit_test(frames_are_followed),
	    cmocka_unit_test(functions_are_regions),
	    cmocka_unit_test(sampler_runs_a_program),
	    cmocka_unit_test(wishes_of_the_session_are_heard),
	};
	struct fm_error error;

	if (system("qemu-x86_64 --version >/dev/null 2>&1")) {
		printf("SKIPPED: qemu-x86_64 is not installed\n");
		return 77;
	}
	if (fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error)) {
		fprintf(stderr, "%s\n", error.message);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
