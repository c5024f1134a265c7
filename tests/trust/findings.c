/* The literature's findings about Haswell-EP, rediscovered on the simulated one without a hint: Molka et al. (ICPE
   2017), tables 2 and 3 and figures 3 to 10; Röhl et al. (2015), section 1.4. The caches are smaller, so that it is
   quick. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trust/metrics.h"
#include "trust/tables.h"
#include "trust/validated.h"

static struct fm_machine_description machine;
static struct fm_matrix *matrix;
static struct fm_validation *validation;

static int set_up(void **state)
{
	(void)state;
	return validate_haswell(&machine, &matrix, &validation);
}

static int tear_down(void **state)
{
	(void)state;
	fm_validation_free(validation);
	fm_matrix_free(matrix);
	return 0;
}

static unsigned event(const char *name)
{
	int index = fm_matrix_find_event(matrix, name);

	if (index < 0)
		fail_msg("there is no event %s", name);
	return (unsigned)index;
}

static const struct fm_judgement *judgement(const char *name)
{
	return &validation->judgements[event(name)];
}

static const char *quantity_of(const struct fm_judgement *judged)
{
	return judged->quantity < 0 ? "" : matrix->quantities.quantities[judged->quantity].name;
}

/* Events for each of an atom, by the explanation: of the atom itself and of quantities it is part of. */
static double coefficient(const struct fm_judgement *judged, const char *atom)
{
	int index = fm_atom_find(&matrix->quantities, atom);
	double sum = 0;

	assert_true(index >= 0);
	for (unsigned i = 0; i < judged->term_count; i++) {
		const struct fm_term *term = &judged->terms[i];

		if (term->is_atom ? term->index == (unsigned)index
		                  : matrix->quantities.quantities[term->index].atoms >> index & 1 &&
		                        !(judged->unseen >> index & 1))
			sum += term->coefficient;
	}
	return sum;
}

static bool is_blind_to(const struct fm_judgement *judged, const char *words)
{
	char text[160];

	fm_judge_unseen_words(&matrix->quantities, judged->unseen, text, sizeof(text));
	return judged->class == FM_CLASS_blind && strstr(text, words);
}

