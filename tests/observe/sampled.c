/* Folders whose contents are known become recordings: every table. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/random.h"
#include "replay/parts_reader.h"
#include "observe/sampled.h"
#include "observe/session.h"
#include "replay/make_parts.h"
#include "replay/places.h"
#include "recording/store.h"

static struct maker maker;

/* Microseconds are enough to tell times apart. */
enum { US = 1000, MS = 1000000 };

static struct fm_recording *read_parts(void)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_error error;

	maker_write(&maker);
	if (fm_sampled_read(maker.folder, recording, &error) || fm_recording_settle(recording, &error))
		fail_msg("%s", error.message);
	maker_remove(&maker);
	return recording;
}

static void same(double a, double b)
{
	if (!(a - b < 1e-9 && b - a < 1e-9))
		fail_msg("%.9f is not %.9f", a, b);
}

static const struct fm_recorded_memory *memory_of(const struct fm_recording *recording, size_t sample)
{
	assert_true(sample < recording->samples_count && recording->samples[sample].memory >= 0);
	return &recording->memories[recording->samples[sample].memory];
}

/* Entries of many chunks come in the order of time. */
static void entries_come_in_order(void **state)
{
	struct fm_parts *parts;
	struct fm_part_entry entry;
	struct fm_error error;
	uint64_t last = 0;
	size_t count = 0;

	(void)state;
	maker_begin(&maker);
	for (unsigned i = 0; i < 3; i++) {
		struct maker_process *process = maker_process(&maker, 100 + i, 1, 0, i * 10 * US);

		for (unsigned k = 0; k < 3000; k++)
			maker_release(process, 1 + k % 7, i * 10 * US + (uint64_t)k * 977 % 5 + 10 * k, 0x1000 + k, 0);
	}
	maker_write(&maker);
	assert_int_equal(fm_parts_open(maker.folder, &parts, &error), 0);
	assert_int_equal(fm_parts_process_count(parts), 3);
	while (fm_parts_next(parts, &entry)) {
		assert_true(entry.time >= last);
		assert_int_equal(entry.kind, FM_STREAM_RELEASE);
		assert_int_equal(entry.size, sizeof(struct fm_stream_release));
		last = entry.time;
		count++;
	}
	assert_int_equal(count, 9000);
	fm_parts_close(parts);
	maker_remove(&maker);
}

