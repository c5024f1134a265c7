/* Programs as streams of addresses, and threads that take their cache or their bandwidth away, on one simulated
   machine: each on a core of its own with an address space of its own, in the order of simulated time. */
#ifndef FATHOM_SQUEEZE_SCENE_H
#define FATHOM_SQUEEZE_SCENE_H

#include "simulator/together.h"
#include "interference/distributions.h"

enum { FM_SCENE_STREAMS = 16 };

/* What a stand-in for a program does, over and over: its accesses go to random lines of one part of its memory and
   sweep through another part, line by line. */
struct fm_scene_mixture {
	uint64_t random_bytes, sweep_bytes;
	unsigned sweep_percent; /* of the accesses */
};

struct fm_scene_actor {
	struct fm_random random;
	const struct fm_distribution *distribution; /* of a probabilistic program */
	struct fm_scene_mixture mixture;            /* of a stand-in */
	uint64_t bytes;                             /* of its buffer; of a bandwidth thread, of each */
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

/* `timed`: with core timing, in which accesses overlap and bandwidth is limited; otherwise an access takes its latency.
 */
int fm_scene_create(const struct fm_machine_description *machine, bool timed, struct fm_scene **ret_scene,
                    struct fm_error *error);
void fm_scene_destroy(struct fm_scene *scene);

/* Who takes part, in this order; each returns the stream, NULL when the machine has no core left or memory is short.
   The same seed gives the same accesses. */

/* Reads integers of a buffer, each chosen by the distribution, and adds so often in between. */
struct fm_together_stream *fm_scene_add_probe(struct fm_scene *scene, const struct fm_distribution *distribution,
                                              uint64_t bytes, unsigned additions, uint64_t seed);

struct fm_together_stream *fm_scene_add_mixture(struct fm_scene *scene, const struct fm_scene_mixture *mixture,
                                                unsigned additions, uint64_t seed);

/* CSThr: changes random integers of a buffer, each as likely as the others, so that the shared cache keeps the buffer.
 */
struct fm_together_stream *fm_scene_add_storage_thread(struct fm_scene *scene, uint64_t bytes, uint64_t seed);

/* BWThr: changes integers of many buffers in turn, in each with the stride of a large prime, so that nearly all
   accesses miss and many are under way. */
enum { FM_BANDWIDTH_BUFFERS = 44 };
#define FM_BANDWIDTH_PRIME 1000003ull
struct fm_together_stream *fm_scene_add_bandwidth_thread(struct fm_scene *scene, uint64_t bytes);

/* Until the first stream has made so many references more. With `only`, no more than the first streams go on. */
int fm_scene_run(struct fm_scene *scene, uint64_t references, unsigned only, struct fm_error *error);

/* What a stream did since; to measure after caches are warm. */
struct fm_scene_mark {
	uint64_t references, misses, time;
	uint64_t memory_lines; /* read from memory or written there */
};
struct fm_scene_mark fm_scene_mark(const struct fm_together_stream *stream);
struct fm_scene_mark fm_scene_since(const struct fm_together_stream *stream, const struct fm_scene_mark *mark);

/* GB/s of what it moved from and to memory. */
double fm_scene_bandwidth(const struct fm_scene *scene, const struct fm_scene_mark *since);

#endif
