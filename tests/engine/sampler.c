#include "check.h"

#include "engine/sampler.h"
#include "observe/parts.h"

uint64_t sample_by_observer(char *const *program, const char *machine, const char *folder, uint64_t every)
{
	const struct fm_observation wanted = {.program = program, .machine = machine};
	struct fm_engine_sampled sampled;
	struct fm_error error;

	if (fm_engine_sample(&wanted, folder, every, &sampled, &error))
		fail_msg("%s", error.message);
	assert_int_equal(sampled.end.status, 0);
	assert_true(sampled.end.seconds > 0 && sampled.end.cpu_seconds > 0);
	/* the sampler has the same name as the observer that counts */
	assert_int_equal(fm_observer_find("exact")->kind, FM_OBSERVER_ENGINE);
	assert_int_equal(fm_observer_sampler_exact.kind, FM_OBSERVER_SAMPLER);
	return sampled.references;
}
