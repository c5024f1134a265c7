/* Peaks by threads and mixture, and latency beside traffic: between points of made-up machines. */
#include "measure/bandwidth_curve.h"
#include "profile/peak.h"
#include "streams/streams.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

static struct fm_figure figure(double value)
{
	return fm_figure_make(value, value * 0.98, value * 1.02, "GB/s", FM_ORIGIN_measured, "kernels", 12);
}

static struct fm_figure share(double value)
{
	return fm_figure_make(value, value, value, "", FM_ORIGIN_simulated, "exact", 1);
}

/* Bandwidths as a kernel counts them: what it loads and stores itself. */
struct given {
	enum fm_stream_kernel_index kernel;
	unsigned threads;
	double gbs;
};

static struct fm_machine *invent(const struct given *given, unsigned count)
{
	struct fm_machine *machine = calloc(1, sizeof(*machine));

	machine->level_count = 2;
	strcpy(machine->levels[0].name, "L1");
	strcpy(machine->levels[1].name, "memory");
	machine->bandwidths = calloc(count + 1, sizeof(*machine->bandwidths));
	machine->bandwidth_count = count;
	for (unsigned i = 0; i < count; i++)
		machine->bandwidths[i] = (struct fm_bandwidth){.level = 1,
		                                               .kernel = given[i].kernel,
		                                               .isa = FM_ISA_sse,
		                                               .threads = given[i].threads,
		                                               .gbs = figure(given[i].gbs)};
	return machine;
}

static double peak(const struct fm_machine *machine, unsigned threads, double written)
{
	struct fm_figure wanted = share(written);
	struct fm_peak found = fm_peak_find(machine, "memory", threads, &wanted);

	assert_true(found.gbs.available);
	assert_true(found.gbs.low <= found.gbs.value && found.gbs.value <= found.gbs.high);
	return found.gbs.value;
}

/* A core has 10 GB/s of reads and 8 of half writes; memory 60 and 40. */
static const struct given usual[] = {
    {FM_STREAM_load, 1, 10},
    {FM_STREAM_load, 2, 20},
    {FM_STREAM_load, 4, 40},
    {FM_STREAM_load, 8, 60},
    {FM_STREAM_daxpy, 1, 9},
    {FM_STREAM_daxpy, 2, 18},
    {FM_STREAM_daxpy, 4, 34},
    {FM_STREAM_daxpy, 8, 46},
    {FM_STREAM_update, 1, 8},
    {FM_STREAM_update, 2, 16},
    {FM_STREAM_update, 4, 30},
    {FM_STREAM_update, 8, 40},
    /* 9.6 GB/s with write-allocate */
    {FM_STREAM_stream_triad, 1, 7.2},
    {FM_STREAM_stream_triad, 8, 37.5},
};
enum { USUAL = sizeof(usual) / sizeof(usual[0]) };

static void shares_of_kernels(void **state)
{
	(void)state;
	assert_near(fm_kernel_write_share(FM_STREAM_load, false), 0, 1e-9);
	assert_near(fm_kernel_write_share(FM_STREAM_stream_triad, false), 0.25, 1e-9);
	assert_near(fm_kernel_write_share(FM_STREAM_copy, false), 1.0 / 3, 1e-9);
	assert_near(fm_kernel_write_share(FM_STREAM_daxpy, false), 1.0 / 3, 1e-9);
	assert_near(fm_kernel_write_share(FM_STREAM_update, false), 0.5, 1e-9);
	assert_near(fm_kernel_write_share(FM_STREAM_store, false), 0.5, 1e-9);
	assert_near(fm_kernel_write_share(FM_STREAM_store_nt, false), 1, 1e-9);
	assert_near(fm_kernel_write_share(FM_STREAM_store, true), 1, 1e-9);
	assert_near(fm_kernel_traffic_factor(FM_STREAM_store, false), 2, 1e-9);
	assert_near(fm_kernel_traffic_factor(FM_STREAM_stream_triad, false), 4.0 / 3, 1e-9);
	assert_near(fm_kernel_traffic_factor(FM_STREAM_stream_triad, true), 1, 1e-9);
	/* the mixtures of the curve rise from none to half */
	for (unsigned i = 1; i < FM_MIXES; i++)
		assert_true(fm_kernel_write_share(fm_mixes[i].kernel, false) >
		            fm_kernel_write_share(fm_mixes[i - 1].kernel, false));
	assert_near(fm_kernel_write_share(fm_mixes[0].kernel, false), 0, 1e-9);
	assert_near(fm_kernel_write_share(fm_mixes[FM_MIXES - 1].kernel, false), 0.5, 1e-9);
}

