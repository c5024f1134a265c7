/* The machine called host: profiles of many kinds of machines, each made into a simulated one that can be written, read
   back and used. */
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "profile/simulated_host.h"
#include "simulator/hierarchy.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

static struct fm_figure figure(double value)
{
	return fm_figure_make(value, value, value, "", FM_ORIGIN_measured, "test", 3);
}

/* CPUs under one cache of each level, as the topology has it. */
struct sharing {
	unsigned first, second, third;
};

static void invent_level(struct fm_machine *profile, const char *name, uint64_t bytes, unsigned ways,
                         unsigned shared_by, double effective, double cycles)
{
	struct fm_level *level = &profile->levels[profile->level_count++];

	snprintf(level->name, sizeof(level->name), "%s", name);
	level->advertised_bytes = bytes;
	level->shared_by = shared_by;
	level->effective_bytes = bytes ? figure(effective) : fm_figure_unavailable("endless");
	level->latency_cycles = figure(cycles);
	level->latency_ns = figure(cycles / 2);
	if (bytes)
		profile->topology.caches[profile->topology.cache_count++] =
		    (struct fm_cache){profile->level_count, bytes, 64, ways, shared_by};
}

/* 32 KiB, 1 MiB and 32 MiB of which 24 show; 2 GHz; 80 GB/s of memory for all, 10 for one. */
static struct fm_bandwidth bandwidths[2];

static struct fm_machine invent(unsigned cpus, unsigned cores, unsigned packages, unsigned nodes,
                                struct sharing sharing)
{
	struct fm_machine profile = {0};

	strcpy(profile.taken, "2026-01-02T03:04:05Z");
	strcpy(profile.topology.processor, "Some Processor with a long name and a Number @ 2.00GHz");
	profile.topology.cpus = cpus;
	profile.topology.cores = cores;
	profile.topology.packages = packages;
	profile.topology.nodes = nodes;
	profile.frequency_ghz = figure(2);
	invent_level(&profile, "L1", 32 * KIB, 8, sharing.first, 33 * KIB, 4);
	invent_level(&profile, "L2", 1 * MIB, 16, sharing.second, 1 * MIB, 14);
	invent_level(&profile, "L3", 32 * MIB, 16, sharing.third, 24 * MIB, 50);
	invent_level(&profile, "memory", 0, 0, 0, 0, 200);
	bandwidths[0] = (struct fm_bandwidth){.level = 3, .kernel = FM_STREAM_load, .threads = 1, .gbs = figure(10)};
	bandwidths[1] = (struct fm_bandwidth){.level = 3, .kernel = FM_STREAM_load, .threads = cpus, .gbs = figure(80)};
	profile.bandwidths = bandwidths;
	profile.bandwidth_count = 2;
	return profile;
}

static struct fm_machine_description describe(const struct fm_machine *profile)
{
	struct fm_machine_description description;
	struct fm_error error;

	if (fm_description_from_profile(profile, &description, &error))
		fail_msg("%s", error.message);
	return description;
}

/* As the engine gets it: through a file. */
static void round_trip(const struct fm_machine_description *description)
{
	struct fm_machine_description back, expected = *description;
	char path[] = "/tmp/fathom-host-XXXXXX";
	int descriptor = mkstemp(path);
	struct fm_error error;

	assert_true(descriptor >= 0);
	close(descriptor);
	unlink(path);
	if (fm_description_write(description, path, &error) || fm_description_read(path, &back, &error))
		fail_msg("%s", error.message);
	unlink(path);
	memcpy(expected.name, back.name, sizeof(back.name));
	memcpy(expected.source, back.source, sizeof(back.source));
	assert_string_equal(expected.title, back.title);
	memcpy(expected.title, back.title, sizeof(back.title));
	for (unsigned i = 0; i < expected.cache_count; i++) {
		assert_int_equal(expected.caches[i].bytes, back.caches[i].bytes);
		assert_int_equal(expected.caches[i].available, back.caches[i].available);
		assert_int_equal(expected.caches[i].shared_by, back.caches[i].shared_by);
		assert_int_equal(expected.caches[i].ways, back.caches[i].ways);
		assert_int_equal(expected.caches[i].latency, back.caches[i].latency);
	}
	assert_int_equal(expected.cache_count, back.cache_count);
	assert_int_equal(expected.threads, back.threads);
	assert_int_equal(expected.cores, back.cores);
	assert_int_equal(expected.sockets, back.sockets);
	assert_int_equal(expected.physical, back.physical);
	assert_int_equal(expected.memory_remote_latency, back.memory_remote_latency);
	assert_near(expected.remote_gbs, back.remote_gbs, 1e-6);
}

