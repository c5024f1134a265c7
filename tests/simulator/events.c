/* Simulated events against truth computed by hand, and the file of events against mistakes. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/simulated.h"

enum { LINE = 64, BASE = 1 << 30 };

static struct fm_machine_description description;
static struct fm_simulated_events *events;

/* One warm sweep, then what `sweeps` more cost. Eight bytes at a time; one core, or the second half of the data lives
   in the other socket's memory. */
static struct fm_core_counts sweep(size_t bytes, enum fm_access access, unsigned sweeps, bool prefetch, bool remote)
{
	struct fm_hierarchy *hierarchy;
	struct fm_simulated_core *core, *other;
	struct fm_core_counts before, after;
	struct fm_error error;

	assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
	hierarchy->prefetch = prefetch;
	core = fm_hierarchy_core(hierarchy, 0);
	if (remote) {
		/* touched first by the other socket, and pushed out of its private caches */
		other = fm_hierarchy_core(hierarchy, 12);
		for (size_t at = 0; at < bytes; at += LINE)
			fm_hierarchy_access(hierarchy, other, BASE + at, 8, FM_ACCESS_LOAD);
		fm_hierarchy_flush(hierarchy);
	}
	for (size_t at = 0; at < bytes; at += 8)
		fm_hierarchy_access(hierarchy, core, BASE + at, 8, access);
	before = core->counts;
	for (unsigned i = 0; i < sweeps; i++)
		for (size_t at = 0; at < bytes; at += 8)
			fm_hierarchy_access(hierarchy, core, BASE + at, 8, access);
	after = core->counts;
	for (size_t i = 0; i < sizeof(after) / sizeof(uint64_t); i++)
		((uint64_t *)&after)[i] -= ((uint64_t *)&before)[i];
	fm_hierarchy_destroy(hierarchy);
	return after;
}

static const struct fm_work work = {
    .instructions = 1000, .vector_calculations = 60, .vector_inserts = 7, .divisions = 5, .flops = 480};

static double value(const struct fm_core_counts *counts, const char *name)
{
	struct fm_error error;
	struct fm_figure figure;
	unsigned index;

	if (fm_simulated_find(events, name, &index, &error))
		fail_msg("%s", error.message);
	figure = fm_simulated_value(events, index, &(struct fm_truth){.work = &work, .counts = counts});
	assert_true(figure.available);
	assert_int_equal(figure.origin, FM_ORIGIN_simulated);
	return figure.value;
}

/* Three kernels without prefetching, every event by hand: loads that fit L2, stores that fit L3, loads from memory. Per
   line of 64 bytes there are eight accesses. */
