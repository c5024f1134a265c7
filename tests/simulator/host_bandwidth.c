/* The machine called host moves lines as fast as the profile says: the stream kernels, run on a host that was made of a
   profile, reach what that has for them. Where a kernel is not sure, what the others say of it. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile/host_bandwidth.h"
#include "profile/simulated_host.h"
#include "simulator/core.h"

enum { KIB = 1 << 10, MIB = 1 << 20, LINE = 64, LEVELS = 4, POINTS = 64 };

#define GHZ 3.0

/* ns that each level takes to deliver a line and to accept one. */
struct speed {
	const char *name;
	uint64_t bytes; /* of a cache */
	uint64_t used;  /* by a kernel at this level */
	double cycles;
	double read, written;
};

static const struct speed speeds[LEVELS] = {{"L1", 32 * KIB, 16 * KIB, 4, 0.2, 0.1},
                                            {"L2", 512 * KIB, 160 * KIB, 14, 0.5, 0.8},
                                            {"L3", 4 * MIB, 2 * MIB, 60, 2, 0.5},
                                            {"memory", 0, 16 * MIB, 300, 4, 3}};

static const enum fm_stream_kernel_index kernels[] = {FM_STREAM_load,        FM_STREAM_store, FM_STREAM_copy,
                                                      FM_STREAM_update,      FM_STREAM_daxpy, FM_STREAM_stream_triad,
                                                      FM_STREAM_vector_triad};

enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

static struct fm_figure figure(double value, double width)
{
	return fm_figure_make(value, value * (1 - fmin(0.9, width)), value * (1 + width), "", FM_ORIGIN_measured,
	                      "test", 3);
}

static double expected_gbs(const struct speed *speed, const struct fm_stream_kernel *kernel)
{
	double lines_read = (kernel->loaded_bytes + kernel->write_allocate_bytes) / 8.0;

	return LINE * (kernel->loaded_bytes + kernel->stored_bytes) / 8.0 /
	       (lines_read * speed->read + kernel->stored_bytes / 8.0 * speed->written);
}

static struct fm_bandwidth points[POINTS];

/* All kernels at all levels, each within 3 %. */
static struct fm_machine invent(void)
{
	struct fm_machine profile = {.frequency_ghz = figure(GHZ, 0), .level_count = LEVELS, .bandwidths = points};

	strcpy(profile.topology.processor, "Some Processor");
	strcpy(profile.taken, "2026-01-02T03:04:05Z");
	profile.topology.cpus = profile.topology.cores = profile.topology.packages = profile.topology.nodes = 1;
	for (unsigned i = 0; i < LEVELS; i++) {
		struct fm_level *level = &profile.levels[i];

		snprintf(level->name, sizeof(level->name), "%s", speeds[i].name);
		level->advertised_bytes = speeds[i].bytes;
		level->shared_by = 1;
		level->effective_bytes =
		    speeds[i].bytes ? figure((double)speeds[i].bytes, 0.01) : fm_figure_unavailable("endless");
		level->latency_cycles = figure(speeds[i].cycles, 0.01);
		level->latency_ns = figure(speeds[i].cycles / GHZ, 0.01);
		if (speeds[i].bytes)
			profile.topology.caches[profile.topology.cache_count++] =
			    (struct fm_cache){i + 1, speeds[i].bytes, LINE, 8, 1};
		for (unsigned k = 0; k < KERNELS; k++)
			points[profile.bandwidth_count++] = (struct fm_bandwidth){
			    .level = i,
			    .kernel = kernels[k],
			    .isa = FM_ISA_avx512,
			    .threads = 1,
			    .gbs = figure(expected_gbs(&speeds[i], &fm_streams[kernels[k]]), 0.03)};
	}
	return profile;
}

static struct fm_bandwidth *point_of(unsigned level, enum fm_stream_kernel_index kernel)
{
	for (unsigned i = 0; i < POINTS; i++)
		if (points[i].level == level && points[i].kernel == kernel)
			return &points[i];
	fail();
	return NULL;
}

/* Once over its streams. */
static void pass(struct fm_core_timing *timing, const struct fm_stream_kernel *kernel, uint64_t stream_bytes)
{
	static const struct fm_instruction load = {.reads = 1, .writes = 2, .address_reads = 1},
	                                   store = {.reads = 3, .address_reads = 1},
	                                   advance = {.reads = 1, .writes = 1};
	const uint64_t base = 1ull << 32;
	/* the first stream is stored to; some kernels load it as well */
	unsigned first_loaded = kernel->write_allocate_bytes ? 1 : 0;

	for (uint64_t at = 0; at < stream_bytes; at += LINE) {
		for (unsigned i = 0; i < kernel->loads; i++) {
			struct fm_memory_access access = {base + (first_loaded + i) * (stream_bytes + 12288 + 256) + at,
			                                  LINE, FM_ACCESS_LOAD, 0};

			fm_core_execute(timing, &load, &access, 1);
		}
		if (kernel->stores) {
			struct fm_memory_access access = {base + at, LINE, FM_ACCESS_STORE, 0};

			fm_core_execute(timing, &store, &access, 1);
		}
		fm_core_execute(timing, &advance, NULL, 0);
	}
}