static void measured_points_are_themselves(void **state)
{
	struct fm_machine *machine = invent(usual, USUAL);
	struct fm_figure wanted = share(0.5);
	struct fm_peak found = fm_peak_find(machine, "memory", 4, &wanted);

	(void)state;
	assert_near(peak(machine, 1, 0), 10, 1e-9);
	assert_near(peak(machine, 8, 0), 60, 1e-9);
	assert_near(peak(machine, 2, 0.5), 16, 1e-9);
	assert_near(peak(machine, 4, 1.0 / 3), 34, 1e-6);
	/* with what stores read first */
	assert_near(peak(machine, 1, 0.25), 9.6, 1e-6);
	assert_int_equal(found.threads, 4);
	assert_near(found.write_share.value, 0.5, 1e-9);
	assert_int_equal(found.gbs.origin, FM_ORIGIN_measured);
	assert_near(found.gbs.low, 30 * 0.98, 1e-6);
	fm_machine_free(machine);
}

static void between_threads_and_mixtures(void **state)
{
	struct fm_machine *machine = invent(usual, USUAL);
	struct fm_figure wanted = share(0);
	struct fm_peak found;

	(void)state;
	/* half-way between 4 and 8; at most what six of the four would have, and no more than eight */
	found = fm_peak_find(machine, "memory", 6, &wanted);
	assert_near(found.gbs.value, 50, 1e-9);
	assert_near(found.gbs.low, 49, 1e-9);
	assert_near(found.gbs.high, fmin(40 * 1.02 * 6 / 4, 60 * 1.02), 1e-9);
	assert_int_equal(found.gbs.origin, FM_ORIGIN_modelled);
	/* the triad has one thread and eight: it bends as reads do, which had 20 of 60 on two */
	assert_near(peak(machine, 2, 0.25), (0.96 + (50.0 / 60 - 0.96) / 7) * 20, 1e-6);
	/* more threads than CPUs: the most that were measured */
	found = fm_peak_find(machine, "memory", 100, &wanted);
	assert_near(found.gbs.value, 60, 1e-9);
	assert_int_equal(found.threads, 8);
	/* between two mixtures, times per byte: half of the way from 1/3 to 1/2 */
	assert_near(peak(machine, 8, 5.0 / 12), 1 / (0.5 / 46 + 0.5 / 40), 1e-6);
	/* more writes than any kernel has: the nearest */
	assert_near(peak(machine, 8, 0.9), 40, 1e-9);
	wanted = share(0.9);
	assert_near(fm_peak_find(machine, "memory", 8, &wanted).write_share.value, 0.5, 1e-9);
	/* a share that is not sharp widens the peak */
	wanted = fm_figure_make(0.4, 0, 0.5, "", FM_ORIGIN_sampled, "windows", 9);
	found = fm_peak_find(machine, "memory", 8, &wanted);
	assert_near(found.gbs.low, 40 * 0.98, 1e-6);
	assert_near(found.gbs.high, 60 * 1.02, 1e-6);
	fm_machine_free(machine);
}

/* Peaks that were measured to rise with the threads and to fall with the writes do so in between. */
static void monotonous(void **state)
{
	struct fm_machine *machine = invent(usual, USUAL);

	(void)state;
	for (unsigned written = 0; written <= 20; written++)
		for (unsigned threads = 1; threads < 10; threads++) {
			double here = peak(machine, threads, written * 0.025);

			assert_true(peak(machine, threads + 1, written * 0.025) >= here - 1e-9);
			assert_true(peak(machine, threads, (written + 1) * 0.025) <= here + 1e-9);
		}
	fm_machine_free(machine);
}