static void events_are_what_they_say(void **state)
{
	enum { IN_L2 = 128 << 10, IN_L3 = 4 << 20, IN_MEMORY = 64 << 20 };
	const double a = IN_L2 / LINE, b = IN_L3 / LINE, c = IN_MEMORY / LINE;
	const struct fm_core_counts kernels[] = {sweep(IN_L2, FM_ACCESS_LOAD, 1, false, false),
	                                         sweep(IN_L3, FM_ACCESS_STORE, 1, false, false),
	                                         sweep(IN_MEMORY, FM_ACCESS_LOAD, 1, false, false)};
	const struct fm_core_counts written = sweep(IN_MEMORY, FM_ACCESS_STORE, 1, false, false);
	const struct {
		const char *name;
		double truth[3];
	} table[] = {
	    {"perf::L1-DCACHE-LOADS", {8 * a, 0, 8 * c}},
	    {"perf::L1-DCACHE-STORES", {0, 8 * b, 0}},
	    {"perf::L1-DCACHE-LOAD-MISSES", {a, b, c}},
	    {"INST_RETIRED:ANY", {1000, 1000, 1000}},
	    {"L1D:REPLACEMENT", {a, b, c}},
	    {"AVX_INSTS:CALC", {67, 67, 67}},
	    {"ARITH:DIVIDER_UOPS", {5, 5, 5}},
	    {"DTLB_LOAD_MISSES:WALK_DURATION", {0, 0, 30.0 * (IN_MEMORY >> 12)}},
	    {"MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_HITM", {0, 0, 0}},
	    {"OFFCORE_RESPONSE_0:LLC_MISS:REMOTE_HITM", {0, 0, 0}},
	    {"OFFCORE_RESPONSE_0:LLC_HIT:HITM_OTHER_CORE", {0, 0, 0}},
	    {"OFFCORE_RESPONSE_0:DEMAND_DATA_RD:LLC_HIT:HITM_OTHER_CORE", {0, 0, 0}},
	    {"UNC_C_LLC_VICTIMS:M_STATE", {0, 0, 0}},
	    {"UNC_M_CAS_COUNT:RD", {0, 0, c}},
	    {"UNC_M_CAS_COUNT:WR", {0, 0, 0}},
	    {"UNC_H_IMC_READS:NORMAL", {0, 0, c}},
	    {"UNC_H_IMC_WRITES:ALL", {0, 0, 0}},
	    {"MEM_LOAD_UOPS_RETIRED:L1_HIT", {7 * a, 0, 7 * c}},
	    {"MEM_LOAD_UOPS_RETIRED:L2_HIT", {a, 0, 0}},
	    {"MEM_LOAD_UOPS_RETIRED:L3_HIT", {0, 0, 0}},
	    {"MEM_LOAD_UOPS_RETIRED:L3_MISS", {0, 0, c}},
	    {"MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM", {0, 0, 0}},
	    {"L2_RQSTS:DEMAND_DATA_RD_HIT", {a, 0, 0}},
	    {"L2_RQSTS:DEMAND_DATA_RD_MISS", {0, 0, c}},
	    {"L2_RQSTS:ALL_RFO", {0, b, 0}},
	    {"L2_RQSTS:RFO_MISS", {0, b, 0}},
	    {"L2_RQSTS:RFO_HIT", {0, 0, 0}},
	    {"L2_TRANS:DEMAND_DATA_RD", {a, 0, c}},
	    {"L2_TRANS:RFO", {0, b, 0}},
	    {"L2_TRANS:L1D_WB", {0, b, 0}},
	    {"L2_TRANS:L2_WB", {0, b, 0}},
	    {"L2_TRANS:ALL_PF", {0, 0, 0}},
	    {"L2_LINES_IN:ALL", {0, b, c}},
	    {"OFFCORE_RESPONSE_0:ANY_DATA:ANY_RFO:L3_HIT:SNP_ANY", {0, b, 0}},
	    {"OFFCORE_RESPONSE_0:ANY_DATA:ANY_RFO:L3_MISS_LOCAL:SNP_ANY", {0, 0, c}},
	    {"OFFCORE_RESPONSE_0:ANY_DATA:ANY_RFO:L3_MISS_REMOTE:SNP_ANY", {0, 0, 0}},
	    {"UNC_C_LLC_LOOKUP:ANY", {0, 2 * b, c}},
	    {"UNC_C_LLC_LOOKUP:DATA_READ", {0, 0, c}},
	    {"UNC_C_LLC_LOOKUP:WRITE", {0, b, 0}},
	    {"UNC_C_TOR_INSERTS:OPC_DRD", {0, 0, c}},
	    {"UNC_C_TOR_INSERTS:OPC_RFO", {0, b, 0}},
	    {"UNC_H_REQUESTS:READS", {0, 0, c}},
	    {"UNC_H_IMC_WRITES:FULL", {0, 0, 0}},
	    {"UNC_Q_RXL_FLITS_G1:DRS_DATA", {0, 0, 0}},
	    {"UNC_Q_TXL_FLITS_G1:DRS_DATA", {0, 0, 0}},
	};
	unsigned counted = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		for (unsigned k = 0; k < 3; k++)
			if (value(&kernels[k], table[i].name) != table[i].truth[k])
				fail_msg("%s in kernel %u: %.0f instead of %.0f", table[i].name, k,
				         value(&kernels[k], table[i].name), table[i].truth[k]);
	/* a fourth, for what is written to memory: stores over more than L3 */
	assert_true(value(&written, "UNC_M_CAS_COUNT:WR") == c && value(&written, "UNC_H_IMC_WRITES:ALL") == c &&
	            value(&written, "UNC_H_IMC_WRITES:FULL") == c && value(&written, "UNC_C_LLC_VICTIMS:M_STATE") == c);
	/* none is left out but those that count cycles */
	for (unsigned i = 0; i < fm_simulated_count(events); i++)
		counted += fm_simulated_value(events, i, &(struct fm_truth){.counts = &kernels[0]}).available;
	assert_int_equal(counted, sizeof(table) / sizeof(table[0]));
}