/* A program with two threads, a marked region, code and variables of this test. */
static void everything_has_its_table(void **state)
{
	uint64_t leaf = place_leaf(), outer = place_outer(), wrapper = xmalloc();
	uint64_t stack[] = {leaf - 1, outer}, allocation[] = {wrapper, outer};
	struct maker_process *process;
	struct fm_stream_sample *sample;
	struct fm_stream_region *region;
	struct fm_stream_missed *missed;
	struct fm_recording *recording;
	const struct fm_recorded_sample *row;
	const struct fm_recorded_memory *memory;

	(void)state;
	maker_begin(&maker);
	maker.session.lost_processes = 2;
	maker.session.full = maker.session.begun + 3200000000u;
	maker.session.full_error = ENOSPC;
	process = maker_process(&maker, 4711, 4000, 0, 10 * MS);
	memcpy(process->head.arguments,
	       "program\0-n\0"
	       "7",
	       13);
	process->head.cpu_ns = 2000 * MS;
	process->head.sampling_ticks = 30 * MS;
	process->head.allocation_ticks = 10 * MS;
	process->head.allocations = 77;
	process->head.tracked = 11;
	process->head.lost_stacks = 1;
	process->head.lost_entries = 5;
	process->head.ended = maker.session.begun + 900 * MS;
	maker_map_self(process, 11 * MS);
	maker_thread(process, 1, 11 * MS, 4711, "main", 0x7fff00000000, 0x7fff00100000);
	maker_thread(process, 2, 12 * MS, 4712, "worker", 0x7e0000000000, 0x7e0000100000);
	maker_thread(process, 2, 13 * MS, 4712, "renamed", 0x7e0000000000, 0x7e0000100000);
	maker_stack(process, 1, 14 * MS, 1, 2, stack);
	maker_stack(process, 1, 14 * MS, 2, 2, allocation);
	maker_name(process, 14 * MS, 1, "sweep");
	maker_name(process, 14 * MS, 2, "inner");
	maker_allocate(process, 1, 15 * MS, 0x5000000000, 8192, 2, FM_ALLOCATED_HEAP, 1);
	region = maker_entry(process, FM_STREAM_REGION_BEGIN, 2, 20 * MS, sizeof(*region));
	region->name = 1;
	region = maker_entry(process, FM_STREAM_REGION_BEGIN, 2, 21 * MS, sizeof(*region));
	region->name = 2;
	sample = maker_sample(process, 2, 22 * MS, leaf - 1, (uint64_t)&place_grid + 24, 1);
	sample->kind = FM_STREAM_STORE;
	sample->flags = FM_STREAM_EDGE;
	sample->cpu = 3;
	sample->node = 0;
	sample->page_node = 1;
	sample->cost = 100;
	sample->baseline = 40;
	sample->neighbour = 300;
	sample->neighbour_again = 41;
	sample->period_ns = 2500000;
	region = maker_entry(process, FM_STREAM_REGION_END, 2, 23 * MS, sizeof(*region));
	region->name = 2;
	maker_sample(process, 2, 24 * MS, leaf - 1, (uint64_t)&place_numbers[99] + 3, 1);
	region = maker_entry(process, FM_STREAM_REGION_END, 2, 25 * MS, sizeof(*region));
	region->name = 1;
	maker_sample(process, 2, 26 * MS, leaf - 1, 0x5000000000 + 8191, 1);
	maker_sample(process, 2, 27 * MS, leaf - 1, 0x7fff000ffff8, 0);
	maker_sample(process, 1, 28 * MS, leaf - 1, 0x7e0000000000, 0);
	maker_release(process, 2, 29 * MS, 0x5000000000, 0);
	maker_sample(process, 1, 30 * MS, 0x1234, 0x5000000000, 99);
	maker_entry(process, FM_STREAM_THREAD_END, 2, 40 * MS, 0);
	for (unsigned i = 0; i < 3; i++) {
		missed = maker_entry(process, FM_STREAM_MISSED, 1, (41 + i) * MS, sizeof(*missed));
		*missed = (struct fm_stream_missed){.pc = leaf - i % 2,
		                                    .period_ns = 1000000,
		                                    .reason = i < 2 ? FM_MISSED_BUSY : FM_MISSED_TRANSLATOR + 2};
	}
	recording = read_parts();

	assert_int_equal(recording->sampled_processes_count, 1);
	assert_int_equal(recording->sampled_processes[0].process, 4711);
	assert_int_equal(recording->sampled_processes[0].parent, 4000);
	assert_false(recording->sampled_processes[0].forked);
	assert_string_equal(recording->sampled_processes[0].program, "/nowhere/program");
	assert_string_equal(recording->sampled_processes[0].arguments, "program -n 7");
	assert_string_equal(recording->sampled_processes[0].remark, "");
	same(recording->sampled_processes[0].began, 0.01);
	same(recording->sampled_processes[0].ended, 0.9);

	assert_int_equal(recording->sampled_threads_count, 2);
	assert_int_equal(recording->sampled_threads[1].thread, 4712);
	assert_string_equal(recording->sampled_threads[0].name, "main");
	assert_string_equal(recording->sampled_threads[1].name, "renamed");
	same(recording->sampled_threads[0].began, 0.011);
	same(recording->sampled_threads[0].ended, 0.9);
	same(recording->sampled_threads[1].began, 0.012);
	same(recording->sampled_threads[1].ended, 0.04);

	/* the leaf, its caller, the two of the allocation (one of them shared), and one without a file */
	assert_int_equal(recording->codes_count, 4);
	assert_int_equal(recording->frames_count, 3);
	assert_int_equal(recording->samples_count, 6);
	row = &recording->samples[0];
	assert_int_equal(row->thread, 1);
	same(row->at, 0.022);
	assert_int_equal(row->cpu, 3);
	assert_int_equal(row->node, 0);
	assert_int_equal(row->page_node, 1);
	assert_int_equal(row->size, 8);
	assert_int_equal(row->kind, FM_STREAM_STORE);
	assert_int_equal(row->flags, FM_STREAM_EDGE);
	assert_int_equal(row->cost, 100);
	assert_int_equal(row->baseline, 40);
	assert_int_equal(row->neighbour, 300);
	assert_int_equal(row->neighbour_again, 41);
	assert_int_equal(row->level, 0);
	same(row->weight, 0.0025);
	assert_int_equal(row->address, (uint64_t)&place_grid + 24);
	assert_int_equal(recording->samples[1].node, -1);

	/* code: the instruction itself, and the call of a return address */
	assert_string_equal(recording->codes[row->code].function, "place_leaf");
	assert_int_equal(recording->codes[row->code].line, 19);
	assert_int_equal(recording->codes[row->code].address, leaf - 1);
	assert_string_equal(recording->codes[row->code].chain, "places.c:19 (place_leaf)");
	assert_string_equal(recording->codes[row->code].module, "test_sampled");
	assert_non_null(strstr(recording->codes[row->code].file, "places.c"));
	assert_int_equal(recording->frames[row->frame].code, row->code);
	assert_string_equal(recording->codes[recording->frames[recording->frames[row->frame].caller].code].function,
	                    "place_outer");
	assert_int_equal(recording->codes[recording->frames[recording->frames[row->frame].caller].code].address,
	                 outer - 1);
	assert_int_equal(recording->frames[recording->frames[row->frame].caller].caller, -1);
	assert_int_equal(recording->samples[5].frame, -1);
	assert_string_equal(recording->codes[recording->samples[5].code].module, "");
	assert_int_equal(recording->codes[recording->samples[5].code].address, 0x1234);

	/* regions */
	assert_int_equal(recording->instances_count, 2);
	assert_string_equal(recording->instances[0].name, "sweep");
	assert_string_equal(recording->instances[1].name, "inner");
	assert_int_equal(recording->instances[1].thread, 1);
	same(recording->instances[0].began, 0.02);
	same(recording->instances[0].ended, 0.025);
	same(recording->instances[1].ended, 0.023);
	assert_int_equal(recording->samples[0].instance, 1);
	assert_int_equal(recording->samples[1].instance, 0);
	assert_int_equal(recording->samples[2].instance, -1);

	/* objects */
	memory = memory_of(recording, 0);
	assert_int_equal(memory->kind, FM_MEMORY_STATIC);
	assert_string_equal(memory->name, "place_grid");
	assert_string_equal(memory->type, "struct place_grid");
	assert_string_equal(memory->module, "test_sampled");
	assert_int_equal(memory->address, (uint64_t)&place_grid);
	assert_true(memory->bytes >= sizeof(place_grid)); /* a sanitizer adds to it */
	assert_int_equal(memory->process, 0);
	same(memory->began, 0);
	same(memory->ended, 0.9);
	same(memory->weight, 1);
	memory = memory_of(recording, 1);
	assert_string_equal(memory->name, "place_numbers");
	assert_string_equal(memory->type, "int [100]");
	memory = memory_of(recording, 2);
	assert_int_equal(memory->kind, FM_MEMORY_HEAP);
	assert_string_equal(memory->name, "places.c:29 (place_outer)");
	assert_string_equal(memory->site, "places.c:29 (place_outer)");
	assert_int_equal(memory->address, 0x5000000000);
	assert_int_equal(memory->bytes, 8192);
	same(memory->began, 0.015);
	same(memory->ended, 0.029);
	same(memory->allocations, 1);
	assert_string_equal(recording->codes[recording->frames[memory->frame].code].function, "xmalloc");
	memory = memory_of(recording, 3);
	assert_int_equal(memory->kind, FM_MEMORY_STACK);
	assert_string_equal(memory->name, "stack of thread 4711 (main)");
	assert_int_equal(memory->thread, 0);
	assert_int_equal(memory->bytes, 0x100000);
	memory = memory_of(recording, 4);
	assert_string_equal(memory->name, "stack of thread 4712 (renamed)");
	same(memory->ended, 0.04);
	memory = memory_of(recording, 5);
	if (!SANITIZED) /* which maps much of the address space */
		assert_int_equal(memory->kind, FM_MEMORY_UNKNOWN);
	assert_int_equal(recording->memories_count, 6);

	/* what was missed, by reason and function */
	assert_int_equal(recording->missed_count, 2);
	assert_string_equal(recording->missed[0].reason, "other threads were being sampled");
	assert_string_equal(recording->missed[0].function, "place_leaf");
	assert_int_equal(recording->missed[0].count, 2);
	same(recording->missed[0].seconds, 0.002);
	assert_string_equal(recording->missed[1].reason, "at a system call");

	/* figures */
	same(recording->sampling.overhead.value, 0.02);
	same(recording->sampling.rate.value, 3);
	same(recording->sampling.cpu_seconds, 2);
	same(recording->sampling.seconds, 0.9);
	same(recording->sampling.sampling_seconds, 0.03);
	same(recording->sampling.allocation_seconds, 0.01);
	same(recording->sampling.overhead_asked, 0.03);
	assert_int_equal(recording->sampling.allocations, 77);
	assert_int_equal(recording->sampling.tracked, 11);
	assert_int_equal(recording->sampling.lost_stacks, 1);
	assert_int_equal(recording->sampling.lost_entries, 5);
	assert_int_equal(recording->sampling.lost_processes, 2);
	assert_string_equal(
	    recording->sampling.loss,
	    "after 3.2 s nothing more could be written: No space left on device; 2 processes could not be "
	    "recorded; no room for 5 entries");
	fm_recording_free(recording);
}

