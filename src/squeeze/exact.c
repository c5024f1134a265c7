/* The simulated machine itself has less: the cache is smaller, or memory gives fewer GB/s. Nothing else runs, so
   nothing but that resource is taken. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "observe/machines.h"
#include "observe/parts.h"
#include "squeeze/ranks.h"
#include "squeeze/tuning.h"

static int probe(const struct fm_squeeze_wishes *wishes, struct fm_error *why)
{
	return wishes->observation.machine
	           ? 0
	           : fm_error_set(why, ENOTSUP,
	                          "exact needs a simulated machine: --machine NAME, or --machine host for this one");
}

static void add_counts(const struct fm_machine_description *machine, unsigned cache,
                       const struct fm_core_counts *counts, const struct fm_timing_counts *timing,
                       struct fm_recorded_squeeze_step *step)
{
	unsigned last = machine->cache_count - 1;

	step->cycles = timing->cycles > step->cycles ? timing->cycles : step->cycles;
	step->instructions += timing->instructions;
	step->references += counts->loads + counts->stores;
	step->misses += counts->caches[cache].load_misses + counts->caches[cache].store_misses;
	step->requests += counts->caches[cache].load_hits + counts->caches[cache].store_hits +
	                  counts->caches[cache].load_misses + counts->caches[cache].store_misses;
	step->lines += counts->caches[cache].lines_demand + counts->caches[cache].lines_ownership +
	               counts->caches[cache].lines_prefetch;
	step->memory_bytes += (counts->memory_reads + counts->memory_writes) * machine->line_bytes;
	step->latency_cycles +=
	    timing->instructions +
	    (counts->caches[last].load_misses + counts->caches[last].store_misses) * machine->memory_latency;
	for (unsigned i = 1; i <= last; i++)
		step->latency_cycles +=
		    (counts->caches[i].load_hits + counts->caches[i].store_hits) * machine->caches[i].latency;
}

static int find_level(const struct fm_machine_description *machine, const char *level, unsigned *ret_cache,
                      struct fm_error *error)
{
	for (unsigned i = machine->cache_count; i-- > 1;)
		if (!level || !strcasecmp(machine->caches[i].name, level)) {
			*ret_cache = i;
			return 0;
		}
	return fm_error_set(error, EINVAL, "--level: %s has no cache %s that can be squeezed (%s to %s can)",
	                    machine->name, level ? level : "", machine->cache_count > 1 ? machine->caches[1].name : "",
	                    machine->caches[machine->cache_count - 1].name);
}

static struct fm_observation observation_of(const struct fm_squeeze_wishes *wishes)
{
	struct fm_observation wanted = wishes->observation;

	wanted.timing = true;
	return wanted;
}

/* The cache above must stay smaller: an inclusive cache that is not much larger than it would squeeze that one. */
static void set_axes(struct fm_squeeze_session *session, const struct fm_machine_description *machine)
{
	const struct fm_recorded_squeeze *how = &session->recording->squeezes[0];

	session->capacity.full = how->bytes;
	session->capacity.least =
	    fmax(how->bytes / CAPACITY_PARTS, 2.0 * (double)fm_cache_available(&machine->caches[how->cache - 1]));
	session->bandwidth.full = how->gbs;
	session->bandwidth.least = how->gbs / BANDWIDTH_PARTS;
}

