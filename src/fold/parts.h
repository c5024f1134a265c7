/* Declarations shared by the files of folding. */
#ifndef FATHOM_FOLD_PARTS_H
#define FATHOM_FOLD_PARTS_H

#include "fold/fold.h"

enum {
	FM_FOLD_LEAST = 30,          /* least samples for folding */
	FM_FOLD_DETAILED = 8,        /* largest number of modes with rates, which are slow to compute */
	FM_FOLD_LOOKED_AT = 1 << 20, /* most samples for streams; of more, a random choice */
};

/* Samples by thread and time: those of thread t are list[begin[t]] … list[begin[t + 1] - 1]. */
struct fm_thread_timeline {
	uint32_t *list;
	size_t *begin;
	/* times of threads off the processor, by thread and time: thread t begins at first_gap[t] */
	struct fm_off_cpu *gaps;
	size_t gap_count;
	size_t *first_gap;
};

struct fm_off_cpu {
	double begin, end;
	double off, before; /* seconds of this gap, and of all earlier gaps of the thread */
};

int fm_timeline_make(const struct fm_recording *recording, struct fm_thread_timeline *ret_timeline);
void fm_timeline_free(struct fm_thread_timeline *timeline);

/* Index in the list of the thread's first sample at or after `at`. */
size_t fm_timeline_find(const struct fm_recording *recording, const struct fm_thread_timeline *timeline,
                        uint32_t thread, double at);

/* Seconds on the processor up to `at`, plus a constant: the time minus earlier gaps. */
double fm_timeline_active(const struct fm_thread_timeline *timeline, uint32_t thread, double at);

/* Groups instances by length. ret_mode: mode of each instance, FM_FOLD_NONE if excluded. The first mode has the most
   instances. Returns the number of modes, or -ENOMEM. */
int fm_fold_group(const double *lengths, size_t count, int32_t *ret_mode);

/* Adds iterations without markers as instances, if sampled lines repeat in the same order. 0 or -ENOMEM. */
int fm_fold_find_iterations(const struct fm_fold *fold, const struct fm_thread_timeline *timeline,
                            struct fm_fold_region *region);

/* Computes the phases, or the rates, of a mode from its samples. */
int fm_fold_phases(const struct fm_fold *fold, struct fm_fold_mode *mode);
int fm_fold_rates(const struct fm_fold *fold, struct fm_fold_mode *mode);

/* The weight of a sample. */
double fm_fold_weight(const struct fm_fold *fold, const struct fm_recorded_sample *sample);

/* Index of the phase that contains a place. */
size_t fm_fold_phase_at(const struct fm_fold_mode *mode, double place);

#endif