/* The rows of table 2 and 3: the indicator there, and ours, which is that or nearer to the truth. */
static void indicators_are_the_best(void **state)
{
#define OCR "OFFCORE_RESPONSE_0:ANY_DATA:ANY_RFO:L3_"
	static const struct {
		const char *resource;
		bool write, socket;
		const char *events[3];
		double gbs; /* achievable, according to the table; 0: not checked, since this machine's share differs */
	} rows[] = {
	    {"L1", false, false, {"perf::L1-DCACHE-LOADS"}, 159.8},
	    {"L1", true, false, {"perf::L1-DCACHE-STORES"}, 79.9},
	    {"L2", false, false, {"L2_TRANS:DEMAND_DATA_RD", "L2_TRANS:RFO"}, 75.0},
	    {"L2", true, false, {"L2_TRANS:L1D_WB"}, 25.5},
	    {"L3", false, false, {OCR "HIT:SNP_ANY", OCR "MISS_LOCAL:SNP_ANY", OCR "MISS_REMOTE:SNP_ANY"}, 29.9},
	    {"L3", true, false, {"L2_TRANS:L2_WB"}, 15.0},
	    {"memory", false, false, {OCR "MISS_LOCAL:SNP_ANY"}, 10.4},
	    {"remote memory", false, false, {OCR "MISS_REMOTE:SNP_ANY"}, 8.0},
	    {"L3", false, true, {"UNC_C_TOR_INSERTS:OPC_DRD", "UNC_C_TOR_INSERTS:OPC_RFO"}, 342},
	    {"L3", true, true, {"UNC_C_LLC_LOOKUP:WRITE"}, 0},
	    {"memory", false, true, {"UNC_H_REQUESTS:READS"}, 63.1},
	    {"memory", true, true, {"UNC_H_IMC_WRITES:FULL"}, 0},
	    {"socket links", false, true, {"UNC_Q_RXL_FLITS_G1:DRS_DATA"}, 16.3},
	    {"socket links", true, true, {"UNC_Q_TXL_FLITS_G1:DRS_DATA"}, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct fm_resource *found = NULL;
		struct fm_indicator theirs;
		unsigned events[3], count = 0;
		bool same;
		char ours_text[240], theirs_text[240];

		for (unsigned k = 0; k < validation->resource_count; k++)
			if (!strcmp(validation->resources[k].name, rows[i].resource) &&
			    validation->resources[k].write == rows[i].write &&
			    validation->resources[k].socket == rows[i].socket)
				found = &validation->resources[k];
		assert_non_null(found);
		while (count < 3 && rows[i].events[count]) {
			events[count] = event(rows[i].events[count]);
			count++;
		}
		theirs = fm_indicator_fit(matrix, found->quantity, found->socket, events, count);
		same = count == found->indicator.count;
		for (unsigned k = 0; same && k < count; k++)
			same = events[k] == found->indicator.events[k];
		if (!same)
			print_message("%s %s: %s (%.2f %% off) instead of %s (%.2f %%)\n", rows[i].resource,
			              rows[i].write ? "write" : "read",
			              fm_indicator_text(matrix, &found->indicator, ours_text, sizeof(ours_text)),
			              100 * found->indicator.error,
			              fm_indicator_text(matrix, &theirs, theirs_text, sizeof(theirs_text)),
			              100 * theirs.error);
		assert_true(found->indicator.count > 0);
		assert_true(found->indicator.error <= theirs.error + 1e-9);
		if (rows[i].gbs > 0)
			assert_near(found->bandwidth_gbs, rows[i].gbs, 0.15 * rows[i].gbs);
	}
	/* no core event tells what is written to memory */
	for (unsigned k = 0; k < validation->resource_count; k++)
		if (strstr(validation->resources[k].name, "memory") && validation->resources[k].write &&
		    !validation->resources[k].socket)
			assert_int_equal(validation->resources[k].indicator.count, 0);
}

/* Runs that read memory at random, so many times as long, with all that was counted in them. */
static void lengthen_random(unsigned random, double times)
{
	for (unsigned r = 0; r < matrix->run_count; r++) {
		struct fm_run *run = &matrix->runs[r];

		if (!(run->own[random] > 0))
			continue;
		for (unsigned i = 0; i < matrix->quantities.atom_count; i++) {
			run->own[i] *= times;
			run->socket[i] *= times;
		}
		for (unsigned i = 0; i < matrix->event_count; i++) {
			for (unsigned k = 0; k < matrix->repeats; k++)
				fm_matrix_counts(matrix, i, r)[k] *= times;
			if (matrix->events[i].means)
				matrix->events[i].means[r] *= times;
		}
	}
}

/* That a factor is wrong for lines read at random does not depend on how long the run is that reads them; and without
   such a run nobody knows. */
static void short_runs_tell_what_long_ones_do(void **state)
{
	static const double lengths[] = {10, 1, 0.3, 0.1, 0.03};
	const unsigned quantity = (unsigned)fm_quantity_find(&matrix->quantities, "memory.reads_local");
	const unsigned random = (unsigned)fm_atom_find(&matrix->quantities, "memory.read_at_random");
	struct fm_indicator indicator;
	struct fm_run *runs;
	char text[240];

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		lengthen_random(random, lengths[i]);
		indicator = fm_indicator_best(matrix, validation->judgements, quantity, false);
		lengthen_random(random, 1 / lengths[i]);
		assert_true(indicator.count > 0 && indicator.coefficients[0] > 3);
		assert_false(fm_indicator_holds(&indicator));
		fm_indicator_limits(matrix, &indicator, text, sizeof(text));
		assert_non_null(strstr(text, "not for lines read at random (3.4 times too high)"));
	}
	runs = malloc(matrix->run_count * sizeof(*runs));
	assert_non_null(runs);
	memcpy(runs, matrix->runs, matrix->run_count * sizeof(*runs));
	for (unsigned r = 0; r < matrix->run_count; r++)
		matrix->runs[r].known &= matrix->runs[r].own[random] > 0 ? 0 : UINT64_MAX;
	indicator = fm_indicator_best(matrix, validation->judgements, quantity, false);
	memcpy(matrix->runs, runs, matrix->run_count * sizeof(*runs));
	free(runs);
	assert_false(fm_indicator_holds(&indicator));
	fm_indicator_limits(matrix, &indicator, text, sizeof(text));
	assert_string_equal(text, "not tested for lines read at random");
}