static int begin(struct fm_squeeze_session *session, struct fm_error *error)
{
	const struct fm_squeeze_wishes *wishes = session->wishes;
	struct fm_observation wanted = observation_of(wishes);
	struct fm_machine_description machine;
	struct fm_recording *recording = NULL;
	struct fm_recorded_squeeze *how;
	struct fm_recorded_squeeze_step *step;
	const struct fm_engine_options native = {.curve = true, .timing = true};
	struct fm_error ignored;
	unsigned cache = 0;
	int r = fm_machine_chosen(wanted.machine, &machine, error);

	if (r) {
		if (error->code == ENOENT || error->code == EBADMSG)
			error->code = EINVAL;
		return -error->code;
	}
	r = find_level(&machine, wishes->level, &cache, error);
	if (r)
		return r;
	if (wishes->ranks) {
		r = cache + 1 < machine.cache_count
		        ? fm_error_set(error, EINVAL, "--ranks: ranks share %s, not %s",
		                       machine.caches[machine.cache_count - 1].name, machine.caches[cache].name)
		        : fm_ranks_plan(wishes->mapping, wishes->ranks, &machine, session->mappings,
		                        &session->mapping_count, error);
		if (!r && fm_engine_check_tracing(&native, wanted.program[0], error)) {
			if (error->code == ENOTSUP)
				fm_error_prefix(error, "--ranks");
			r = -error->code;
		}
		if (r)
			return r;
	}
	/* what cannot be preloaded has no curve */
	wanted.curve = !fm_engine_check_tracing(&native, wanted.program[0], &ignored);
	r = fm_observe(&wanted, &recording, error);
	if (r && !recording)
		return r;
	snprintf(recording->run.verb, sizeof(recording->run.verb), "squeeze");
	session->recording = recording;
	if (r)
		return r;
	how = fm_recording_add(recording, squeezes);
	step = fm_recording_add(recording, squeeze_steps);
	if (!how || !step)
		return fm_error_set(error, ENOMEM, "out of memory");
	*how = (struct fm_recorded_squeeze){.cache = cache,
	                                    .bytes = (double)fm_cache_available(&machine.caches[cache]),
	                                    .gbs = machine.memory_gbs,
	                                    .noticeable = NOTICEABLE_SIMULATED};
	snprintf(how->backend, sizeof(how->backend), "exact");
	snprintf(how->level, sizeof(how->level), "%s", machine.caches[cache].name);
	snprintf(how->calibration, sizeof(how->calibration),
	         "not needed: the limits of the simulated machine are exact, and no other load runs");
	set_axes(session, &machine);
	*step = (struct fm_recorded_squeeze_step){.bytes = how->bytes, .gbs = how->gbs};
	for (size_t i = 0; i < recording->threads_count; i++)
		add_counts(&machine, cache, &recording->threads[i].counts, &recording->threads[i].timing, step);
	if (!step->cycles)
		return fm_error_set(error, EIO, "the program's cycles were not simulated");
	return 0;
}

/* The machine with limits of cache and bandwidth. */
static int squeezed(const struct fm_recorded_squeeze *how, double bytes, double gbs,
                    struct fm_machine_description *machine, struct fm_error *error)
{
	struct fm_cache_description *cache = &machine->caches[how->cache];
	uint64_t unit = (uint64_t)machine->line_bytes * cache->ways;

	/* ways are taken away, as hardware that partitions caches does; trees of ways cannot lose any, so sets are */
	if (cache->replacement == FM_REPLACEMENT_TREE)
		cache->bytes = (uint64_t)bytes / unit > 0 ? (uint64_t)bytes / unit * unit : unit;
	else if (bytes < how->bytes)
		cache->available = (uint64_t)bytes / machine->line_bytes * machine->line_bytes;
	machine->memory_gbs = gbs;
	return fm_description_check(machine, error);
}

static void add_process(const struct fm_results *results, const struct fm_machine_description *machine, unsigned cache,
                        struct fm_recorded_squeeze_step *step)
{
	for (unsigned i = 0; i < results->thread_count; i++) {
		struct fm_core_counts counts;
		struct fm_timing_counts timing;

		fm_result_thread_counts(results, i, &counts, &timing);
		add_counts(machine, cache, &counts, &timing, step);
	}
}

