/* First touches, translation of 2 MiB pages, contention: what is made of the measurements. */
#include "check.h"

#include <math.h>
#include <string.h>

#include "measure/contention.h"
#include "measure/touch.h"
#include "measure/translation.h"
#include "profile/faults.h"

static struct fm_figure figure(double value)
{
	return fm_figure_make(value, 0.9 * value, 1.1 * value, "ns", FM_ORIGIN_measured, "kernels", 9);
}

static void costs(struct fm_figure *figures)
{
	static const double ns[] = {
	    [FM_TOUCH_touch_write_4k] = 500, [FM_TOUCH_touch_read_4k] = 200, [FM_TOUCH_touch_rewrite_4k] = 600,
	    [FM_TOUCH_touch_file] = 900,     [FM_TOUCH_touch_copy_4k] = 700, [FM_TOUCH_touch_write_2m] = 100000,
	    [FM_TOUCH_release_4k] = 100,     [FM_TOUCH_release_2m] = 5000,   [FM_TOUCH_kernel_share] = 0.9};

	for (unsigned i = 0; i < FM_TOUCH_PARAMETERS; i++)
		figures[i] = figure(ns[i]);
}

static void faults_cost_what_touches_cost(void **state)
{
	struct fm_figure figures[FM_TOUCH_PARAMETERS], predicted;

	(void)state;
	costs(figures);
	predicted = fm_faults_predict(figures, 1000000, 0, true);
	assert_true(predicted.available);
	assert_int_equal(predicted.origin, FM_ORIGIN_modelled);
	assert_near(predicted.value, 0.6, 1e-9); /* 500 ns, and 100 to give the page back */
	/* from a page of zeros that is not given back to a file's page that is */
	assert_near(predicted.low, 0.18, 1e-9);
	assert_near(predicted.high, 0.99 + 0.11, 1e-9);
	/* all of the thousand huge ones, or none: the lower end stays */
	predicted = fm_faults_predict(figures, 1000000, 1000, true);
	assert_near(predicted.value, 0.6 + 1000 * (105000 - 600) * 1e-9, 1e-9);
	assert_near(predicted.low, 0.18, 1e-9);
	assert_near(predicted.high, 1.1 + 1000 * (115500 - 1100) * 1e-9, 1e-9);
	/* where they have to be asked for they only widen the interval */
	predicted = fm_faults_predict(figures, 1000000, 1000, false);
	assert_near(predicted.value, 0.6, 1e-9);
	assert_near(predicted.high, 1.1 + 1000 * (115500 - 1100) * 1e-9, 1e-9);
	/* no more huge ones than faults */
	assert_near(fm_faults_predict(figures, 10, 5000, true).value, 10 * 105000e-9, 1e-9);
	/* kinds that could not be measured are left out of the interval; what is needed is missed */
	figures[FM_TOUCH_touch_file] = figures[FM_TOUCH_touch_write_2m] = fm_figure_unavailable("none here");
	assert_near(fm_faults_predict(figures, 1000000, 0, true).high, 0.77 + 0.11, 1e-9);
	assert_false(fm_faults_predict(figures, 1000000, 1, true).available);
	figures[FM_TOUCH_touch_write_4k] = fm_figure_unavailable("not here");
	assert_string_equal(fm_faults_predict(figures, 1, 0, true).why, "not here");
}

static void shares_need_ticks(void **state)
{
	struct fm_figure share = fm_touch_share(0.01, 0.19, 0.004);

	(void)state;
	assert_near(share.value, 0.95, 1e-9);
	assert_near(share.low, 0.91, 1e-9);
	assert_near(share.high, 0.99, 1e-9);
	assert_false(fm_touch_share(0.01, 0.03, 0.004).available);
	assert_false(fm_touch_share(0, 0, 0.004).available);
}

