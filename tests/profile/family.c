/* The table of what is published of processor families: all of it is of use, families are found by their numbers, and
   a published figure stands in only for what was not measured. */
#include "profile/family.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "profile/profile.h"

static bool known(const char *parameter)
{
	struct fm_machine *machine = calloc(1, sizeof(*machine));
	bool found = false;

	assert_non_null(machine);
	for (unsigned i = 0; i < fm_machine_core_figures(machine) && !found; i++)
		found = !strcmp(fm_machine_core_figure(machine, i).name, parameter);
	free(machine);
	return found;
}

static void every_line_is_of_use(void **state)
{
	const char *wrong = fm_family_check(known);

	(void)state;
	if (wrong)
		fail_msg("families.def: %s", wrong);
}

static const struct fm_family *family_of(const char *vendor, unsigned family, unsigned model)
{
	struct fm_topology topology = {.family = family, .model = model};

	snprintf(topology.vendor, sizeof(topology.vendor), "%s", vendor);
	return fm_family_of(&topology);
}

static void families_by_numbers(void **state)
{
	static const struct {
		const char *vendor;
		unsigned family, model;
		const char *words;
		double window, l2_ways;
	} cases[] = {
	    {"GenuineIntel", 6, 0x2d, "Intel Sandy Bridge, Ivy Bridge", 168, 8},
	    {"GenuineIntel", 6, 0x3f, "Intel Haswell", 192, 8},
	    {"GenuineIntel", 6, 0x4f, "Intel Broadwell", 192, 8},
	    {"GenuineIntel", 6, 0x55, "Intel Skylake SP, Cascade Lake, Cooper Lake", 224, 16},
	    {"GenuineIntel", 6, 0x9e, "Intel Skylake, Kaby Lake, Coffee Lake, Comet Lake", 224, 4},
	    {"GenuineIntel", 6, 0x6a, "Intel Ice Lake SP", 352, 20},
	    {"GenuineIntel", 6, 0x8f, "Intel Sapphire Rapids, Emerald Rapids", 512, 16},
	    {"GenuineIntel", 6, 0x97, "Intel Alder Lake, performance cores", 512, 10},
	    {"AuthenticAMD", 23, 0x01, "AMD Zen, Zen+", 192, 8},
	    {"AuthenticAMD", 23, 0x31, "AMD Zen 2", 224, 8},
	    {"AuthenticAMD", 25, 0x01, "AMD Zen 3", 256, 8},
	    {"AuthenticAMD", 25, 0x11, "AMD Zen 4", 320, 8},
	    {"AuthenticAMD", 26, 0x02, "AMD Zen 5", 448, 16},
	    {"0x41", 8, 0xd0c, "Arm Neoverse N1", 128, 8},
	    {"0x41", 8, 0xd4f, "Arm Neoverse V2", 320, 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fm_family *family = family_of(cases[i].vendor, cases[i].family, cases[i].model);
		struct fm_figure window = fm_family_figure(family, "window");

		assert_non_null(family);
		assert_string_equal(fm_family_words(family), cases[i].words);
		assert_near(window.value, cases[i].window, 0);
		assert_int_equal(window.origin, FM_ORIGIN_published);
		assert_string_equal(window.backend, "table");
		assert_non_null(fm_family_source(family, "window"));
		assert_near(fm_family_figure(family, "l2_ways").value, cases[i].l2_ways, 0);
	}
	assert_null(family_of("GenuineIntel", 15, 0x6a));
	assert_null(family_of("GenuineIntel", 6, 0xff));
	assert_null(family_of("AuthenticAMD", 6, 0x6a));
	assert_null(family_of("", 0, 0));
	assert_false(fm_family_figure(NULL, "window").available);
	assert_null(fm_family_source(NULL, "window"));
	assert_false(fm_family_figure(family_of("AuthenticAMD", 25, 1), "walk").available);
}

static struct fm_figure measured(double value, double low, double high)
{
	return fm_figure_make(value, low, high, "", FM_ORIGIN_measured, "kernels", 9);
}

static void only_for_what_was_not_measured(void **state)
{
	const struct fm_family *zen3 = family_of("AuthenticAMD", 25, 1);
	struct fm_figure published = fm_family_figure(zen3, "window"), figure = measured(224, 216, 232),
	                 none = fm_figure_unavailable("two misses always overlapped"), wide = measured(200, 90, 310);

	(void)state;
	assert_near(fm_family_or_published(&figure, zen3, "window").value, 224, 0);
	assert_near(fm_family_or_published(&none, zen3, "window").value, 256, 0);
	assert_near(fm_family_or_published(&wide, zen3, "window").value, 256, 0);
	/* nothing is better than nothing, and something than nothing */
	assert_false(fm_family_or_published(&none, NULL, "window").available);
	assert_near(fm_family_or_published(&wide, NULL, "window").value, 200, 0);
	/* 256 is 10.3 % above 232 */
	assert_true(fm_family_differs(&figure, &published));
	figure.high = 234;
	assert_false(fm_family_differs(&figure, &published));
	figure = measured(300, 290, 310);
	assert_true(fm_family_differs(&figure, &published));
	assert_false(fm_family_differs(&none, &published));
	/* the sources say 72 to 116 */
	published = fm_family_figure(zen3, "load_buffers");
	assert_near(published.low, 72, 0);
	assert_near(published.high, 116, 0);
	figure = measured(80, 78, 82);
	assert_false(fm_family_differs(&figure, &published));
	figure = measured(60, 58, 62);
	assert_true(fm_family_differs(&figure, &published));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_line_is_of_use),
	    cmocka_unit_test(families_by_numbers),
	    cmocka_unit_test(only_for_what_was_not_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