/* A factor that is right only while lines are prefetched is no metric. */
static void what_holds_for_some_accesses_is_no_metric(void **state)
{
	json_t *metrics = fm_metrics_to_json(validation), *metric;
	unsigned failing = 0;
	size_t index;
	char text[240];

	(void)state;
	for (unsigned i = 0; i < validation->resource_count; i++) {
		const struct fm_resource *resource = &validation->resources[i];

		if (strstr(resource->name, "memory") && !resource->write && !resource->socket) {
			assert_true(resource->indicator.fails != 0);
			assert_true(resource->indicator.fails_by > 2.5);
			fm_indicator_limits(matrix, &resource->indicator, text, sizeof(text));
			assert_non_null(strstr(text, "lines read at random"));
			failing++;
		} else {
			assert_true(!resource->indicator.count || !resource->indicator.fails);
		}
	}
	assert_int_equal(failing, 2);
	json_array_foreach(metrics, index, metric)
	    assert_false(!strcmp(json_string_value(json_object_get(metric, "scope")), "core") &&
	                 strstr(json_string_value(json_object_get(metric, "name")), "memory read"));
	json_decref(metrics);
}

static void misses_count_lines_with_ownership(void **state)
{
	(void)state;
	assert_int_equal(judgement("perf::L1-DCACHE-LOAD-MISSES")->class, FM_CLASS_exact);
	assert_string_equal(quantity_of(judgement("perf::L1-DCACHE-LOAD-MISSES")), "L1.lines_in");
}

/* What was prefetched is credited to the cache it was prefetched into. */
static void retired_loads_credit_the_wrong_level(void **state)
{
	const struct fm_judgement *l2 = judgement("MEM_LOAD_UOPS_RETIRED:L2_HIT"),
	                          *l3 = judgement("MEM_LOAD_UOPS_RETIRED:L3_MISS"),
	                          *hit = judgement("L2_RQSTS:DEMAND_DATA_RD_HIT");

	(void)state;
	assert_true(coefficient(l2, "L2.read_in_order") > 0.95);
	assert_true(coefficient(l2, "L3.read_in_order") > 0.5 && coefficient(l2, "memory.read_in_order") > 0.5);
	assert_true(coefficient(hit, "memory.read_in_order") > 0.5);
	assert_true(is_blind_to(l2, "RFO") && is_blind_to(l3, "RFO"));
	/* next to nothing of what is prefetched, ten times as much of the rest */
	assert_true(coefficient(l3, "memory.read_in_order") < 0.1);
	assert_true(coefficient(l3, "memory.read_at_random") > 10 * coefficient(l3, "memory.read_in_order"));
	assert_true(l3->error_mean < -0.5);
}

static void transfers_to_the_first_cache_are_too_many(void **state)
{
	const struct fm_judgement *reads = judgement("L2_TRANS:DEMAND_DATA_RD");

	(void)state;
	/* right within the second cache, too many beyond */
	assert_near(coefficient(reads, "L2.read_in_order"), 1, 0.03);
	assert_true(coefficient(reads, "L3.read_in_order") > 1.1 && coefficient(reads, "memory.read_in_order") > 1.1);
	assert_true(is_blind_to(reads, "RFO"));
}

