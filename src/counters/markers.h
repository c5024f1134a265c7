/* What marked regions (include/fathom.h) of a program that runs by itself took: time, and counters of their own thread
   where these are asked for. The program writes into a file that both have mapped; nothing in it is trusted. */
#ifndef FATHOM_COUNTERS_MARKERS_H
#define FATHOM_COUNTERS_MARKERS_H

#include "counters/counting.h"

/* One region as one thread ran it. */
struct fm_marked {
	char name[96];
	pid_t process, thread;
	unsigned ordinal; /* among the threads that ran this region, in the order in which they were made */
	uint64_t instances;
	double seconds;
	struct fm_count *counts; /* one for each event, in their order */
};

struct fm_markers;

/* The file, for one run. Events that are counted on CPUs, not for tasks, have no count in regions. */
int fm_markers_create(const struct fm_event *events, unsigned count, struct fm_markers **ret_markers,
                      struct fm_error *error);

/* The same without events, in a folder that the caller removes. */
int fm_markers_create_in(const char *folder, struct fm_markers **ret_markers, struct fm_error *error);

/* While the program runs: instances and seconds of a region so far, of all threads. Without any, both are 0. */
void fm_markers_sum(const struct fm_markers *markers, const char *region, uint64_t *ret_instances, double *ret_seconds);

/* Sum up only these instances of a region, counted from one in each thread. Before the program runs. */
void fm_markers_choose(struct fm_markers *markers, const char *region, uint64_t first, uint64_t last);

/* In the program's process, before it executes. */
void fm_markers_announce(const struct fm_markers *markers);
/* Programs that are executed from now on find none. */
void fm_markers_conceal(void);

/* After its end: regions by name, threads in the order in which they were made. `ret_lost` is how many instances had no
   room. -EBADMSG when the file is damaged. */
int fm_markers_read(const struct fm_markers *markers, struct fm_marked **ret_marked, unsigned *ret_count,
                    uint64_t *ret_lost, struct fm_error *error);
void fm_marked_free(struct fm_marked *marked, unsigned count);
void fm_markers_free(struct fm_markers *markers);

#endif