/* Small allocations of a call stack are one object, large ones are objects of their own up to a number. */
static void allocations_are_pooled(void **state)
{
	uint64_t first[] = {place_leaf(), place_outer()}, second[] = {place_outer()};
	struct maker_process *process;
	struct fm_recording *recording;
	const struct fm_recorded_memory *memory;

	(void)state;
	maker_begin(&maker);
	process = maker_process(&maker, 10, 1, 0, 0);
	maker_map_self(process, 1 * US);
	maker_thread(process, 1, 1 * US, 10, "", 0, 0);
	maker_stack(process, 1, 2 * US, 1, 2, first);
	maker_stack(process, 1, 2 * US, 2, 1, second);
	/* 10 of 100 bytes, each for 4; five of them end before the next ten begin */
	for (unsigned i = 0; i < 10; i++)
		maker_allocate(process, 1, 10 * US + i, 0x10000 + i * 128, 100, 1, FM_ALLOCATED_HEAP, 4);
	for (unsigned i = 0; i < 5; i++)
		maker_release(process, 1, 20 * US + i, 0x10000 + i * 128, 0);
	for (unsigned i = 0; i < 10; i++)
		maker_allocate(process, 1, 30 * US + i, 0x20000 + i * 128, 100, 1, FM_ALLOCATED_NEW, 2);
	maker_sample(process, 1, 40 * US, 1, 0x10000 + 9 * 128 + 99, 0);  /* one for 4 */
	maker_sample(process, 1, 41 * US, 1, 0x20000, 0);                 /* one for 2 */
	maker_sample(process, 1, 42 * US, 1, 0x10000 + 9 * 128 + 100, 0); /* behind it */
	/* 20 large ones, all sampled */
	for (unsigned i = 0; i < 20; i++)
		maker_allocate(process, 1, 50 * US + i, 0x1000000 + i * 0x10000, 4096 + i, 2, FM_ALLOCATED_HEAP, 1);
	for (unsigned i = 0; i < 20; i++)
		maker_sample(process, 1, 60 * US + i, 1, 0x1000000 + i * 0x10000 + 4095 + i, 0);
	recording = read_parts();
	assert_int_equal(recording->samples_count, 23);
	memory = memory_of(recording, 0);
	assert_int_equal(memory->kind, FM_MEMORY_POOL);
	assert_ptr_equal(memory, memory_of(recording, 1));
	assert_string_equal(memory->site, "places.c:19 (place_leaf) < places.c:29 (place_outer)");
	assert_string_equal(memory->name, "places.c:19 (place_leaf)");
	same(memory->allocations, 60);
	assert_int_equal(memory->bytes, 4000); /* 40 at first, then 20 + 20 */
	same(memory->weight, 3);
	assert_int_equal(memory->process, 0);
	same(memory->began, 10e-6);
	assert_int_equal(memory_of(recording, 2)->kind, FM_MEMORY_UNKNOWN);
	for (unsigned i = 0; i < 20; i++) {
		memory = memory_of(recording, 3 + i);
		assert_int_equal(memory->kind, i < 16 ? FM_MEMORY_HEAP : FM_MEMORY_POOL);
		assert_string_equal(memory->name, "places.c:29 (place_outer)");
		if (i < 16)
			assert_int_equal(memory->bytes, 4096 + i);
		else
			assert_ptr_equal(memory, memory_of(recording, 19));
	}
	same(memory->allocations, 4);
	/* 1 pool, unknown, 16, 1 pool */
	assert_int_equal(recording->memories_count, 19);
	fm_recording_free(recording);
}