static void missing_points(void **state)
{
	static const struct given few[] = {{FM_STREAM_load, 4, 40}, {FM_STREAM_copy, 4, 20}};
	struct fm_machine *machine = invent(usual, USUAL);
	struct fm_figure wanted = share(0.1);
	struct fm_peak found;

	(void)state;
	/* no such level, no such measurements */
	assert_false(fm_peak_find(machine, "L3", 1, &wanted).gbs.available);
	found = fm_peak_find(machine, "L1", 1, &wanted);
	assert_false(found.gbs.available);
	assert_non_null(strstr(found.gbs.why, "no bandwidth"));
	/* what failed is passed over, and so is what says nothing */
	machine->bandwidths[2].gbs = fm_figure_unavailable("disturbed");
	assert_near(peak(machine, 4, 0), 20 + (60 - 20) / 3.0, 1e-9);
	machine->bandwidths[1].gbs.low = 1;
	machine->bandwidths[1].gbs.high = 200;
	assert_near(peak(machine, 4, 0), 10 + (60 - 10) * 3 / 7.0, 1e-9);
	/* unless there is nothing else */
	for (unsigned i = 0; i < machine->bandwidth_count; i++)
		if (i != 1)
			machine->bandwidths[i].gbs = fm_figure_unavailable("disturbed");
	assert_near(peak(machine, 2, 0.3), 20, 1e-9);
	fm_machine_free(machine);

	/* fewer threads than were measured: between an even part and all of it */
	machine = invent(few, 2);
	found = fm_peak_find(machine, "memory", 1, &(struct fm_figure){.available = true});
	assert_near(found.gbs.low, 40 * 0.98 / 4, 1e-9);
	assert_near(found.gbs.high, 40 * 1.02, 1e-9);
	assert_int_equal(found.threads, 1);
	/* a mixture that is not known: the best, down to the worst */
	wanted = fm_figure_unavailable("no event tells");
	found = fm_peak_find(machine, "memory", 4, &wanted);
	assert_near(found.gbs.value, 40, 1e-9);
	assert_near(found.gbs.low, 20 * 1.5 * 0.98, 1e-9);
	assert_false(found.write_share.available);
	assert_string_equal(found.write_share.why, "no event tells");
	fm_machine_free(machine);
}

/* Stores that read what they overwrite are assumed; where a kernel reads it itself, that one is believed. */
static void exact_mixtures_first(void **state)
{
	static const struct given given[] = {
	    {FM_STREAM_load, 1, 10}, {FM_STREAM_store, 1, 9}, {FM_STREAM_update, 1, 8}};
	struct fm_machine *machine = invent(given, 2);

	(void)state;
	assert_near(peak(machine, 1, 0.5), 18, 1e-9);
	fm_machine_free(machine);
	machine = invent(given, 3);
	assert_near(peak(machine, 1, 0.5), 8, 1e-9);
	fm_machine_free(machine);
}

/* The curve */

static void add_point(struct fm_machine *machine, enum fm_stream_kernel_index kernel, unsigned threads, double rate,
                      double gbs, double ns)
{
	struct fm_bandwidth_curve *curve = &machine->bandwidth_curve;

	curve->points[curve->count++] = (struct fm_bandwidth_curve_point){
	    .threads = threads, .kernel = kernel, .rate = rate, .traffic_gbs = figure(gbs), .latency_ns = figure(ns)};
}

static struct fm_machine *invent_curve(void)
{
	struct fm_machine *machine = invent(usual, USUAL);

	machine->bandwidth_curve.points = calloc(16, sizeof(*machine->bandwidth_curve.points));
	add_point(machine, FM_STREAM_load, 1, 0, 0.6, 100);
	/* not in the order of traffic: a rate is not a traffic */
	add_point(machine, FM_STREAM_load, 2, 1, 10, 110);
	add_point(machine, FM_STREAM_load, 8, 0.5, 30, 130);
	add_point(machine, FM_STREAM_load, 8, 1, 55, 200);
	add_point(machine, FM_STREAM_load, 8, 0.75, 45, 160);
	add_point(machine, FM_STREAM_update, 2, 1, 8, 120);
	add_point(machine, FM_STREAM_update, 8, 0.5, 20, 150);
	add_point(machine, FM_STREAM_update, 8, 1, 38, 280);
	return machine;
}

static struct fm_loaded_latency latency(const struct fm_machine *machine, unsigned threads, double written, double gbs)
{
	struct fm_figure mixture = share(written),
	                 traffic = fm_figure_make(gbs, gbs, gbs, "GB/s", FM_ORIGIN_combined, "exact", 3);

	return fm_peak_latency(machine, threads, &mixture, &traffic);
}