/* What prefetching does to counters comes from the prefetchers: nothing but their switch differs. */
static void defects_emerge_from_prefetching(void **state)
{
	enum { BYTES = 64 << 20 };
	const double lines = BYTES / LINE;
	struct fm_core_counts without = sweep(BYTES, FM_ACCESS_LOAD, 1, false, false),
	                      with = sweep(BYTES, FM_ACCESS_LOAD, 1, true, false),
	                      stores = sweep(BYTES, FM_ACCESS_STORE, 1, true, false),
	                      within = sweep(128 << 10, FM_ACCESS_LOAD, 1, true, false);
	static const char hit[] = "OFFCORE_RESPONSE_0:ANY_DATA:ANY_RFO:L3_HIT:SNP_ANY",
	                  miss[] = "OFFCORE_RESPONSE_0:ANY_DATA:ANY_RFO:L3_MISS_LOCAL:SNP_ANY";

	(void)state;
	/* all data comes from memory, and the counter credits L2 with nearly all of it */
	assert_true(value(&without, "MEM_LOAD_UOPS_RETIRED:L2_HIT") == 0);
	print_message("of %.0f lines from memory: L2_HIT %.0f, L3_HIT %.0f, L3_MISS %.0f, L2_TRANS %.0f for %.0f\n",
	              lines, value(&with, "MEM_LOAD_UOPS_RETIRED:L2_HIT"), value(&with, "MEM_LOAD_UOPS_RETIRED:L3_HIT"),
	              value(&with, "MEM_LOAD_UOPS_RETIRED:L3_MISS"), value(&with, "L2_TRANS:DEMAND_DATA_RD"),
	              (double)(with.caches[1].load_hits + with.caches[1].load_misses));
	assert_true(value(&with, "MEM_LOAD_UOPS_RETIRED:L2_HIT") > 0.9 * lines);
	assert_true(value(&with, "MEM_LOAD_UOPS_RETIRED:L3_MISS") < 0.1 * lines);
	assert_true(value(&with, "UNC_H_REQUESTS:READS") == lines);
	/* too few misses off the core; together with the hits, the lines that came */
	assert_true(value(&without, miss) == lines);
	assert_true(value(&with, miss) > 0.2 * lines && value(&with, miss) < 0.6 * lines);
	print_message("off the core: hits %.0f, misses %.0f; L3 look-ups %.0f\n", value(&with, hit), value(&with, miss),
	              value(&with, "UNC_C_LLC_LOOKUP:ANY"));
	assert_near(value(&with, hit) + value(&with, miss), lines, 0.02 * lines);
	/* L1's prefetcher asks L2 too, but only while loads wait for lower levels: none when the data is in L2 */
	assert_true(value(&with, "L2_TRANS:DEMAND_DATA_RD") >
	            1.01 * (double)(with.caches[1].load_hits + with.caches[1].load_misses));
	assert_true(value(&within, "L2_TRANS:DEMAND_DATA_RD") == (128 << 10) / LINE);
	/* L3 look-ups include what goes on to memory */
	assert_true(value(&with, "UNC_C_LLC_LOOKUP:ANY") > lines && value(&without, "UNC_C_LLC_LOOKUP:ANY") == lines);
	/* ownership hits are seen only where a prefetcher was first */
	assert_true(value(&stores, "L2_RQSTS:RFO_HIT") > 0);
	assert_true(value(&stores, "UNC_C_LLC_LOOKUP:DATA_READ") < value(&stores, "UNC_C_LLC_LOOKUP:ANY"));
}