/* What lies above hides what lies below. */
static void layers_hide_each_other(void **state)
{
	uint64_t stack[] = {place_leaf()};
	struct maker_process *process;
	struct fm_stream_object *object;
	struct fm_stream_thread *thread;
	struct fm_recording *recording;
	char *file = "/tmp";

	(void)state;
	maker_begin(&maker);
	process = maker_process(&maker, 10, 1, 0, 0);
	maker_map_self(process, 1 * US);
	snprintf(process->head.program, sizeof(process->head.program), "%s", "/proc/self/exe");
	if (readlink("/proc/self/exe", process->head.program, sizeof(process->head.program) - 1) < 0)
		fail();
	maker_stack(process, 1, 2 * US, 1, 1, stack);
	thread = maker_entry(process, FM_STREAM_THREAD, 1, 2 * US, sizeof(*thread));
	/* thread-local variables end at the thread pointer */
	*thread = (struct fm_stream_thread){.id = 10, .local_begin = 0x700000000000, .local_end = 0x700000001000};
	maker_map(process, 3 * US, 0x100000000, 0x100100000, 0, PROT_READ, "/data/table.bin", 0);
	maker_map(process, 3 * US, 0x200001000, 0x200100000, 0, PROT_READ | PROT_WRITE, "", 0);
	maker_map(process, 3 * US, 0x300000000, 0x300100000, 0, PROT_READ | PROT_WRITE, "[heap]", 0);
	maker_map(process, 3 * US, 0x400000000, 0x400100000, 0, PROT_READ | PROT_WRITE, "", 0); /* as glibc's arenas */
	maker_name(process, 3 * US, 1, "halo");
	maker_name(process, 3 * US, 2, "borders");
	maker_sample(process, 1, 10 * US, 1, 0x100000010, 0);
	maker_sample(process, 1, 11 * US, 1, 0x200001000, 0);
	maker_sample(process, 1, 12 * US, 1, 0x300000000, 0);
	maker_sample(process, 1, 13 * US, 1, 0x400000010, 0);
	maker_allocate(process, 1, 20 * US, 0x200001000, 0x10000, 1, FM_ALLOCATED_MAPPED, 1);
	maker_sample(process, 1, 21 * US, 1, 0x200001000, 0);
	/* a file that the program mapped: the call came first, then a list that shows it */
	maker_allocate(process, 1, 21 * US, 0x500000000, 0x2000, 1, FM_ALLOCATED_MAPPED, 1);
	maker_map(process, 21 * US, 0x500000000, 0x500002000, 0, PROT_READ, "/data/mapped.bin", 0);
	maker_sample(process, 1, 21 * US + 1, 1, 0x500001000, 0);
	maker_release(process, 1, 22 * US, 0x200003000, 0x1000); /* a hole */
	maker_sample(process, 1, 23 * US, 1, 0x200003000, 0);
	maker_sample(process, 1, 24 * US, 1, 0x200004000, 0);
	maker_allocate(process, 1, 30 * US, 0x200020000, 0x10000, 0, FM_ALLOCATED_ARENA, 1);
	maker_sample(process, 1, 31 * US, 1, 0x200020000, 0);
	maker_allocate(process, 1, 32 * US, 0x200020000, 0x1000, 1, FM_ALLOCATED_HEAP, 1);
	maker_sample(process, 1, 33 * US, 1, 0x200020000, 0);
	object = maker_entry(process, FM_STREAM_OBJECT, 1, 34 * US, sizeof(*object));
	*object = (struct fm_stream_object){0x200020100, 0x100, 1, 2};
	maker_sample(process, 1, 35 * US, 1, 0x2000201ff, 0);
	object = maker_entry(process, FM_STREAM_OBJECT, 1, 36 * US, sizeof(*object));
	*object = (struct fm_stream_object){.address = 0x200020100};
	maker_sample(process, 1, 37 * US, 1, 0x200020100, 0);
	/* a new list of mappings: the file is gone */
	maker_map(process, 40 * US, 0x300000000, 0x300100000, 0, PROT_READ, "[heap]", 1);
	maker_map(process, 41 * US, 0x300000000, 0x300100000, 0, PROT_READ, "[heap]", 1);
	maker_sample(process, 1, 42 * US, 1, 0x100000010, 0);
	maker_sample(process, 1, 43 * US, 1, 0x700000001000 - sizeof(place_local) + 8, 0);
	maker_sample(process, 1, 44 * US, 1, 0x700000000000, 0);
	recording = read_parts();
	(void)file;
	assert_int_equal(memory_of(recording, 0)->kind, FM_MEMORY_FILE);
	assert_string_equal(memory_of(recording, 0)->name, "/data/table.bin");
	assert_int_equal(memory_of(recording, 0)->bytes, 0x100000);
	assert_int_equal(memory_of(recording, 1)->kind, FM_MEMORY_MAPPED);
	assert_int_equal(memory_of(recording, 2)->kind, FM_MEMORY_UNTRACKED);
	assert_string_equal(memory_of(recording, 2)->name, "heap, not tracked");
	assert_ptr_equal(memory_of(recording, 3), memory_of(recording, 2));
	assert_int_equal(memory_of(recording, 4)->kind, FM_MEMORY_MAPPED);
	assert_string_equal(memory_of(recording, 4)->name, "places.c:19 (place_leaf)");
	assert_int_equal(memory_of(recording, 4)->bytes, 0x10000);
	assert_int_equal(memory_of(recording, 5)->kind, FM_MEMORY_FILE);
	assert_string_equal(memory_of(recording, 5)->name, "/data/mapped.bin");
	assert_ptr_equal(memory_of(recording, 6), memory_of(recording, 1));
	assert_ptr_equal(memory_of(recording, 7), memory_of(recording, 4));
	assert_ptr_equal(memory_of(recording, 8), memory_of(recording, 2));
	assert_int_equal(memory_of(recording, 9)->kind, FM_MEMORY_HEAP);
	assert_int_equal(memory_of(recording, 10)->kind, FM_MEMORY_NAMED);
	assert_string_equal(memory_of(recording, 10)->name, "halo");
	assert_string_equal(memory_of(recording, 10)->group_name, "borders");
	assert_string_equal(memory_of(recording, 10)->site, "places.c:19 (place_leaf)");
	assert_int_equal(memory_of(recording, 10)->bytes, 0x100);
	assert_int_equal(memory_of(recording, 10)->address, 0x200020100);
	same(memory_of(recording, 10)->began, 34e-6);
	same(memory_of(recording, 10)->ended, 36e-6);
	assert_ptr_equal(memory_of(recording, 11), memory_of(recording, 9));
	assert_int_equal(memory_of(recording, 12)->kind, FM_MEMORY_UNKNOWN);
	assert_int_equal(memory_of(recording, 13)->kind, FM_MEMORY_THREAD_LOCAL);
	assert_string_equal(memory_of(recording, 13)->name, "place_local");
	assert_string_equal(memory_of(recording, 13)->type, "int [16]");
	assert_int_equal(memory_of(recording, 13)->thread, 0);
	assert_int_equal(memory_of(recording, 14)->kind, FM_MEMORY_THREAD_LOCAL);
	assert_string_equal(memory_of(recording, 14)->name, "thread-local variables of thread 10");
	fm_recording_free(recording);
}

