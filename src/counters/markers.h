/* Time and counters of marked regions (include/fathom.h) of a native program, per thread. The program writes into a
   shared file; nothing in it is trusted. */
#ifndef FATHOM_COUNTERS_MARKERS_H
#define FATHOM_COUNTERS_MARKERS_H

#include "counters/counting.h"

/* A region in one thread. */
struct fm_marked {
	char name[96];
	pid_t process, thread;
	unsigned ordinal; /* among the threads of the region, in order of creation */
	uint64_t instances;
	double seconds;
	struct fm_count *counts; /* one per event, in their order */
};

struct fm_markers;

/* Creates the file of a run. Events of CPUs have no count in regions. */
int fm_markers_create(const struct fm_event *events, unsigned count, struct fm_markers **ret_markers,
                      struct fm_error *error);

/* fm_markers_create() without events, in a folder that the caller removes. */
int fm_markers_create_in(const char *folder, struct fm_markers **ret_markers, struct fm_error *error);

/* During a run: instances and seconds of a region so far, in all threads. */
void fm_markers_sum(const struct fm_markers *markers, const char *region, uint64_t *ret_instances, double *ret_seconds);

/* Limits the sums to these instances of a region, counted from 1 in each thread. Before the run. */
void fm_markers_choose(struct fm_markers *markers, const char *region, uint64_t first, uint64_t last);

/* Passes the file to the program; call in its process before exec. */
void fm_markers_announce(const struct fm_markers *markers);
/* Hides the file from further programs. */
void fm_markers_conceal(void);

/* After the run: regions by name, threads in order of creation. `ret_lost`: instances without room. -EBADMSG for a
   damaged file. */
int fm_markers_read(const struct fm_markers *markers, struct fm_marked **ret_marked, unsigned *ret_count,
                    uint64_t *ret_lost, struct fm_error *error);
void fm_marked_free(struct fm_marked *marked, unsigned count);
void fm_markers_free(struct fm_markers *markers);

#endif