/* Random accesses on all hardware threads; every line loaded or stored is somewhere afterwards. */
static void use(const struct fm_machine_description *description)
{
	struct fm_hierarchy *hierarchy;
	struct fm_random random;
	struct fm_error error;
	uint64_t accesses = 0, answered = 0;
	unsigned cpus = fm_description_cpus(description);

	if (fm_hierarchy_create(description, &hierarchy, &error))
		fail_msg("%s", error.message);
	assert_int_equal(hierarchy->core_count, cpus);
	fm_random_seed(&random, 1);
	for (unsigned i = 0; i < 20000; i++) {
		/* few of many, so that it stays short */
		unsigned cpu = (unsigned)fm_random_below(&random, cpus < 16 ? cpus : 16) * (cpus < 16 ? 1 : cpus / 16);
		struct fm_simulated_core *core = fm_hierarchy_core(hierarchy, cpu);

		assert_non_null(core);
		fm_hierarchy_access(hierarchy, core, fm_random_below(&random, MIB), 8,
		                    (enum fm_access)fm_random_below(&random, 2));
	}
	for (unsigned i = 0; i < cpus; i++) {
		const struct fm_core_counts *counts = &hierarchy->cores[i].counts;

		accesses += counts->loads + counts->stores + counts->splits;
		answered += counts->caches[0].load_hits + counts->caches[0].load_misses + counts->caches[0].store_hits +
		            counts->caches[0].store_misses;
	}
	assert_in_range(accesses, 20000, 24000);
	assert_int_equal(answered, accesses);
	/* the last hardware thread is there, and no further */
	assert_non_null(fm_hierarchy_core(hierarchy, cpus - 1));
	assert_null(fm_hierarchy_core(hierarchy, cpus));
	if (description->threads > 1) {
		unsigned sibling = description->sockets * description->cores;

		fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, 0), 1ull << 32, 8, FM_ACCESS_STORE);
		assert_int_equal(fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, sibling), 1ull << 32, 8,
		                                     FM_ACCESS_STORE),
		                 0);
	}
	fm_hierarchy_destroy(hierarchy);
}