static void remote_lines_are_flits(void **state)
{
	enum { BYTES = 64 << 20 };
	struct fm_core_counts counts = sweep(BYTES, FM_ACCESS_LOAD, 1, false, true);

	(void)state;
	assert_true(value(&counts, "UNC_Q_RXL_FLITS_G1:DRS_DATA") == 8.0 * BYTES / LINE);
	assert_true(value(&counts, "OFFCORE_RESPONSE_0:ANY_DATA:ANY_RFO:L3_MISS_REMOTE:SNP_ANY") == BYTES / LINE);
	assert_true(value(&counts, "OFFCORE_RESPONSE_0:ANY_DATA:ANY_RFO:L3_MISS_LOCAL:SNP_ANY") == 0);
}

/* Two threads on a core: the erratum. */
static void shared_cores_lose_transfers(void **state)
{
	struct fm_core_counts counts = {.transfers_modified = 1000, .transfers_modified_loads = 1000};
	struct fm_error error;
	unsigned index;

	(void)state;
	assert_int_equal(fm_simulated_find(events, "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM", &index, &error), 0);
	assert_near(fm_simulated_value(events, index, &(struct fm_truth){.counts = &counts}).value, 1000, 1e-9);
	assert_near(fm_simulated_value(events, index, &(struct fm_truth){.counts = &counts, .smt = true}).value, 600,
	            1e-9);
}

/* Lines written on one socket and read on the other are told from those that stay on theirs. */
static void sockets_are_told_apart(void **state)
{
	struct fm_hierarchy *hierarchy;
	struct fm_error error;
	struct fm_simulated_core *writer, *near, *far;

	(void)state;
	assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
	hierarchy->prefetch = false;
	writer = fm_hierarchy_core(hierarchy, 0);
	near = fm_hierarchy_core(hierarchy, 1);
	far = fm_hierarchy_core(hierarchy, 12);
	for (unsigned i = 0; i < 100; i++)
		fm_hierarchy_access(hierarchy, writer, BASE + i * LINE, 8, FM_ACCESS_STORE);
	for (unsigned i = 0; i < 100; i++)
		fm_hierarchy_access(hierarchy, i < 70 ? far : near, BASE + i * LINE, 8, FM_ACCESS_LOAD);
	assert_true(value(&far->counts, "MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_HITM") == 70);
	assert_true(value(&far->counts, "OFFCORE_RESPONSE_0:LLC_MISS:REMOTE_HITM") == 70);
	assert_true(value(&far->counts, "MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM") == 0);
	assert_true(value(&near->counts, "OFFCORE_RESPONSE_0:LLC_HIT:HITM_OTHER_CORE") == 30);
	assert_true(value(&near->counts, "OFFCORE_RESPONSE_0:LLC_MISS:REMOTE_HITM") == 0);
	fm_hierarchy_destroy(hierarchy);
}