/* Cycles more than on few pages, of buffers with so many entries. */
static void translate(unsigned first, double penalty, unsigned second, double walk, size_t page, double *ret_cycles)
{
	for (unsigned i = 0; i < FM_TRANSLATION_POINTS; i++) {
		unsigned pages = fm_translation_points[i];
		double together = (double)pages * 256 / (double)page; /* pages, met in random order */

		ret_cycles[i] = (pages > first ? penalty : 0) + (pages > second ? walk : 0) -
		                (together > first ? (1 - first / together) * penalty : 0);
	}
}

static void huge_pages_are_found(void **state)
{
	struct fm_figure model = fm_figure_make(0, 0, 0, "", FM_ORIGIN_measured, "kernels", 5),
	                 figures[FM_TRANSLATION_PARAMETERS];
	double cycles[FM_TRANSLATION_POINTS];
	unsigned count;

	(void)state;
	/* 1 GiB: 512 pages, of which the last number is among those that are tried */
	count = fm_translation_huge_points(1ull << 30);
	assert_true(count > FM_TRANSLATION_HUGE_LEAST);
	assert_int_equal(fm_translation_points[count - 1], 512);
	assert_int_equal(fm_translation_huge_points(0), 0);
	assert_int_equal(fm_translation_huge_points(UINT64_MAX), FM_TRANSLATION_POINTS);
	/* the second buffer is larger than that */
	translate(32, 7, 1536, 30, 2 << 20, cycles);
	fm_translation_find_huge(cycles, count, &model, figures);
	assert_true(figures[FM_TRANSLATION_tlb1_entries].low <= 32 && figures[FM_TRANSLATION_tlb1_entries].high >= 32);
	assert_near(figures[FM_TRANSLATION_tlb1_penalty].value, 7, 1e-9);
	assert_false(figures[FM_TRANSLATION_tlb2_entries].available);
	assert_string_equal(figures[FM_TRANSLATION_tlb2_entries].why, "not visible with up to 512 pages");
	/* and in sight with more memory */
	count = fm_translation_huge_points(8ull << 30);
	fm_translation_find_huge(cycles, count, &model, figures);
	assert_true(figures[FM_TRANSLATION_tlb2_entries].low <= 1536 &&
	            figures[FM_TRANSLATION_tlb2_entries].high >= 1536);
	assert_near(figures[FM_TRANSLATION_walk].value, 30, 1e-9);
	/* only one buffer, of all that can be tried */
	translate(100000, 7, 100000, 30, 2 << 20, cycles);
	fm_translation_find_huge(cycles, count, &model, figures);
	assert_false(figures[FM_TRANSLATION_tlb1_entries].available);
	/* small pages, where the lines that lie together need some too */
	translate(64, 7, 2048, 40, 4096, cycles);
	fm_translation_find(cycles, &model, figures);
	assert_true(figures[FM_TRANSLATION_tlb1_entries].low <= 64 && figures[FM_TRANSLATION_tlb1_entries].high >= 64);
	assert_true(figures[FM_TRANSLATION_tlb2_entries].low <= 2048 &&
	            figures[FM_TRANSLATION_tlb2_entries].high >= 2048);
	assert_near(figures[FM_TRANSLATION_walk].value, 40, 2);
}

static void numbers_of_threads(void **state)
{
	static const struct {
		unsigned cpus, count, threads[8];
	} cases[] = {{1, 1, {1}}, {2, 2, {1, 2}}, {3, 3, {1, 2, 3}}, {8, 4, {1, 2, 4, 8}}, {6, 4, {1, 2, 4, 6}}};
	unsigned threads[8];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fm_contention_threads(cases[i].cpus, threads, 8), cases[i].count);
		assert_memory_equal(threads, cases[i].threads, cases[i].count * sizeof(threads[0]));
	}
	/* all of them are always among the few */
	assert_int_equal(fm_contention_threads(1000, threads, 4), 4);
	assert_int_equal(threads[3], 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(faults_cost_what_touches_cost),
	    cmocka_unit_test(shares_need_ticks),
	    cmocka_unit_test(huge_pages_are_found),
	    cmocka_unit_test(numbers_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
