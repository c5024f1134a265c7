#include "squeeze/effective.h"

#include <errno.h>
#include <stdlib.h>

#include "squeeze/scene.h"
#include "squeeze/tuning.h"

enum { ROUNDS = 40 };

static int run(struct fm_scene *scene, double lines, bool threads, struct fm_effective *effective,
               struct fm_error *error)
{
	struct fm_scene_mark mark;
	int status = 0;

	for (unsigned i = 0;
	     i < ROUNDS && !status && fm_scene_mark(&scene->streams[0]).memory_lines < FILLED_BY * lines; i++)
		status = fm_scene_run(scene, (uint64_t)(ALONE_ACCESSES * lines), 1, error);
	if (!status && threads)
		status = fm_scene_run(scene, (uint64_t)(TOGETHER_ACCESSES * lines), 0, error);
	if (status)
		return status;
	mark = fm_scene_mark(&scene->streams[0]);
	status = fm_scene_run(scene, (uint64_t)(COUNTED_ACCESSES * lines), 0, error);
	if (status)
		return status;
	mark = fm_scene_since(&scene->streams[0], &mark);
	effective->misses = (double)mark.misses / (double)mark.references;
	return 0;
}

int fm_effective_measure(const struct fm_machine_description *machine, const struct fm_effective_wish *wish,
                         struct fm_effective *ret_effective, struct fm_error *error)
{
	const struct fm_cache_description *cache = &machine->caches[machine->cache_count - 1];
	double lines = (double)fm_cache_available(cache) / machine->line_bytes;
	struct fm_effective effective = {0};
	struct fm_expected *expected;
	struct fm_scene *scene;
	int status;

	if (wish->bytes <= fm_cache_available(cache))
		return fm_error_set(error, EINVAL,
		                    "the size of the cache cannot be inferred: the buffer fits the cache");
	status = fm_scene_create(machine, false, &scene, error);
	if (status)
		return status;
	expected = malloc(sizeof(*expected));
	if (!expected || !fm_scene_add_probe(scene, wish->distribution, wish->bytes, wish->additions, wish->seed))
		status = fm_error_set(error, ENOMEM, "out of memory");
	for (unsigned i = 0; i < wish->threads && !status; i++)
		if (!fm_scene_add_storage_thread(scene, wish->thread_bytes, wish->seed + 1 + i))
			status = fm_error_set(error, EINVAL, "%s has too few cores for a program and %u more threads",
			                      machine->name, wish->threads);
	if (!status)
		status = run(scene, lines, wish->threads > 0, &effective, error);
	if (!status) {
		fm_expected_prepare(wish->distribution, wish->bytes / machine->line_bytes, expected);
		for (unsigned i = 0; i < FM_EXPECTED_COUNT; i++) {
			effective.expected[i] = 1 - fm_expected_hits(expected, i, lines);
			effective.capacity[i] =
			    fm_expected_capacity(expected, i, 1 - effective.misses) * machine->line_bytes;
		}
		*ret_effective = effective;
	}
	free(expected);
	fm_scene_destroy(scene);
	return status;
}