static void machines_of_all_shapes(void **state)
{
	static const struct {
		const char *what;
		unsigned cpus, cores, packages, nodes;
		struct sharing sharing;
		unsigned sockets, per_socket, threads, last_shared; /* expected */
	} cases[] = {
	    {"laptop with two threads per core", 8, 4, 1, 1, {2, 2, 8}, 1, 4, 2, 4},
	    {"two sockets of 64 cores of two threads", 256, 128, 2, 2, {2, 2, 128}, 2, 64, 2, 64},
	    {"two sockets of 64 cores", 128, 128, 2, 2, {1, 1, 64}, 2, 64, 1, 64},
	    {"eight cores around each last cache", 64, 32, 1, 1, {2, 2, 16}, 1, 32, 2, 8},
	    {"the same on two sockets", 128, 64, 2, 2, {2, 2, 16}, 2, 32, 2, 8},
	    {"virtual, three CPUs in three packages", 3, 3, 3, 1, {1, 1, 1}, 1, 3, 1, 1},
	    {"virtual, caches of two and one", 3, 3, 1, 1, {1, 1, 2}, 1, 3, 1, 2},
	    {"virtual, cores of two threads and one", 5, 3, 1, 1, {2, 2, 5}, 1, 3, 2, 3},
	    {"virtual, threads that look like cores", 2, 2, 1, 1, {2, 2, 2}, 1, 1, 2, 1},
	    {"virtual, three CPUs on two nodes", 3, 3, 1, 2, {1, 1, 3}, 2, 2, 1, 2},
	    {"one CPU", 1, 1, 1, 1, {1, 1, 1}, 1, 1, 1, 1},
	    {"six cores of two threads, eight of one", 20, 14, 1, 1, {2, 2, 20}, 1, 14, 2, 14},
	    {"second cache of four cores", 8, 8, 1, 1, {1, 4, 8}, 1, 8, 1, 8},
	    {"eight threads per core", 64, 8, 1, 1, {8, 8, 64}, 1, 8, 8, 8},
	    {"more than can be simulated", 1024, 512, 8, 8, {2, 2, 128}, 8, 16, 2, 16},
	    {"more nodes than sockets can be", 128, 128, 4, 16, {1, 1, 8}, 4, 32, 1, 8},
	    {"nothing known", 0, 0, 0, 0, {0, 0, 0}, 1, 1, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_machine profile =
		    invent(cases[i].cpus, cases[i].cores, cases[i].packages, cases[i].nodes, cases[i].sharing);
		struct fm_machine_description description = describe(&profile);

		print_message("%s: %u sockets of %u cores of %u threads; %s\n", cases[i].what, description.sockets,
		              description.cores, description.threads, description.title);
		assert_int_equal(description.sockets, cases[i].sockets);
		assert_int_equal(description.cores, cases[i].per_socket);
		assert_int_equal(description.threads, cases[i].threads);
		assert_int_equal(description.cache_count, 3);
		assert_int_equal(description.caches[0].shared_by, 1);
		assert_int_equal(description.caches[1].shared_by, 1);
		assert_int_equal(description.caches[2].shared_by, cases[i].last_shared);
		round_trip(&description);
		use(&description);
	}
}

/* Advertised sets and ways, measured capacity. A level that was not seen, or is simulated otherwise, is named. */
static void caches_as_they_are(void **state)
{
	struct fm_machine profile = invent(8, 8, 1, 1, (struct sharing){1, 4, 8});
	struct fm_machine_description description = describe(&profile);

	(void)state;
	assert_int_equal(description.caches[0].bytes, 32 * KIB);
	assert_int_equal(description.caches[0].available, 0);
	assert_int_equal(description.caches[1].bytes, 1 * MIB);
	assert_int_equal(description.caches[1].available, 0);
	assert_int_equal(description.caches[2].bytes, 32 * MIB);
	assert_int_equal(description.caches[2].ways, 16);
	assert_int_equal(description.caches[2].available, 24 * MIB);
	assert_true(description.physical);
	assert_non_null(strstr(description.title, "; L2 as if private"));
	/* a third level that is not slower than the second stays all the same */
	profile.levels[2].latency_cycles = figure(13);
	assert_int_equal(describe(&profile).cache_count, 3);
	profile.levels[2].latency_cycles = fm_figure_unavailable("not seen");
	description = describe(&profile);
	assert_int_equal(description.cache_count, 2);
	assert_non_null(strstr(description.title, "; L3 not seen"));
	round_trip(&description);
	/* 36 MiB that 11 ways do not divide */
	profile = invent(8, 8, 1, 1, (struct sharing){1, 1, 8});
	profile.levels[2].advertised_bytes = profile.topology.caches[2].bytes = 36 * MIB;
	profile.topology.caches[2].ways = 11;
	description = describe(&profile);
	assert_int_equal(description.caches[2].bytes, 36 * MIB);
	assert_int_equal(description.caches[2].ways, 9);
	use(&description);
}

/* What was measured of the core and of translation is in the description, what was not stays usual. */
static void measured_cores_are_used(void **state)
{
	struct fm_machine profile = invent(4, 4, 1, 1, (struct sharing){1, 1, 4});
	struct fm_machine_description before = describe(&profile), description;

	(void)state;
	profile.core_measured = true;
	for (unsigned i = 0; i < FM_CORE_PARAMETERS; i++)
		profile.core[i] = fm_figure_unavailable("not seen");
	for (unsigned i = 0; i < FM_TRANSLATION_PARAMETERS; i++)
		profile.translation[i] = fm_figure_unavailable("not seen");
	description = describe(&profile);
	/* without a penalty, branches would be free */
	assert_in_range(before.core.misprediction, 11, 20);
	assert_memory_equal(&description.core, &before.core, sizeof(before.core));
	assert_memory_equal(description.tlbs, before.tlbs, sizeof(before.tlbs));
	/* 6 per cycle, beside others */
	profile.core[FM_CORE_width] = fm_figure_make(4.5, 4.3, 5.6, "", FM_ORIGIN_measured, "kernels", 9);
	profile.core[FM_CORE_window] = figure(249);
	profile.core[FM_CORE_float_add_latency] = figure(2.95);
	profile.core[FM_CORE_float_add_interval] = figure(0.52);
	profile.core[FM_CORE_divide_latency] = figure(13.7);
	profile.translation[FM_TRANSLATION_tlb1_entries] =
	    fm_figure_make(68, 64, 72, "pages", FM_ORIGIN_measured, "kernels", 9);
	profile.translation[FM_TRANSLATION_tlb1_penalty] = figure(6.9);
	description = describe(&profile);
	assert_int_equal(description.core.width, 6);
	assert_int_equal(description.core.window, 249);
	assert_int_equal(description.core.load_buffers, before.core.load_buffers);
	assert_true(description.core.operations[FM_OPERATION_float_add].given);
	assert_int_equal(description.core.operations[FM_OPERATION_float_add].latency, 3);
	assert_int_equal(description.core.operations[FM_OPERATION_float_add].interval, 52);
	/* of which only the latency is known */
	assert_false(description.core.operations[FM_OPERATION_divide].given);
	assert_int_equal(description.tlbs[0].entries, 64);
	assert_int_equal(description.tlbs[0].penalty, 7);
	assert_int_equal(description.tlbs[1].entries, before.tlbs[1].entries);
	round_trip(&description);
}

/* Of a known family: what was measured, else what is published, else what is usual. */
static void published_cores_stand_in(void **state)
{
	struct fm_machine profile = invent(4, 4, 1, 1, (struct sharing){1, 1, 4});
	struct fm_machine_description before = describe(&profile), description;

	(void)state;
	strcpy(profile.topology.vendor, "AuthenticAMD");
	profile.topology.family = 25;
	profile.topology.model = 1;
	description = describe(&profile);
	assert_int_equal(description.core.width, 6);
	assert_int_equal(description.core.window, 256);
	assert_int_equal(description.core.load_buffers, 116);
	assert_int_equal(description.core.store_buffers, 64);
	assert_int_equal(description.core.fill_buffers, 24);
	assert_int_equal(description.core.super_queue, 64);
	assert_int_equal(description.core.load_ports, 3);
	assert_int_equal(description.core.store_ports, 2);
	assert_int_equal(description.core.operations[FM_OPERATION_float_fused].latency, 4);
	assert_int_equal(description.core.operations[FM_OPERATION_float_fused].interval, 50);
	assert_int_equal(description.tlbs[0].entries, 64);
	assert_int_equal(description.tlbs[1].entries, 2048);
	/* nobody publishes the cost of a walk */
	assert_int_equal(description.tlbs[1].penalty, before.tlbs[1].penalty);
	round_trip(&description);
	profile.core_measured = true;
	profile.core[FM_CORE_window] = figure(249);
	profile.core[FM_CORE_store_buffers] = fm_figure_make(40, 10, 90, "stores", FM_ORIGIN_measured, "kernels", 9);
	profile.outstanding_misses = figure(17);
	description = describe(&profile);
	assert_int_equal(description.core.window, 249);
	assert_int_equal(description.core.store_buffers, 64);
	assert_int_equal(description.core.load_buffers, 116);
	assert_int_equal(description.core.fill_buffers, 17);
}

/* What was measured of the prefetchers, and of lines on their way. */
static void measured_prefetchers_are_used(void **state)
{
	struct fm_machine profile = invent(4, 4, 1, 1, (struct sharing){1, 1, 4});
	struct fm_machine_description before = describe(&profile), description;

	(void)state;
	profile.prefetch_measured = true;
	for (unsigned i = 0; i < FM_PREFETCH_PARAMETERS; i++)
		profile.prefetch[i] = fm_figure_unavailable("not seen");
	description = describe(&profile);
	assert_memory_equal(&description.core, &before.core, sizeof(before.core));
	assert_memory_equal(description.caches, before.caches, sizeof(before.caches));
	profile.prefetch[FM_PREFETCH_prefetch_adjacent] = figure(0.9);
	profile.prefetch[FM_PREFETCH_prefetch_streams] = figure(12);
	profile.prefetch[FM_PREFETCH_prefetch_distance] = figure(11);
	profile.prefetch[FM_PREFETCH_prefetch_beyond] = figure(5);
	profile.prefetch[FM_PREFETCH_prefetch_crosses] = figure(0.1);
	profile.prefetch[FM_PREFETCH_prefetch_strides] = figure(2);
	profile.prefetch[FM_PREFETCH_prefetch_instruction_strides] = figure(28);
	profile.prefetch[FM_PREFETCH_prefetch_jumps] = figure(2);
	profile.prefetch[FM_PREFETCH_fill_buffers] = figure(13.7);
	profile.prefetch[FM_PREFETCH_queue] = figure(40.2 + before.core.super_queue);
	description = describe(&profile);
	assert_int_equal(description.caches[1].adjacent, 1);
	assert_int_equal(description.caches[1].streams, 12);
	assert_int_equal(description.caches[1].distance, 11);
	assert_int_equal(description.caches[1].beyond, 5);
	assert_int_equal(description.caches[1].crosses, 0);
	assert_int_equal(description.caches[1].strides, 2);
	assert_int_equal(description.caches[1].jumps, 2);
	profile.prefetch[FM_PREFETCH_prefetch_pages] = figure(32);
	assert_int_equal(describe(&profile).caches[1].streams, 32);
	profile.prefetch[FM_PREFETCH_prefetch_pages] = figure(8);
	assert_int_equal(describe(&profile).caches[1].streams, 12);
	assert_int_equal(description.core.fill_buffers, 14);
	assert_int_equal(description.core.super_queue, 40 + before.core.super_queue);
	round_trip(&description);
	profile.prefetch[FM_PREFETCH_prefetch_streams] = figure(0);
	profile.prefetch[FM_PREFETCH_prefetch_distance] = figure(0);
	description = describe(&profile);
	assert_int_equal(description.caches[1].streams, 0);
	use(&description);
}

/* Columns of a matrix whose rows are a power of two apart meet few sets of the first two caches: nothing stays in them
   until the next column, which is on the same lines. Rows of one line more are no such case. */
static void columns_conflict(void **state)
{
	enum { ROWS = 2048, COLUMNS = 64 };
	struct fm_machine profile = invent(4, 4, 1, 1, (struct sharing){1, 1, 4});

	(void)state;
	/* less than advertised, as it is measured: what cannot be a power of two of sets is none of ways */
	profile.levels[1].effective_bytes = figure(900 * KIB);
	for (unsigned more = 0; more < 2; more++) {
		struct fm_machine_description description = describe(&profile);
		struct fm_hierarchy *hierarchy;
		const struct fm_core_counts *counts;
		struct fm_error error;
		double share[3];

		assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
		counts = &fm_hierarchy_core(hierarchy, 0)->counts;
		for (uint64_t column = 0; column < COLUMNS; column++)
			for (uint64_t row = 0; row < ROWS; row++)
				fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, 0),
				                    (1ull << 32) + (row * (ROWS + 8 * more) + column) * 8, 8,
				                    FM_ACCESS_LOAD);
		for (unsigned i = 0; i < 3; i++)
			share[i] = (double)counts->caches[i].load_misses / (ROWS * COLUMNS);
		print_message("rows of %u: %.3f miss L1, %.3f L2, %.3f L3\n", ROWS + 8 * more, share[0], share[1],
		              share[2]);
		assert_true(share[0] > 0.99);
		if (more)
			assert_true(share[1] < 0.2);
		else
			assert_true(share[1] > 0.99);
		assert_near(share[2], 0.125, 0.01);
		fm_hierarchy_destroy(hierarchy);
	}
}

