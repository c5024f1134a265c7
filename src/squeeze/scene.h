/* Programs as streams of addresses, and threads that take cache or bandwidth, on a simulated machine. Each has its own
   core and address space; all run in the order of simulated time. */
#ifndef FATHOM_SQUEEZE_SCENE_H
#define FATHOM_SQUEEZE_SCENE_H

#include "simulator/together.h"
#include "interference/distributions.h"

enum { FM_SCENE_STREAMS = 16 };

/* A stand-in for a program: its accesses go to random lines of one part of its memory and sweep through another part,
   line by line. */
struct fm_scene_mixture {
	uint64_t random_bytes, sweep_bytes;
	unsigned sweep_percent; /* share of the accesses */
};

struct fm_scene_actor {
	struct fm_random random;
	const struct fm_distribution *distribution; /* of a probabilistic program */
	struct fm_scene_mixture mixture;            /* of a stand-in */
	uint64_t bytes;                             /* size of its buffer; of a bandwidth thread, of each */
	uint64_t at;
	unsigned buffer;
};

struct fm_scene {
	struct fm_hierarchy *hierarchy;
	bool timed;
	unsigned count;
	struct fm_together_stream streams[FM_SCENE_STREAMS];
	struct fm_scene_actor actors[FM_SCENE_STREAMS];
};

/* Creates a scene. `timed`: with core timing, overlapping accesses and limited bandwidth; otherwise an access takes its
   latency. */
int fm_scene_create(const struct fm_machine_description *machine, bool timed, struct fm_scene **ret_scene,
                    struct fm_error *error);
void fm_scene_destroy(struct fm_scene *scene);

/* Add streams in this order. NULL: no core left, or out of memory. Equal seeds give equal accesses. */

/* Reads integers of a buffer by the distribution, with additions in between. */
struct fm_together_stream *fm_scene_add_probe(struct fm_scene *scene, const struct fm_distribution *distribution,
                                              uint64_t bytes, unsigned additions, uint64_t seed);

struct fm_together_stream *fm_scene_add_mixture(struct fm_scene *scene, const struct fm_scene_mixture *mixture,
                                                unsigned additions, uint64_t seed);

/* CSThr: modifies random integers of a buffer, uniformly, so that the shared cache keeps the buffer. */
struct fm_together_stream *fm_scene_add_storage_thread(struct fm_scene *scene, uint64_t bytes, uint64_t seed);

/* BWThr: modifies integers of many buffers in turn, each with a large prime stride: nearly all accesses miss, and many
   are in flight. */
enum { FM_BANDWIDTH_BUFFERS = 44 };
#define FM_BANDWIDTH_PRIME 1000003ull
struct fm_together_stream *fm_scene_add_bandwidth_thread(struct fm_scene *scene, uint64_t bytes);

/* Runs until the first stream has made `references` more. With `only`, just the first `only` streams run. */
int fm_scene_run(struct fm_scene *scene, uint64_t references, unsigned only, struct fm_error *error);

/* Counts of a stream since a mark, after warm-up. */
struct fm_scene_mark {
	uint64_t references, misses, time;
	uint64_t memory_lines; /* lines read from or written to memory */
};
struct fm_scene_mark fm_scene_mark(const struct fm_together_stream *stream);
struct fm_scene_mark fm_scene_since(const struct fm_together_stream *stream, const struct fm_scene_mark *mark);

/* GB/s from and to memory. */
double fm_scene_bandwidth(const struct fm_scene *scene, const struct fm_scene_mark *since);

#endif
