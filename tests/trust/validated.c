#include "trust/validated.h"

#include <stdio.h>

#include "trust/simulate.h"

int validate_haswell(struct fm_machine_description *ret_machine, struct fm_matrix **ret_matrix,
                     struct fm_validation **ret_validation)
{
	const struct fm_plan_options options = {
	    .isas = 1u << FM_ISA_scalar | 1u << FM_ISA_sse | 1u << FM_ISA_avx2, .unit = 1024, .triangle = 1024};
	struct fm_simulate_options simulate = {.repeats = 10, .seed = 1};
	const struct fm_validation_options judge = {0};
	struct fm_simulated_events *events = NULL;
	struct fm_floors *floors = NULL;
	struct fm_plan *plan = NULL;
	struct fm_error error;

	if (fm_description_read(MACHINES "/haswell-ep.machine", ret_machine, &error) ||
	    fm_plan_scale_machine(ret_machine, 8, &error) || fm_plan_build(ret_machine, &options, &plan, &error) ||
	    fm_simulated_load(MACHINES "/haswell-ep.machine", &events, &error) ||
	    fm_floors_load(MACHINES "/haswell-ep.machine", &floors, &error)) {
		fprintf(stderr, "%s\n", error.message);
		return -1;
	}
	simulate.floors = floors;
	if (fm_simulate_matrix(ret_machine, plan, events, &simulate, ret_matrix, &error) ||
	    fm_validation_create(*ret_matrix, &judge, ret_validation, &error)) {
		fprintf(stderr, "%s\n", error.message);
		return -1;
	}
	fm_simulated_free(events);
	fm_floors_free(floors);
	fm_plan_free(plan);
	return 0;
}
