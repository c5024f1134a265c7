/* The plan's truth, which follows from the kernels' declarations, against what the simulator counts. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trust/feed.h"
#include "trust/simulate.h"

static struct fm_machine_description machine;
static struct fm_plan *plan;
static unsigned factor = 8;

static int set_up(void **state)
{
	const struct fm_plan_options options = {
	    .isas = 1u << FM_ISA_scalar | 1u << FM_ISA_sse | 1u << FM_ISA_avx2, .unit = 1024, .triangle = 1024};
	struct fm_error error;

	(void)state;
	if (fm_description_read(MACHINES "/haswell-ep.machine", &machine, &error) ||
	    fm_plan_scale_machine(&machine, factor, &error) || fm_plan_build(&machine, &options, &plan, &error)) {
		print_error("%s\n", error.message);
		return -1;
	}
	return 0;
}

static uint64_t lines_in(const struct fm_cache_counts *cache)
{
	return cache->lines_demand + cache->lines_ownership + cache->lines_prefetch;
}

static double quantity(const struct fm_plan_entry *entry, const char *name, bool socket)
{
	int index = fm_quantity_find(&plan->quantities, name);
	double sum = 0;

	assert_true(index >= 0);
	if (plan->quantities.quantities[index].atoms & ~(socket ? entry->run.known_socket : entry->run.known) ||
	    (!socket && plan->quantities.quantities[index].shared))
		return NAN;
	for (uint64_t set = plan->quantities.quantities[index].atoms; set; set &= set - 1)
		sum += (socket ? entry->run.socket : entry->run.own)[__builtin_ctzll(set)];
	return sum;
}

/* Everything a streaming kernel or a chase moves, at every level, for one core and for the socket: the model is the
   simulator's count. Where prefetchers guess wrong, it is not quite. */
static void model_is_what_happens(void **state)
{
	unsigned checked = 0, exact = 0;
	double worst = 0;

	(void)state;
	for (unsigned i = 0; i < plan->count; i++) {
		const struct fm_plan_entry *entry = &plan->entries[i];
		struct fm_simulated_run run;
		struct fm_error error;

		assert_int_equal(fm_simulate_run(&machine, plan, entry, &run, &error), 0);
		for (int socket = 0; socket < 2; socket++) {
			const struct fm_core_counts *counts = socket ? &run.socket : &run.own;
			const struct {
				const char *name;
				uint64_t counted;
			} pairs[] = {
			    {"loads", counts->loads},
			    {"stores", counts->stores},
			    {"L1.lines_in", lines_in(&counts->caches[0])},
			    {"L2.lines_in", lines_in(&counts->caches[1])},
			    {"memory.reads", counts->memory_reads},
			    {"memory.reads_remote", counts->memory_reads_remote},
			    {"L1.lines_out", counts->caches[0].lines_written},
			    {"L2.lines_out", counts->caches[1].lines_written},
			    {"memory.writes", counts->memory_writes},
			    {"memory.writes_remote", counts->memory_writes_remote},
			    {"transfers_all", counts->transfers_modified},
			    {"L1.lines_in_ownership", counts->caches[0].lines_ownership},
			};
			double most = (double)(counts->loads + counts->stores);

			for (size_t k = 0; k < sizeof(pairs) / sizeof(pairs[0]); k++) {
				/* which lines are evicted from a shared cache in a short time depends on the order of
				   the cores */
				double limit = strncmp(pairs[k].name, "memory.writ", 11) ? 0.03 : 0.08;
				double truth = quantity(entry, pairs[k].name, socket), off;

				if (isnan(truth) || !(most > 0))
					continue;
				off = truth > 0 ? fabs((double)pairs[k].counted - truth) / truth
				                : (double)pairs[k].counted / most;
				checked++;
				exact += off == 0;
				if (off > worst)
					worst = off;
				if (off > limit)
					fail_msg("%s: %s of the %s is %.0f, simulated %lu\n", entry->run.name,
					         pairs[k].name, socket ? "socket" : "core", truth,
					         (unsigned long)pairs[k].counted);
			}
		}
	}
	print_message("%u figures, %u exactly as modelled, the worst %.1f %% off\n", checked, exact, 100 * worst);
	assert_true(worst <= 0.08);
	assert_true(exact > 0.97 * checked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(model_is_what_happens),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