/* A forked process has what its parent had at that time, and goes its own way. */
static void forks_inherit(void **state)
{
	uint64_t stack[] = {place_leaf()};
	struct maker_process *parent, *child;
	struct fm_recording *recording;

	(void)state;
	maker_begin(&maker);
	parent = maker_process(&maker, 20, 1, 0, 0);
	child = maker_process(&maker, 21, 20, 1, 50 * US);
	maker_map_self(parent, 1 * US);
	maker_stack(parent, 1, 2 * US, 1, 1, stack);
	maker_allocate(parent, 1, 10 * US, 0x10000, 8192, 1, FM_ALLOCATED_HEAP, 1);
	maker_allocate(parent, 1, 60 * US, 0x20000, 8192, 1, FM_ALLOCATED_HEAP, 1);
	maker_release(parent, 1, 70 * US, 0x10000, 0);
	maker_sample(parent, 1, 80 * US, 1, 0x10000, 0);
	maker_sample(child, 1, 81 * US, (uint64_t)stack[0] - 1, 0x10000, 1);
	maker_sample(child, 1, 82 * US, 1, 0x20000, 0);
	maker_sample(child, 1, 83 * US, 1, (uint64_t)&place_grid, 0);
	maker_sample(parent, 1, 84 * US, 1, (uint64_t)&place_grid, 0);
	/* a stack that the parent makes later is not the child's */
	maker_stack(parent, 1, 90 * US, 2, 1, stack);
	maker_sample(child, 1, 91 * US, 1, 0x10000, 2);
	recording = read_parts();
	assert_int_equal(recording->sampled_processes_count, 2);
	assert_true(recording->sampled_processes[1].forked);
	assert_int_equal(memory_of(recording, 0)->kind, FM_MEMORY_UNKNOWN);
	assert_int_equal(memory_of(recording, 1)->kind, FM_MEMORY_HEAP);
	assert_int_equal(memory_of(recording, 1)->process, 0);
	same(memory_of(recording, 1)->began, 10e-6);
	same(memory_of(recording, 1)->ended, 70e-6);
	assert_int_equal(recording->samples[1].process, 1);
	assert_string_equal(recording->codes[recording->frames[recording->samples[1].frame].code].function,
	                    "place_leaf");
	assert_int_equal(memory_of(recording, 2)->kind, FM_MEMORY_UNKNOWN);
	assert_ptr_equal(memory_of(recording, 3), memory_of(recording, 4));
	assert_string_equal(memory_of(recording, 3)->name, "place_grid");
	assert_int_equal(memory_of(recording, 3)->process, -1);
	assert_ptr_equal(memory_of(recording, 1), memory_of(recording, 5));
	assert_int_equal(recording->samples[5].frame, -1);
	fm_recording_free(recording);
}