static void cycles_need_timing(void **state)
{
	struct fm_core_counts counts = {0};
	struct fm_timing_counts timing = {.cycles = 100,
	                                  .no_execute = 60,
	                                  .miss_pending_stall = 20,
	                                  .load_pending_stall = 25,
	                                  .store_buffer_full = 5};
	struct fm_error error;
	struct fm_figure figure;
	unsigned index;

	(void)state;
	assert_int_equal(fm_simulated_find(events, "cycle_activity.stalls_l1d_pending", &index, &error), 0);
	figure = fm_simulated_value(events, index, &(struct fm_truth){.counts = &counts});
	assert_false(figure.available);
	assert_non_null(strstr(figure.why, "--timing"));
	figure = fm_simulated_value(events, index, &(struct fm_truth){.counts = &counts, .timing = &timing});
	assert_true(figure.available && figure.value == 20);
	/* the erratum: more than the loads were waited for */
	assert_int_equal(fm_simulated_find(events, "CYCLE_ACTIVITY:STALLS_LDM_PENDING", &index, &error), 0);
	assert_true(fm_simulated_value(events, index, &(struct fm_truth){.counts = &counts, .timing = &timing}).value ==
	            55);
	assert_int_equal(fm_simulated_find(events, "L2_TRANS:L1D_WBB", &index, &error), -EINVAL);
	assert_non_null(strstr(error.message, "L2_TRANS:L1D_WB\""));
}

static void mistakes_are_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
	    {"A = loads +", "x:1: A: a number or name is missing"},
	    {"# c\n\nA = (loads", "x:3: A: a parenthesis is not closed"},
	    {"A = L9.load_hits", "no quantity \"L9.load_hits\""},
	    {"A = L1.nonsense", "no quantity"},
	    {"A = loads loads", "unexpected text"},
	    {"A = min(loads)", "min takes (a, b)"},
	    {"A: loads", "NAME = formula"},
	    {"A = loads\nA = stores", "x:2: A is there already"},
	    {"    a description of nothing", "comes after its event"},
	    {"A B = loads", "no blanks"},
	};
	struct fm_simulated_events *got;
	struct fm_error error;
	struct fm_figure figure;
	char deep[2048] = "A = ";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fm_simulated_parse(cases[i].text, "x", &description, &got, &error), -EBADMSG);
		if (!strstr(error.message, cases[i].words))
			fail_msg("%s: %s", cases[i].text, error.message);
	}
	for (int i = 0; i < 300; i++)
		strcat(deep, "(");
	assert_int_equal(fm_simulated_parse(deep, "x", &description, &got, &error), -EBADMSG);
	/* arithmetic; what divides by nothing is not there, which is not 0 */
	assert_int_equal(
	    fm_simulated_parse("A = 2 + 3 * (4 - 1) / 2 - -1\nB = loads / stores\nC = max(1, min(7, 5)) * 2", "x",
	                       &description, &got, &error),
	    0);
	assert_near(fm_simulated_value(got, 0, &(struct fm_truth){.counts = &(struct fm_core_counts){0}}).value, 7.5,
	            1e-9);
	figure = fm_simulated_value(got, 1, &(struct fm_truth){.counts = &(struct fm_core_counts){.loads = 5}});
	assert_false(figure.available);
	assert_non_null(strstr(figure.why, "divides by nothing"));
	assert_near(fm_simulated_value(got, 2, &(struct fm_truth){.counts = &(struct fm_core_counts){0}}).value, 10,
	            1e-9);
	fm_simulated_free(got);
}

static int set_up(void **state)
{
	struct fm_error error;

	(void)state;
	setenv("FATHOM_MACHINES", MACHINES, 1);
	if (fm_description_find("haswell-ep", &description, &error) ||
	    fm_simulated_load("haswell-ep", &events, &error)) {
		print_message("%s\n", error.message);
		return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fm_simulated_free(events);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(events_are_what_they_say), cmocka_unit_test(defects_emerge_from_prefetching),
	    cmocka_unit_test(remote_lines_are_flits),   cmocka_unit_test(shared_cores_lose_transfers),
	    cmocka_unit_test(sockets_are_told_apart),   cmocka_unit_test(cycles_need_timing),
	    cmocka_unit_test(mistakes_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
