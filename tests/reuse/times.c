/* Kaplan and Meier's estimate against examples computed by hand, and windows. */
#include "check.h"

#include <errno.h>

#include "reuse/times.h"
#include "reuse/window.h"

static struct fm_survival estimated(struct fm_times *times)
{
	static struct fm_times_sum sum;
	struct fm_survival survival;

	fm_times_merge(times);
	fm_times_sum(times, NULL, &sum);
	fm_survival_estimate(&sum, &survival);
	return survival;
}

static void add(struct fm_times *times, double entered, double time, bool censored, double weight)
{
	struct fm_reuse reuse = {.time = time, .entered = entered, .censored = censored, .weight = weight};

	assert_int_equal(fm_times_add(times, &reuse), 0);
}

/* Remission times of 6-MP against leukaemia (Gehan 1965): the textbooks' example. */
static void textbook(void **state)
{
	static const int reused[] = {6, 6, 6, 7, 10, 13, 16, 22, 23};
	static const int censored[] = {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35};
	struct fm_times times = {0};
	struct fm_survival survival;

	(void)state;
	for (unsigned i = 0; i < sizeof(reused) / sizeof(*reused); i++)
		add(&times, 0, reused[i], false, 1);
	for (unsigned i = 0; i < sizeof(censored) / sizeof(*censored); i++)
		add(&times, 0, censored[i], true, 1);
	survival = estimated(&times);
	assert_near(survival.at[fm_time_bin(6)], 1, 0);
	assert_near(survival.at[fm_time_bin(7)], 0.857, 0.0005);
	assert_near(survival.at[fm_time_bin(8)], 0.807, 0.0005);
	assert_near(survival.at[fm_time_bin(11)], 0.753, 0.0005);
	assert_near(survival.at[fm_time_bin(14)], 0.690, 0.0005);
	assert_near(survival.at[fm_time_bin(17)], 0.627, 0.0005);
	assert_near(survival.at[fm_time_bin(23)], 0.538, 0.0005);
	assert_near(survival.at[fm_time_bin(24)], 0.448, 0.0005);
	assert_near(survival.at[fm_time_bin(1000)], 0.448, 0.0005);
	assert_int_equal(survival.observed, fm_time_bin(35) + 1);
	assert_near(survival.samples[fm_time_bin(6)], 21, 0);
	assert_near(survival.samples[fm_time_bin(7)], 17, 0);
	fm_times_free(&times);
}

/* At 3 two are observed and one reused; at 5 two (one has entered at 4) and one reused; at 8 one, reused. */
static void late_entries(void **state)
{
	struct fm_times times = {0};
	struct fm_survival survival;

	(void)state;
	add(&times, 0, 3, false, 1);
	add(&times, 0, 5, false, 1);
	add(&times, 4, 8, true, 1);
	survival = estimated(&times);
	assert_near(survival.at[fm_time_bin(4)], 1.0 / 2, 1e-12);
	assert_near(survival.at[fm_time_bin(6)], 1.0 / 4, 1e-12);
	assert_near(survival.at[fm_time_bin(60)], 1.0 / 4, 1e-12);
	fm_times_free(&times);
	/* one who enters at the time of a reuse was not at risk; who left then was */
	add(&times, 0, 5, false, 1);
	add(&times, 5, 9, false, 1);
	add(&times, 0, 5, true, 2);
	add(&times, 0, INFINITY, true, 1);
	survival = estimated(&times);
	assert_near(survival.at[fm_time_bin(6)], 3.0 / 4, 1e-12);
	assert_near(survival.at[fm_time_bin(10)], 3.0 / 8, 1e-12);
	assert_int_equal(survival.observed, FM_TIME_BINS);
	fm_times_free(&times);
}

static void weights_count(void **state)
{
	struct fm_times times = {0};
	struct fm_survival survival;

	(void)state;
	add(&times, 0, 2, false, 3);
	add(&times, 0, 10, true, 0.5);
	add(&times, 0, 20, false, 1.5);
	survival = estimated(&times);
	assert_near(survival.at[fm_time_bin(3)], 2.0 / 5, 1e-12);
	assert_near(survival.at[fm_time_bin(21)], 0, 1e-12);
	assert_int_equal(fm_times_add(&times, &(struct fm_reuse){.time = 1, .weight = -1}), -EINVAL);
	assert_int_equal(fm_times_add(&times, &(struct fm_reuse){.time = NAN, .weight = 1}), -EINVAL);
	assert_int_equal(fm_times_add(&times, &(struct fm_reuse){.time = 1, .entered = 2, .weight = 1}), -EINVAL);
	fm_times_free(&times);
}