/* The engine samples, the runtime in the emulated program knows the objects: two files of one process. */
static void engine_and_runtime_are_one_process(void **state)
{
	uint64_t stack[] = {place_leaf()};
	struct maker_process *engine, *runtime, *child, *alone;
	struct fm_stream_sample *sample;
	struct fm_recording *recording;

	(void)state;
	maker_begin(&maker);
	engine = maker_process(&maker, 20, 1, 0, 0);
	runtime = maker_process(&maker, 20, 1, 0, 5 * US);
	child = maker_process(&maker, 21, 20, 1, 50 * US);
	alone = maker_process(&maker, 22, 1, 0, 60 * US);
	engine->engine = child->engine = alone->engine = 1;
	maker_map_self(engine, 1 * US);
	maker_thread(engine, 7, 2 * US, 20, "", 0, 0);
	maker_thread(runtime, 1, 6 * US, 20, "main", 0, 0);
	/* the same number for another stack */
	maker_stack(runtime, 1, 7 * US, 1, 1, stack);
	stack[0] = place_outer();
	maker_stack(engine, 7, 7 * US, 1, 1, stack);
	maker_allocate(runtime, 1, 10 * US, 0x10000, 8192, 1, FM_ALLOCATED_HEAP, 1);
	sample = maker_sample(engine, 7, 20 * US, stack[0] - 1, 0x10000, 1);
	sample->flags = FM_STREAM_SIMULATED;
	sample->level = 3;
	sample->period_ns = 1000;
	maker_sample(child, 1, 55 * US, 1, 0x10000, 0);
	maker_sample(alone, 1, 65 * US, 1, 0x10000, 0);
	recording = read_parts();
	assert_int_equal(recording->sampled_processes_count, 3);
	assert_int_equal(recording->sampled_processes[0].process, 20);
	assert_int_equal(recording->sampled_processes[1].process, 21);
	assert_int_equal(recording->sampled_threads_count, 3);
	assert_string_equal(recording->sampled_threads[0].name, "main");
	assert_int_equal(recording->samples[0].process, 0);
	assert_int_equal(recording->samples[0].thread, 0);
	assert_int_equal(recording->samples[0].level, 3);
	same(recording->samples[0].weight, 1000);
	assert_string_equal(memory_of(recording, 0)->name, "places.c:19 (place_leaf)");
	assert_int_equal(memory_of(recording, 0)->process, 0);
	assert_string_equal(recording->codes[recording->samples[0].code].function, "place_outer");
	assert_ptr_equal(memory_of(recording, 1), memory_of(recording, 0));
	assert_int_equal(recording->samples[1].process, 1);
	assert_int_equal(memory_of(recording, 2)->kind, FM_MEMORY_UNKNOWN);
	assert_int_equal(recording->samples[2].process, 2);
	fm_recording_free(recording);
}

