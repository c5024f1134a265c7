#include "squeeze/scene.h"

#include <errno.h>
#include <stdlib.h>

enum {
	PAGE = 4096,
	INTEGER = 4,
	LONG = 8,
	/* additions after an access: a random number takes a few, an index one */
	STORAGE_GAP = 4,
	BANDWIDTH_GAP = 1,
};

int fm_scene_create(const struct fm_machine_description *machine, bool timed, struct fm_scene **ret_scene,
                    struct fm_error *error)
{
	struct fm_scene *scene = calloc(1, sizeof(*scene));
	int status;

	if (!scene)
		return fm_error_set(error, ENOMEM, "out of memory");
	scene->timed = timed;
	status = fm_hierarchy_create(machine, &scene->hierarchy, error);
	if (status)
		free(scene);
	else
		*ret_scene = scene;
	return status;
}

void fm_scene_destroy(struct fm_scene *scene)
{
	if (!scene)
		return;
	for (unsigned i = 0; i < scene->count; i++)
		fm_core_timing_destroy(scene->streams[i].timing);
	fm_hierarchy_destroy(scene->hierarchy);
	free(scene);
}

static struct fm_together_stream *add(struct fm_scene *scene, fm_together_function *next, unsigned gap,
                                      const struct fm_scene_actor *actor)
{
	unsigned at = scene->count;
	struct fm_together_stream *stream = &scene->streams[at];
	struct fm_error ignored;

	if (at == FM_SCENE_STREAMS || at == scene->hierarchy->core_count)
		return NULL;
	scene->actors[at] = *actor;
	*stream = (struct fm_together_stream){
	    .next = next, .context = &scene->actors[at], .space = at, .core = at, .gap = gap};
	if (scene->timed && fm_core_timing_create(scene->hierarchy, at, &stream->timing, &ignored))
		return NULL;
	scene->count++;
	return stream;
}

static bool probe_next(void *context, struct fm_together_reference *ret_reference)
{
	struct fm_scene_actor *actor = context;
	double place = fm_distribution_draw(actor->distribution, &actor->random);
	uint64_t integers = actor->bytes / INTEGER, index = (uint64_t)(place * (double)integers);

	*ret_reference = (struct fm_together_reference){PAGE + index * INTEGER, INTEGER, FM_ACCESS_LOAD};
	return true;
}

struct fm_together_stream *fm_scene_add_probe(struct fm_scene *scene, const struct fm_distribution *distribution,
                                              uint64_t bytes, unsigned additions, uint64_t seed)
{
	struct fm_scene_actor actor = {.distribution = distribution, .bytes = bytes};

	fm_random_seed(&actor.random, seed);
	return add(scene, probe_next, additions, &actor);
}

static bool mixture_next(void *context, struct fm_together_reference *ret_reference)
{
	struct fm_scene_actor *actor = context;
	const struct fm_scene_mixture *mixture = &actor->mixture;
	uint64_t address;

	if (fm_random_below(&actor->random, 100) < mixture->sweep_percent) {
		address = mixture->random_bytes + actor->at;
		actor->at = actor->at + LONG < mixture->sweep_bytes ? actor->at + LONG : 0;
	} else {
		address = fm_random_below(&actor->random, mixture->random_bytes / LONG) * LONG;
	}
	*ret_reference = (struct fm_together_reference){PAGE + address, LONG, FM_ACCESS_LOAD};
	return true;
}

struct fm_together_stream *fm_scene_add_mixture(struct fm_scene *scene, const struct fm_scene_mixture *mixture,
                                                unsigned additions, uint64_t seed)
{
	struct fm_scene_actor actor = {.mixture = *mixture};

	fm_random_seed(&actor.random, seed);
	return add(scene, mixture_next, additions, &actor);
}

static bool storage_next(void *context, struct fm_together_reference *ret_reference)
{
	struct fm_scene_actor *actor = context;
	uint64_t index = fm_random_below(&actor->random, actor->bytes / INTEGER);

	*ret_reference = (struct fm_together_reference){PAGE + index * INTEGER, INTEGER, FM_ACCESS_STORE};
	return true;
}

struct fm_together_stream *fm_scene_add_storage_thread(struct fm_scene *scene, uint64_t bytes, uint64_t seed)
{
	struct fm_scene_actor actor = {.bytes = bytes};

	fm_random_seed(&actor.random, seed);
	return add(scene, storage_next, STORAGE_GAP, &actor);
}

static bool bandwidth_next(void *context, struct fm_together_reference *ret_reference)
{
	struct fm_scene_actor *actor = context;
	/* each buffer is an allocation of its own, which begins at a page */
	uint64_t distance = (actor->bytes + PAGE - 1) / PAGE * PAGE + PAGE;
	uint64_t index = FM_BANDWIDTH_PRIME * actor->at % (actor->bytes / LONG);

	*ret_reference =
	    (struct fm_together_reference){PAGE + actor->buffer * distance + index * LONG, LONG, FM_ACCESS_STORE};
	if (++actor->buffer == FM_BANDWIDTH_BUFFERS) {
		actor->buffer = 0;
		actor->at++;
	}
	return true;
}

struct fm_together_stream *fm_scene_add_bandwidth_thread(struct fm_scene *scene, uint64_t bytes)
{
	const struct fm_scene_actor actor = {.bytes = bytes};

	return add(scene, bandwidth_next, BANDWIDTH_GAP, &actor);
}

/* A stream that comes later begins when the first one is that far. */
static void join(struct fm_scene *scene, struct fm_together_stream *stream)
{
	if (stream->references || stream->time >= scene->streams[0].time)
		return;
	stream->time = scene->streams[0].time;
	if (stream->timing)
		fm_core_skip(stream->timing, stream->time);
}

int fm_scene_run(struct fm_scene *scene, uint64_t references, unsigned only, struct fm_error *error)
{
	const struct fm_together_limits limits = {.most = references, .first_decides = true, .others_go_on = true};
	unsigned count = only && only < scene->count ? only : scene->count;

	for (unsigned i = 1; i < count; i++)
		join(scene, &scene->streams[i]);
	return fm_together_run(scene->hierarchy, scene->streams, count, FM_TOGETHER_BY_TIME, &limits, error);
}

struct fm_scene_mark fm_scene_mark(const struct fm_together_stream *stream)
{
	return (struct fm_scene_mark){
	    .references = stream->references,
	    .misses = stream->served[FM_SERVED_MEMORY] + stream->served[FM_SERVED_REMOTE],
	    .time = stream->time,
	    .memory_lines = stream->counts.memory_reads + stream->counts.memory_writes,
	};
}

struct fm_scene_mark fm_scene_since(const struct fm_together_stream *stream, const struct fm_scene_mark *mark)
{
	struct fm_scene_mark now = fm_scene_mark(stream);

	now.references -= mark->references;
	now.misses -= mark->misses;
	now.time -= mark->time;
	now.memory_lines -= mark->memory_lines;
	return now;
}

double fm_scene_bandwidth(const struct fm_scene *scene, const struct fm_scene_mark *since)
{
	const struct fm_machine_description *machine = &scene->hierarchy->description;

	return since->time
	           ? (double)since->memory_lines * machine->line_bytes / (double)since->time * machine->frequency_ghz
	           : 0;
}