/* Writes of other threads are told apart, each with the share that came so far. */
static void writes_between(void **state)
{
	struct fm_times times = {0};
	struct fm_survival survival;

	(void)state;
	add(&times, 0, 2, false, 1);
	assert_int_equal(fm_times_add(&times, &(struct fm_reuse){.time = 4, .weight = 1, .written = true}), 0);
	add(&times, 0, 6, false, 1);
	add(&times, 0, 8, true, 1);
	survival = estimated(&times);
	assert_near(survival.written[fm_time_bin(4)], 0, 0);
	assert_near(survival.written[fm_time_bin(5)], 0.25, 1e-12);
	assert_near(survival.at[fm_time_bin(7)], 0.25, 1e-12);
	fm_times_free(&times);
}

/* Geometric times in wide bins, half of them censored at random. */
static void wide_bins(void **state)
{
	struct fm_times times = {0};
	struct fm_random random;
	struct fm_survival survival;

	(void)state;
	fm_random_seed(&random, 3);
	for (unsigned i = 0; i < 40000; i++) {
		double time = ceil(-10000 * log(fm_random_uniform(&random)));
		double left = ceil(-10000 * log(fm_random_uniform(&random)));
		double entered = floor(3000 * fm_random_uniform(&random));

		if (fmin(time, left) > entered)
			add(&times, entered, fmin(time, left), left < time, 1);
	}
	survival = estimated(&times);
	for (double time = 1000; time < 30000; time *= 2)
		assert_near(survival.at[fm_time_bin(time)], exp(-fm_time_bin_low(fm_time_bin(time)) / 10000), 0.015);
	fm_times_free(&times);
}

static const struct fm_times_cell *cell_at(const struct fm_cells *list, unsigned bin)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->cells[i].bin == bin)
			return &list->cells[i];
	return NULL;
}

static void windows(void **state)
{
	/* b is touched after 2 and after 3, a after 3; a, b, c and d survive */
	static const uint64_t lines[] = {'a', 'b', 'c', 'a', 'b', 'd', 'b', 'd'};
	static const uint8_t written[] = {0, 0, 0, 0, 0, 0, 1, 0};
	struct fm_times times = {0};
	struct fm_window window = {0};
	struct fm_window_choice choices[4];
	struct fm_random random;

	(void)state;
	fm_random_seed(&random, 1);
	assert_int_equal(fm_window_add(&window, lines, written, 8, 0, 0, &times), 0);
	fm_times_merge(&times);
	assert_near(cell_at(&times.by_time, 0)->entered, 8, 0);
	assert_near(cell_at(&times.by_time, 3)->reused, 2, 0);
	assert_near(cell_at(&times.by_time, 2)->reused, 2, 0);
	assert_near(cell_at(&times.by_time, 2)->written, 1, 0);
	/* a: b and c between, b: c and a; then d, and b: bins hold distances + 1 */
	assert_near(cell_at(&times.by_distance, 3)->reused, 2, 0);
	assert_near(cell_at(&times.by_distance, 2)->reused, 2, 0);
	/* d, b, a, c survive with 0, 1, 2, 3 other lines after them */
	for (unsigned i = 0; i < 4; i++)
		assert_near(cell_at(&times.by_distance, i + 1)->censored, 1, 0);
	assert_int_equal(window.survivor_count, 4);
	assert_int_equal(fm_window_choose(&window, &random, 4, choices), 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_near(choices[i].weight, 1, 0);
		assert_near(choices[i].age, 7 - choices[i].position, 0);
		assert_near(choices[i].distance,
		            choices[i].position == 7   ? 0
		            : choices[i].position == 6 ? 1
		            : choices[i].position == 3 ? 2
		                                       : 3,
		            0);
	}
	assert_int_equal(fm_window_add(&window, lines, NULL, 8, 3, 1, &times), 0);
	assert_int_equal(window.survivor_count, 2);
	assert_int_equal(fm_window_choose(&window, &random, 1, choices), 1);
	assert_near(choices[0].weight, 2, 0);
	assert_int_equal(fm_window_add(&window, lines, NULL, 0, 0, 2, &times), 0);
	assert_int_equal(fm_window_choose(&window, &random, 4, choices), 0);
	fm_window_free(&window);
	fm_times_free(&times);
}

static void terms_grow(void **state)
{
	struct fm_random random;
	double sum[4] = {0};

	(void)state;
	fm_random_seed(&random, 5);
	for (unsigned i = 0; i < 10000; i++)
		for (unsigned slot = 0; slot < 4; slot++) {
			uint32_t term = fm_window_term(&random, slot);

			assert_true(term >= 1);
			sum[slot] += term / 10000.0;
		}
	assert_near(sum[0], 1, 1e-6);
	assert_near(sum[1], 4.5, 0.3);
	assert_near(sum[3], 64.5, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(textbook),       cmocka_unit_test(late_entries), cmocka_unit_test(weights_count),
	    cmocka_unit_test(writes_between), cmocka_unit_test(wide_bins),    cmocka_unit_test(windows),
	    cmocka_unit_test(terms_grow),
	};

	return cmocka_run_group_tests_name("times", tests, NULL, NULL);
}