static void offcore_misses_are_too_few_but_the_sum_is_right(void **state)
{
	const struct fm_judgement *miss = judgement(OCR "MISS_LOCAL:SNP_ANY"), *hit = judgement(OCR "HIT:SNP_ANY");
	unsigned parts[] = {event(OCR "HIT:SNP_ANY"), event(OCR "MISS_LOCAL:SNP_ANY"),
	                    event(OCR "MISS_REMOTE:SNP_ANY")};
	struct fm_indicator sum =
	    fm_indicator_fit(matrix, (unsigned)fm_quantity_find(&matrix->quantities, "L2.lines_in"), false, parts, 3);

	(void)state;
	/* all of what nobody prefetches, less than a third of the rest: no factor makes it a count of lines */
	assert_int_equal(miss->class, FM_CLASS_uneven);
	assert_near(coefficient(miss, "memory.read_at_random"), 1, 0.02);
	assert_near(coefficient(miss, "memory.read_in_order"), 0.3, 0.02);
	assert_true(miss->error_mean < -0.4);
	assert_true(coefficient(hit, "memory.read_in_order") > 0.4);
	assert_true(sum.error < 0.02);
	for (unsigned i = 0; i < 3; i++)
		assert_near(sum.coefficients[i], 1, 0.03);
}

static void lookups_include_memory(void **state)
{
	const struct fm_judgement *any = judgement("UNC_C_LLC_LOOKUP:ANY"),
	                          *reads = judgement("UNC_C_LLC_LOOKUP:DATA_READ");

	(void)state;
	assert_true(any->class == FM_CLASS_overlapping);
	assert_true(coefficient(any, "memory.read_in_order") > 0.9 && coefficient(any, "L3.written") > 0.9);
	assert_true(is_blind_to(reads, "RFO"));
}

static void errata(void **state)
{
	const struct fm_judgement *hits = judgement("L2_RQSTS:RFO_HIT"),
	                          *hitm = judgement("MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM");

	(void)state;
	/* nothing of what the second cache delivers itself */
	assert_true(coefficient(hits, "L2.ownership") == 0 && coefficient(hits, "memory.ownership") > 0.5);
	/* two at once: what a prefetcher asked for is not seen, and the erratum */
	assert_int_equal(hitm->class, FM_CLASS_indicator);
	assert_string_equal(quantity_of(hitm), "transfers");
	assert_true(hitm->error_mean < -0.5 && hitm->error_max < -0.2);
	assert_near(hitm->size, 0.4, 0.01);
	assert_non_null(strstr(hitm->reason, "prefetched lines were excluded"));
	assert_non_null(strstr(hitm->reason, "threads share a core"));
}

static void stall_events_are_told_apart(void **state)
{
	const struct fm_stalls *stalls = &validation->stalls;
	struct fm_cycle_formula formulas[FM_CYCLE_FORMULAS];

	(void)state;
	assert_int_equal(stalls->active, (int)event("CPU_CLK_UNHALTED"));
	assert_int_equal(stalls->total, (int)event("CYCLE_ACTIVITY:CYCLES_NO_EXECUTE"));
	assert_int_equal(stalls->loads, (int)event("CYCLE_ACTIVITY:STALLS_L1D_PENDING"));
	assert_int_equal(stalls->stores, (int)event("RESOURCE_STALLS:SB"));
	assert_int_equal(stalls->queue_count, 2);
	assert_non_null(
	    strstr(judgement("CYCLE_ACTIVITY:STALLS_LDM_PENDING")->reason, "counts waiting for arithmetic as well"));
	/* figure 10 */
	assert_int_equal(fm_metrics_cycles(validation, formulas), FM_CYCLE_FORMULAS);
	assert_string_equal(formulas[3].formula, "max(RESOURCE_STALLS:SB, CYCLE_ACTIVITY:STALLS_L1D_PENDING)");
	assert_string_equal(formulas[4].formula,
	                    "max(RESOURCE_STALLS:SB, L1D_PEND_MISS:FB_FULL + OFFCORE_REQUESTS_BUFFER:SQ_FULL)");
	/* 53 cycles to L3; 24 independent multiplications leave 29 of them */
	for (unsigned i = 0; i < stalls->test_count; i++)
		if ((int)stalls->tests[i].event == stalls->total) {
			assert_near(stalls->tests[i].plain[2], 52, 1.5);
			assert_near(stalls->tests[i].independent[2], 28.5, 1.5);
		}
}