static void latency_along_the_curve(void **state)
{
	struct fm_machine *machine = invent_curve();
	struct fm_loaded_latency found;

	(void)state;
	assert_near(latency(machine, 1, 0, 0).ns.value, 100, 1e-9);
	assert_near(latency(machine, 8, 0, 30).ns.value, 130, 1e-9);
	assert_near(latency(machine, 8, 0, 50).ns.value, 180, 1e-9);
	assert_near(latency(machine, 8, 0.5, 38).ns.value, 280, 1e-9);
	/* half-way between the mixtures */
	assert_near(latency(machine, 8, 0.25, 20).ns.value, (100 + 30 * 19.4 / 29.4 + 150) / 2, 1e-6);
	/* two threads have a curve of their own, as far as it goes */
	assert_near(latency(machine, 2, 0, 10).ns.value, 110, 1e-9);
	assert_near(latency(machine, 2, 0, 30).ns.value, 130, 1e-9);
	found = latency(machine, 8, 0, 50);
	assert_int_equal(found.ns.origin, FM_ORIGIN_modelled);
	assert_true(found.ns.low < 180 && found.ns.high > 180);
	/* more than was measured */
	found = latency(machine, 8, 0, 58);
	assert_true(found.beyond && !found.ns.available);
	assert_near(found.at_least_ns, 200, 1e-9);
	assert_non_null(strstr(found.ns.why, "at least 200 ns"));
	for (double gbs = 0; gbs < 37; gbs++) {
		assert_true(latency(machine, 8, 0.2, gbs + 1).ns.value >= latency(machine, 8, 0.2, gbs).ns.value);
		assert_true(latency(machine, 8, 0.3, gbs).ns.value >= latency(machine, 8, 0.2, gbs).ns.value);
	}
	fm_machine_free(machine);
}

static void latency_without_points(void **state)
{
	struct fm_machine *machine = invent_curve();
	struct fm_figure none = fm_figure_unavailable("no time"), known = share(0.1);
	struct fm_loaded_latency found = fm_peak_latency(machine, 1, &known, &none);

	(void)state;
	assert_string_equal(found.ns.why, "no time");
	/* any mixture: as wide as both */
	found = fm_peak_latency(machine, 8, &none, &(struct fm_figure){true, 20, 20, 20, "GB/s", 0, "", 1, 0, ""});
	assert_true(found.ns.low < 121 && found.ns.high >= 150);
	/* points that failed are passed over: from nothing to 45 GB/s */
	machine->bandwidth_curve.points[2].latency_ns = fm_figure_unavailable("disturbed");
	assert_near(latency(machine, 8, 0, 30).ns.value, 100 + 60 * 29.4 / 44.4, 1e-6);
	/* one mixture stands for all when there is no other */
	machine->bandwidth_curve.count = 5;
	assert_near(latency(machine, 8, 0.5, 45).ns.value, 160, 1e-9);
	machine->bandwidth_curve.count = 0;
	assert_non_null(strstr(latency(machine, 8, 0.5, 45).ns.why, "no bandwidth–latency curve"));
	machine->bandwidth_curve.why = fm_figure_unavailable("one CPU");
	assert_non_null(strstr(latency(machine, 8, 0.5, 45).ns.why, "curve: one CPU"));
	fm_machine_free(machine);
}

/* Points to measure: bounded on large machines, none on one CPU, every mixture, doubled threads. */
static void plans(void **state)
{
	static struct fm_bandwidth_curve_point points[FM_BANDWIDTH_CURVE_MAX];
	static const struct {
		unsigned cpus;
		enum fm_effort effort;
		unsigned count;
	} cases[] = {
	    {1, FM_EFFORT_DEFAULT, 0},
	    {2, FM_EFFORT_DEFAULT, 1 + 4 * 5},
	    {2, FM_EFFORT_QUICK, 5},
	    {3, FM_EFFORT_DEFAULT, 1 + 4 * (2 + 5)},
	    {128, FM_EFFORT_QUICK, 5},
	    {128, FM_EFFORT_DEFAULT, 1 + 4 * (6 * 2 + 5)},
	    {1024, FM_EFFORT_FULL, 1 + 4 * (9 * 2 + 5)},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned count = fm_bandwidth_curve_plan(cases[i].cpus, cases[i].effort, points), most = 0;

		assert_int_equal(count, cases[i].count);
		for (unsigned k = 0; k < count; k++) {
			assert_true(points[k].threads >= 1 && points[k].threads <= cases[i].cpus);
			assert_true(!k == !(points[k].rate > 0) && points[k].rate <= 1);
			most = points[k].threads > most ? points[k].threads : most;
		}
		assert_int_equal(most, count ? cases[i].cpus : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shares_of_kernels),
	    cmocka_unit_test(measured_points_are_themselves),
	    cmocka_unit_test(between_threads_and_mixtures),
	    cmocka_unit_test(monotonous),
	    cmocka_unit_test(missing_points),
	    cmocka_unit_test(exact_mixtures_first),
	    cmocka_unit_test(latency_along_the_curve),
	    cmocka_unit_test(latency_without_points),
	    cmocka_unit_test(plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