/* The rate of ticks is taken from the process where it is believable. */
static void clocks_are_checked(void **state)
{
	struct maker_process *slow, *broken;
	struct fm_recording *recording;

	(void)state;
	maker_begin(&maker);
	slow = maker_process(&maker, 1, 0, 0, 0);
	broken = maker_process(&maker, 2, 0, 0, 0);
	slow->head.last_ticks = slow->head.first_ticks + 1010 * MS;
	broken->head.last_ticks = broken->head.first_ticks + (uint64_t)90000 * MS;
	maker_sample(slow, 1, 505 * MS, 1, 1, 0);
	maker_sample(broken, 1, 506 * MS, 1, 1, 0);
	recording = read_parts();
	same(recording->samples[0].at, 0.5);
	same(recording->samples[1].at, 0.506);
	fm_recording_free(recording);
}

/* Recovery */

static void make_unfinished(char *path, size_t size)
{
	struct fm_recording *recording = fm_recording_create();
	struct fm_error error;

	snprintf(path, size, "%s.fathom", maker.folder);
	snprintf(recording->sampling.sampler, sizeof(recording->sampling.sampler), "burst");
	snprintf(recording->sampling.state, sizeof(recording->sampling.state), "unfinished");
	snprintf(recording->sampling.parts, sizeof(recording->sampling.parts), "%s", strrchr(maker.folder, '/') + 1);
	fm_recording_add(recording, calibration)->level = 2;
	assert_int_equal(fm_store_save(path, recording, &error), 0);
	fm_recording_free(recording);
}

static void what_was_cut_short_is_recovered(void **state)
{
	struct maker_process *process;
	struct fm_recording *recording;
	struct fm_error error;
	char path[600], session[600], remark[500];
	int file;

	(void)state;
	maker_begin(&maker);
	process = maker_process(&maker, 2000000000, 0, 0, 0); /* no such process lives */
	maker_sample(process, 1, 5 * MS, 1, 1, 0);
	maker_write(&maker);
	make_unfinished(path, sizeof(path));
	snprintf(session, sizeof(session), "%s/session", maker.folder);
	/* somebody is at work */
	file = open(session, O_RDONLY);
	assert_int_equal(flock(file, LOCK_EX), 0);
	assert_int_equal(fm_store_load(path, &recording, &error), 0);
	assert_int_equal(fm_sampled_recover(path, recording, remark, sizeof(remark), &error), 0);
	assert_int_equal(recording->samples_count, 1);
	assert_non_null(strstr(remark, "still being recorded"));
	assert_string_equal(recording->sampling.state, "unfinished");
	fm_recording_free(recording);
	close(file);
	/* and is gone */
	assert_int_equal(fm_store_load(path, &recording, &error), 0);
	assert_int_equal(recording->samples_count, 0);
	assert_int_equal(fm_sampled_recover(path, recording, remark, sizeof(remark), &error), 0);
	assert_non_null(strstr(remark, "made from its parts, and kept"));
	assert_int_not_equal(access(maker.folder, F_OK), 0);
	fm_recording_free(recording);
	/* for good */
	assert_int_equal(fm_store_load(path, &recording, &error), 0);
	assert_string_equal(recording->sampling.state, "recovered");
	assert_int_equal(recording->samples_count, 1);
	assert_int_equal(recording->calibration_count, 1);
	assert_int_equal(fm_sampled_recover(path, recording, remark, sizeof(remark), &error), 0);
	assert_string_equal(remark, "");
	fm_recording_free(recording);
	/* without its parts nothing can be said */
	make_unfinished(path, sizeof(path));
	assert_int_equal(fm_store_load(path, &recording, &error), 0);
	assert_int_equal(fm_sampled_recover(path, recording, remark, sizeof(remark), &error), -ENOENT);
	/* and nothing outside of its folder is looked at */
	snprintf(recording->sampling.parts, sizeof(recording->sampling.parts), "../tmp/x");
	assert_int_equal(fm_sampled_recover(path, recording, remark, sizeof(remark), &error), -EBADMSG);
	fm_recording_free(recording);
	unlink(path);
}

/* Sessions */