static double simulated_gbs(const struct fm_machine *profile, const struct fm_stream_kernel *kernel, uint64_t bytes)
{
	uint64_t stream_bytes = bytes / kernel->streams / 4096 * 4096, before = 0;
	unsigned passes = bytes < MIB ? 20 : 1;
	struct fm_machine_description description;
	struct fm_hierarchy *hierarchy;
	struct fm_core_timing *timing;
	struct fm_error error;
	double gbs;

	if (fm_description_from_profile(profile, &description, &error) ||
	    fm_hierarchy_create(&description, &hierarchy, &error) ||
	    fm_core_timing_create(hierarchy, 0, &timing, &error))
		fail_msg("%s", error.message);
	/* the first half leaves the caches as the second finds them */
	for (unsigned i = 0; i < 2 * passes; i++) {
		if (i == passes)
			before = fm_core_timing_counts(timing)->cycles;
		pass(timing, kernel, stream_bytes);
	}
	gbs = (double)(passes * stream_bytes) * (kernel->loaded_bytes + kernel->stored_bytes) / 8 * GHZ /
	      (double)(fm_core_timing_counts(timing)->cycles - before);
	fm_core_timing_destroy(timing);
	fm_hierarchy_destroy(hierarchy);
	return gbs;
}

/* Unless the test has made another one of it. */
static double expected_at(unsigned level, enum fm_stream_kernel_index kernel, double store_gbs)
{
	return kernel == FM_STREAM_store && store_gbs > 0 ? store_gbs
	                                                  : expected_gbs(&speeds[level], &fm_streams[kernel]);
}

static void check_level(const struct fm_machine *profile, unsigned level, double store_gbs)
{
	for (unsigned k = 0; k < KERNELS; k++) {
		const struct fm_stream_kernel *kernel = &fm_streams[kernels[k]];
		double expected = expected_at(level, kernels[k], store_gbs),
		       found = simulated_gbs(profile, kernel, speeds[level].used);

		print_message("%s %s: %.1f GB/s in the profile, %.1f simulated\n", speeds[level].name, kernel->name,
		              expected, found);
		assert_near(found, expected, 0.15 * expected);
	}
}

static void kernels_are_as_fast_as_measured(void **state)
{
	struct fm_machine profile = invent();

	(void)state;
	for (unsigned level = 1; level < LEVELS; level++)
		check_level(&profile, level, 0);
}

/* A neighbour came while the stores of the widest instructions were timed: they were half as fast as they are, and it
   shows. */
static void what_is_not_sure_comes_from_other_kernels(void **state)
{
	struct fm_machine profile = invent();
	struct fm_bandwidth *store = point_of(2, FM_STREAM_store);

	(void)state;
	store->gbs = figure(store->gbs.value / 2, 2);
	check_level(&profile, 2, 0);
}

/* … nor from loads that nobody is sure of, if narrower ones are. */
static void narrower_instructions_are_asked_first(void **state)
{
	struct fm_machine profile = invent();
	struct fm_bandwidth *load = point_of(2, FM_STREAM_load), *narrow = &points[profile.bandwidth_count++];

	(void)state;
	*narrow = *load;
	narrow->isa = FM_ISA_avx2;
	load->gbs = figure(load->gbs.value / 2, 2);
	assert_near(fm_host_gbs(&profile, FM_STREAM_load, 2, false), narrow->gbs.value, 1e-9);
	check_level(&profile, 2, 0);
}

/* What all kernels together say is between what each of them says. */
static void kernels_that_differ_are_weighed(void **state)
{
	struct fm_machine profile = invent();
	struct fm_bandwidth *store = point_of(1, FM_STREAM_store);
	double before = fm_host_line_times(&profile, 1, LINE).written, after;

	(void)state;
	assert_near(before, speeds[1].written, 0.01);
	store->gbs = figure(LINE / (LINE / store->gbs.value + 0.2), 0.03);
	after = fm_host_line_times(&profile, 1, LINE).written;
	assert_true(after > before + 0.02 && after < before + 0.15);
	profile.bandwidth_count = 0;
	assert_true(fm_host_line_times(&profile, 1, LINE).written == 0);
}

/* Stores alone are slower than reading and writing their lines takes: kernels that load as well do not show it. */
static void stores_ask_for_fewer_lines_at_a_time(void **state)
{
	struct fm_machine profile = invent();
	struct fm_bandwidth *store = point_of(3, FM_STREAM_store);
	struct fm_machine_description description;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_description_from_profile(&profile, &description, &error), 0);
	assert_true(description.store_core_gbs == 0);
	store->gbs = figure(0.7 * store->gbs.value, 0.03);
	check_level(&profile, 3, store->gbs.value);
	assert_int_equal(fm_description_from_profile(&profile, &description, &error), 0);
	assert_near(description.store_core_gbs, store->gbs.value, 1e-9);
	assert_int_equal(description.memory_write_percent, 75);
	/* nothing but stores tells of writing: then they are as slow as that is */
	for (unsigned i = 0; i < profile.bandwidth_count; i++)
		if (points[i].level == 3 && points[i].kernel != FM_STREAM_load && points[i].kernel != FM_STREAM_store)
			points[i].gbs = fm_figure_unavailable("not measured");
	assert_int_equal(fm_description_from_profile(&profile, &description, &error), 0);
	assert_true(description.store_core_gbs == 0 && description.memory_write_percent > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kernels_are_as_fast_as_measured),
	    cmocka_unit_test(what_is_not_sure_comes_from_other_kernels),
	    cmocka_unit_test(narrower_instructions_are_asked_first),
	    cmocka_unit_test(kernels_that_differ_are_weighed),
	    cmocka_unit_test(stores_ask_for_fewer_lines_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
