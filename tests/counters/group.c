/* Performance groups in LIKWID's format. */
#include "check.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "counters/group.h"

/* The two formulas of the threading guide, on its own counts: it prints 7.6, its figures make 7.40. */
static void formulas_of_the_guide(void **state)
{
	struct fm_group group;
	struct fm_error error;
	double value;

	(void)state;
	assert_int_equal(fm_group_read(GROUPS "/core2/MEM.txt", &group, &error), 0);
	assert_string_equal(group.events[1].name, "BUS_TRANS_MEM:ALL_AGENTS");
	assert_int_equal(fm_group_metric(&group, 0, (double[]){35576000000, 1419200000}, NAN, 2.9e9, &value, &error),
	                 0);
	print_message("%s: %.4f\n", group.metrics[0].name, value);
	assert_near(value, 7.40, 0.005);
	assert_int_equal(fm_group_metric(&group, 0, (double[]){35576000000, 1419200000}, NAN, NAN, &value, &error),
	                 -ENOENT);
	assert_non_null(strstr(error.message, "frequency"));
	assert_int_equal(fm_group_read(GROUPS "/nehalem/MEM.txt", &group, &error), 0);
	assert_int_equal(fm_group_metric(&group, 0, (double[]){1e9, 5e8}, 10, NAN, &value, &error), 0);
	assert_near(value, 9.6, 1e-9);
}

static void groups_as_likwid_has_them(void **state)
{
	static const char text[] =
	    "SHORT L2 cache bandwidth\n\nEVENTSET\nFIXC0 INSTR_RETIRED_ANY\nPMC0  L1D_REPLACEMENT\n"
	    "PMC1:EDGEDETECT  L2_TRANS_L1D_WB\n\nMETRICS\nRuntime (RDTSC) [s] time\n"
	    "L2 bandwidth [MBytes/s] 1.0E-06*(PMC0+PMC1)*64.0/time\n\nLONG\nany text\nat all\n";
	struct fm_group group;
	struct fm_error error;
	char list[200];
	double value;

	(void)state;
	assert_int_equal(fm_group_parse(text, "x", &group, &error), 0);
	assert_string_equal(group.title, "L2 cache bandwidth");
	assert_int_equal(group.event_count, 3);
	assert_int_equal(group.metric_count, 2);
	assert_string_equal(group.metrics[0].name, "Runtime (RDTSC) [s]");
	fm_group_list(&group, list, sizeof(list));
	assert_string_equal(list, "INST_RETIRED:ANY,L1D:REPLACEMENT,L2_TRANS:L1D_WB");
	assert_int_equal(fm_group_metric(&group, 1, (double[]){1, 1e6, 5e5}, 2, NAN, &value, &error), 0);
	assert_near(value, 48, 1e-9);
	/* no time: neither infinite nor 0, and the reason is there to be shown */
	assert_int_equal(fm_group_metric(&group, 1, (double[]){1, 1e6, 5e5}, 0, NAN, &value, &error), -EDOM);
	assert_non_null(strstr(error.message, "divides by nothing"));
	assert_int_equal(fm_group_metric(&group, 1, (double[]){1, 1e6, NAN}, 2, NAN, &value, &error), -ENOENT);
	assert_non_null(strstr(error.message, "PMC1"));
	assert_int_equal(fm_group_parse("nonsense\n", "x", &group, &error), -EBADMSG);
	assert_int_equal(fm_group_parse("EVENTSET\nPMC0\n", "x", &group, &error), -EBADMSG);
	assert_non_null(strstr(error.message, "x:2:"));
	assert_int_equal(fm_group_parse("EVENTSET\nPMC0 A\nMETRICS\nalone\n", "x", &group, &error), -EBADMSG);
	assert_int_equal(fm_group_parse("SHORT x\n", "x", &group, &error), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(formulas_of_the_guide),
	    cmocka_unit_test(groups_as_likwid_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