/* What a disturbed measurement lacks is taken from what it has. */
static void bandwidth_that_is_missing(void **state)
{
	struct fm_machine profile = invent(4, 4, 1, 1, (struct sharing){1, 1, 4});

	(void)state;
	bandwidths[0].kernel = bandwidths[1].kernel = FM_STREAM_store;
	/* each line is read and written */
	assert_near(describe(&profile).memory_core_gbs, 20, 1e-9);
	assert_near(describe(&profile).memory_gbs, 160, 1e-9);
	profile.bandwidth_count = 0;
	profile.outstanding_misses = figure(10);
	assert_near(describe(&profile).memory_core_gbs, 10 * 64 / 100.0, 1e-9);
	profile.outstanding_misses = fm_figure_unavailable("disturbed");
	assert_true(describe(&profile).memory_core_gbs > 1);
}

/* Memory of other nodes: as measured between them, else assumed and said so. */
static void memory_of_other_nodes(void **state)
{
	struct fm_machine profile = invent(16, 16, 2, 2, (struct sharing){1, 1, 8});
	struct fm_machine_description description = describe(&profile);
	struct fm_numa_pair pairs[] = {{0, 0, 8, figure(50), figure(90)},
	                               {0, 1, 8, figure(20), figure(150)},
	                               {1, 0, 8, figure(24), figure(174)},
	                               {1, 1, 8, figure(54), figure(90)}};
	struct fm_hierarchy *hierarchy;
	struct fm_error error;

	(void)state;
	assert_int_equal(description.sockets, 2);
	assert_int_equal(description.memory_remote_latency, 340);
	assert_near(description.memory_gbs, 40, 1e-9);
	assert_near(description.remote_gbs, 20, 1e-9);
	assert_non_null(strstr(description.title, "remote memory assumed"));
	profile.numa = pairs;
	profile.numa_count = 4;
	description = describe(&profile);
	assert_int_equal(description.sockets, 2);
	assert_int_equal(description.cores, 8);
	/* 162 ns instead of 90, 22 GB/s */
	assert_int_equal(description.memory_remote_latency, 360);
	assert_near(description.memory_gbs, 52, 1e-9);
	assert_near(description.remote_gbs, 22, 1e-9);
	assert_near(description.remote_core_gbs, 10 / 1.8, 1e-9);
	assert_null(strstr(description.title, "assumed"));
	round_trip(&description);
	assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
	fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, 0), 0x10000, 8, FM_ACCESS_LOAD);
	assert_int_equal(fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, 8), 0x10040, 8, FM_ACCESS_LOAD),
	                 FM_SERVED_REMOTE);
	fm_hierarchy_destroy(hierarchy);
	/* a node of memory alone is no socket */
	profile.numa_count = 2;
	assert_int_equal(describe(&profile).sockets, 1);
	/* one node is one socket, however many packages a hypervisor shows */
	profile = invent(16, 16, 16, 1, (struct sharing){1, 1, 1});
	assert_int_equal(describe(&profile).sockets, 1);
	assert_near(describe(&profile).memory_gbs, 80, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(machines_of_all_shapes),        cmocka_unit_test(caches_as_they_are),
	    cmocka_unit_test(memory_of_other_nodes),         cmocka_unit_test(measured_cores_are_used),
	    cmocka_unit_test(published_cores_stand_in),      cmocka_unit_test(columns_conflict),
	    cmocka_unit_test(measured_prefetchers_are_used), cmocka_unit_test(bandwidth_that_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