/* Every level and kernel within what the seven streaming kernels showed: -6 % at worst; here a little of it is left. */
static void errors_by_kernel_are_small(void **state)
{
	struct fm_error_cell cells[FM_CELLS_MAX];
	unsigned count = fm_table_errors(validation, cells);

	(void)state;
	assert_true(count >= 24);
	for (unsigned i = 0; i < count; i++) {
		assert_true(fabs(cells[i].mean) <= 0.02);
		assert_true(cells[i].least >= -0.06 && cells[i].most <= 0.06);
	}
}

static void imbalance_and_sharing(void **state)
{
	struct fm_imbalance_row rows[FM_IMBALANCE_MAX];
	struct fm_sharing_table sharing;
	unsigned count = fm_table_imbalance(validation, rows), refused = 0;
	bool work = false;

	(void)state;
	assert_true(count >= 4);
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(rows[i].formula, "AVX_INSTS:CALC")) {
			work = true;
			assert_true(fabs(rows[i].error) < 0.01);
		}
	assert_true(work);
	/* no formula that is refused elsewhere tells anything of the product */
	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < validation->resource_count; k++) {
			const struct fm_resource *resource = &validation->resources[k];
			char text[320];

			fm_indicator_text(validation->matrix, &resource->indicator, text, sizeof(text));
			if (resource->socket || fm_indicator_holds(&resource->indicator) ||
			    strcmp(rows[i].formula, text) != 0)
				continue;
			print_message("%s: %s: %s\n", rows[i].metric, text, rows[i].refused);
			assert_true(*rows[i].refused);
			assert_near(rows[i].values[0] + rows[i].values[1] + rows[i].ratio, 0, 0);
			refused++;
		}
	assert_true(refused > 0);
	fm_table_sharing(validation, &sharing);
	assert_true(sharing.row_count >= 20 && sharing.event_count >= 5);
	/* what counts all requests is believed, what counts loads is not */
	assert_int_equal(judgement("OFFCORE_RESPONSE_0:LLC_HIT:HITM_OTHER_CORE")->class, FM_CLASS_exact);
	assert_int_equal(judgement("OFFCORE_RESPONSE_0:LLC_MISS:REMOTE_HITM")->class, FM_CLASS_exact);
	assert_int_equal(judgement("OFFCORE_RESPONSE_0:DEMAND_DATA_RD:LLC_HIT:HITM_OTHER_CORE")->class,
	                 FM_CLASS_indicator);
	assert_int_equal(judgement("MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_HITM")->class, FM_CLASS_indicator);
	for (unsigned r = 0; r < sharing.row_count; r++)
		for (unsigned i = 0; i < sharing.event_count; i++)
			if (sharing.events[i] == event("OFFCORE_RESPONSE_0:LLC_HIT:HITM_OTHER_CORE") &&
			    !sharing.rows[r].remote)
				assert_near(sharing.rows[r].counts[i], sharing.rows[r].model,
				            0.02 * sharing.rows[r].model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(indicators_are_the_best),
	    cmocka_unit_test(what_holds_for_some_accesses_is_no_metric),
	    cmocka_unit_test(short_runs_tell_what_long_ones_do),
	    cmocka_unit_test(misses_count_lines_with_ownership),
	    cmocka_unit_test(retired_loads_credit_the_wrong_level),
	    cmocka_unit_test(transfers_to_the_first_cache_are_too_many),
	    cmocka_unit_test(offcore_misses_are_too_few_but_the_sum_is_right),
	    cmocka_unit_test(lookups_include_memory),
	    cmocka_unit_test(errata),
	    cmocka_unit_test(stall_events_are_told_apart),
	    cmocka_unit_test(errors_by_kernel_are_small),
	    cmocka_unit_test(imbalance_and_sharing),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