static int add_step(const struct fm_engine_run *run, const struct fm_machine_description *machine, double bytes,
                    double gbs, unsigned ranks, struct fm_recording *recording, struct fm_error *error)
{
	const struct fm_recorded_squeeze *how = &recording->squeezes[0];
	struct fm_recorded_squeeze_step step = {.bytes = bytes, .gbs = gbs}, *row = NULL;
	struct fm_recorded_rank_step *shared = NULL;
	double work;

	add_process(run->results, machine, how->cache, &step);
	/* children, and a shell that executed the program: the first run has them as well */
	for (unsigned i = 0; i < run->forked_count; i++)
		add_process(run->forked[i], machine, how->cache, &step);
	work = (double)step.instructions / (double)recording->squeeze_steps[0].instructions;
	if (run->exit_status != recording->run.exit_status || !step.cycles || fabs(work - 1) > SAME_WORK)
		return fm_error_set(
		    error, ECANCELED,
		    "the program does not repeat its work: it ended with %d instead of %d, after %.1f %% of the "
		    "instructions",
		    run->exit_status, (int)recording->run.exit_status, 100 * work);
	if (ranks > 1) {
		shared = fm_recording_add(recording, rank_steps);
		if (shared)
			*shared = (struct fm_recorded_rank_step){.ranks = ranks,
			                                         .bytes = bytes,
			                                         .gbs = gbs,
			                                         .cycles = step.cycles,
			                                         .instructions = step.instructions,
			                                         .requests = step.requests,
			                                         .misses = step.misses,
			                                         .memory_bytes = step.memory_bytes};
	} else {
		row = fm_recording_add(recording, squeeze_steps);
		if (row)
			*row = step;
	}
	return row || shared ? 0 : fm_error_set(error, ENOMEM, "out of memory");
}

/* Each rank runs once, as ranks do. One that was started again would bring its memory into the cache a second time. */
static int check_others(const struct fm_engine_run *run, unsigned count, struct fm_error *error)
{
	if (run->forked_count)
		return fm_error_set(
		    error, ECANCELED,
		    "rank 0 starts other programs, which do not share its cache with other ranks: give the program "
		    "itself, without a shell");
	for (unsigned i = 0; i < count; i++)
		if (run->beside[i].ended && run->beside[i].exit_status != run->exit_status)
			return fm_error_set(error, ECANCELED, "rank %u ended with %d, and rank 0 with %d", i + 1,
			                    run->beside[i].exit_status, run->exit_status);
	return 0;
}

static int take(struct fm_squeeze_session *session, enum fm_squeeze_role role, double bytes, double gbs,
                struct fm_error *error)
{
	struct fm_observation wanted = observation_of(session->wishes);
	struct fm_recording *recording = session->recording;
	char *const *others[FM_ENGINE_BESIDE_MAX];
	struct fm_machine_description machine = recording->machine;
	struct fm_engine_options options;
	struct fm_engine_run run;
	char cores[32];
	int r, saved;

	(void)role;
	if (session->ranks > 1) {
		wanted.beside_count = session->ranks - 1;
		wanted.beside = others;
		for (unsigned i = 0; i < wanted.beside_count; i++)
			others[i] = wanted.program;
	}
	r = squeezed(&recording->squeezes[0], bytes, gbs, &machine, error);
	if (!r)
		r = fm_engine_wishes(&wanted, &machine, cores, sizeof(cores), &options, error);
	if (r)
		return r;
	/* as the first run */
	if (recording->distances_count)
		options.kind = FM_ENGINE_NATIVE;
	options.ranks = session->wishes->ranks;
	options.silent = true;
	fm_input_rewind();
	saved = fm_output_divert();
	r = fm_engine_execute(&options, wanted.program, &run, error);
	fm_output_restore(saved);
	if (r)
		return r;
	r = session->ranks > 1 ? check_others(&run, session->ranks - 1, error) : 0;
	if (!r)
		r = add_step(&run, &machine, bytes, gbs, session->ranks, recording, error);
	fm_engine_run_free(&run);
	return r;
}

const struct fm_squeeze_backend fm_squeeze_exact = {
    .name = "exact",
    .takes = "ways of the simulated cache, GB/s of the simulated memory",
    .takes_both = true,
    .has_ranks = true,
    .probe = probe,
    .begin = begin,
    .run = take,
};