static void folders_are_made_with_care(void **state)
{
	struct fm_sampling_wishes wishes = {.overhead = 0.03, .max_bytes = 1 << 20, .delay = 1, .duration = 2};
	struct fm_session_folder folder, again;
	struct fm_session_environment saved;
	struct fm_error error;
	char base[] = "/tmp/fathom-session-XXXXXX", path[100], other[200];
	struct stat there;
	bool locked;
	int file;

	(void)state;
	assert_non_null(mkdtemp(base));
	snprintf(path, sizeof(path), "%s/a.fathom", base);
	assert_int_equal(fm_session_create(path, &wishes, &folder, &error), 0);
	assert_int_equal(stat(folder.path, &there), 0);
	assert_int_equal(there.st_mode & 0777, 0700);
	assert_int_equal(folder.session->magic, FM_SESSION_MAGIC);
	assert_true(folder.session->ticks_per_second > 1e7);
	assert_true(folder.session->nodes >= 1 && folder.session->coarse_step >= 1);
	assert_true(folder.session->children && folder.session->track && folder.session->arguments);
	assert_int_equal(fm_session_is_locked(folder.path, &locked), 0);
	assert_true(locked);
	/* two at once are not possible */
	assert_int_equal(fm_session_create(path, &wishes, &again, &error), -EBUSY);
	/* the environment is the program's alone */
	setenv("LD_PRELOAD", "libother.so", 1);
	assert_int_equal(fm_session_export(&folder, "/lib/ours.so", &saved), 0);
	assert_string_equal(getenv("LD_PRELOAD"), "/lib/ours.so:libother.so");
	assert_string_equal(getenv(FM_RECORD_VARIABLE), folder.path);
	fm_session_restore(&saved);
	assert_string_equal(getenv("LD_PRELOAD"), "libother.so");
	assert_null(getenv(FM_RECORD_VARIABLE));
	unsetenv("LD_PRELOAD");
	assert_int_equal(fm_session_export(&folder, "/lib/ours.so", &saved), 0);
	assert_string_equal(getenv("LD_PRELOAD"), "/lib/ours.so");
	fm_session_restore(&saved);
	assert_null(getenv("LD_PRELOAD"));
	/* what was left over is replaced */
	fm_session_close(&folder);
	assert_int_equal(fm_session_create(path, &wishes, &folder, &error), 0);
	fm_session_close(&folder);
	/* but not what somebody else put there */
	snprintf(other, sizeof(other), "%s.parts/precious", path);
	file = open(other, O_CREAT | O_WRONLY, 0600);
	assert_true(file >= 0);
	close(file);
	assert_int_equal(fm_session_create(path, &wishes, &again, &error), -EEXIST);
	fm_session_remove(folder.path);
	assert_int_equal(access(other, F_OK), 0);
	unlink(other);
	rmdir(folder.path);
	/* links are not followed */
	assert_int_equal(symlink("/tmp", folder.path), 0);
	assert_int_equal(fm_session_create(path, &wishes, &again, &error), -EEXIST);
	unlink(folder.path);
	rmdir(base);
}

/* A counter that moves in steps is told from a fine one, also where a hypervisor scales it. */
static void steps_of_the_time_stamp(void **state)
{
	static const double steps[] = {1, 2, 26, 24.5, 10, 100.3};
	static const uint32_t least[] = {1, 1, 26, 24, 10, 99}, most[] = {1, 1, 26, 25, 10, 102};
	uint32_t differences[2048];
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 3);
	for (unsigned i = 0; i < 6; i++) {
		uint32_t step;

		for (unsigned k = 0; k < 2048; k++) {
			/* begins anywhere, takes 20 to 90 ticks; some are disturbed */
			double begin = 1e6 * fm_random_uniform(&random),
			       end = begin + 20 + 70 * fm_random_uniform(&random);
			uint64_t first = (uint64_t)(begin / steps[i]), last = (uint64_t)(end / steps[i]);

			if (k % 50 == 0)
				last += fm_random_below(&random, 1000);
			differences[k] =
			    (uint32_t)((uint64_t)((double)last * steps[i]) - (uint64_t)((double)first * steps[i]));
		}
		step = fm_ticks_step_of(differences, 2048);
		if (step < least[i] || step > most[i])
			fail_msg("step %g was taken for %u", steps[i], step);
	}
	assert_in_range(fm_ticks_step(), 1, 400);
}

/* What is no folder of ours is refused; broken entries end their chunk. */
static void damage_is_seen(void **state)
{
	struct maker_process *process;
	struct fm_recording *recording = fm_recording_create();
	struct fm_stream_entry *entry;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_sampled_read("/nowhere", recording, &error), -ENOENT);
	assert_int_equal(fm_sampled_read("/tmp", recording, &error), -ENOENT);
	fm_recording_free(recording);
	maker_begin(&maker);
	process = maker_process(&maker, 1, 0, 0, 0);
	maker_sample(process, 1, 1 * MS, 1, 1, 0);
	entry = (struct fm_stream_entry *)maker_entry(process, FM_STREAM_RELEASE, 1, 2 * MS, 16) - 1;
	entry->words = 1;
	maker_sample(process, 1, 3 * MS, 1, 1, 0);
	maker_sample(process, 2, 4 * MS, 1, 1, 0);
	recording = read_parts();
	assert_int_equal(recording->samples_count, 2);
	assert_string_equal(recording->sampled_processes[0].remark, "1 pieces of its file are damaged");
	fm_recording_free(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(entries_come_in_order),
	    cmocka_unit_test(everything_has_its_table),
	    cmocka_unit_test(allocations_are_pooled),
	    cmocka_unit_test(layers_hide_each_other),
	    cmocka_unit_test(forks_inherit),
	    cmocka_unit_test(engine_and_runtime_are_one_process),
	    cmocka_unit_test(clocks_are_checked),
	    cmocka_unit_test(what_was_cut_short_is_recovered),
	    cmocka_unit_test(folders_are_made_with_care),
	    cmocka_unit_test(damage_is_seen),
	    cmocka_unit_test(steps_of_the_time_stamp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
