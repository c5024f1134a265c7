/* What the folding is put together from. */
#ifndef FATHOM_FOLD_PARTS_H
#define FATHOM_FOLD_PARTS_H

#include "fold/fold.h"

enum {
	FM_FOLD_LEAST = 30,          /* samples that are worth folding */
	FM_FOLD_DETAILED = 8,        /* modes of all regions that have rates: telling them takes time */
	FM_FOLD_LOOKED_AT = 1 << 20, /* of more samples a random choice is looked at for streams */
};

/* Samples by thread and time: those of thread t are list[begin[t]] … list[begin[t + 1] - 1]. */
struct fm_timeline {
	uint32_t *list;
	size_t *begin;
	/* when threads were off the processor, by thread and time: those of thread t from first_gap[t] on */
	struct fm_gap *gaps;
	size_t gap_count;
	size_t *first_gap;
};

struct fm_gap {
	double begin, end;
	double off, before; /* seconds of it, and of all gaps of the thread before it */
};

int fm_timeline_make(const struct fm_recording *recording, struct fm_timeline *ret_timeline);
void fm_timeline_free(struct fm_timeline *timeline);

/* The first sample of the thread, as an index of the list, that is not before `at`. */
size_t fm_timeline_find(const struct fm_recording *recording, const struct fm_timeline *timeline, uint32_t thread,
                        double at);

/* Seconds on the processor, up to a constant: the time without the gaps before it. */
double fm_timeline_active(const struct fm_timeline *timeline, uint32_t thread, double at);

/* Groups by length: the number of each instance's mode, FM_FOLD_NONE for those set aside. The first mode has the most
   instances. Returns how many there are, or -ENOMEM. */
int fm_fold_group(const double *lengths, size_t count, int32_t *ret_mode);

/* Instances of what repeats without being marked: sampled lines come again and again in the same order. Adds nothing
   when nothing is found. -ENOMEM. */
int fm_fold_find_iterations(const struct fm_fold *fold, const struct fm_timeline *timeline,
                            struct fm_fold_region *region);

/* Phases and rates of a mode whose samples are there. */
int fm_fold_phases(const struct fm_fold *fold, struct fm_fold_mode *mode);
int fm_fold_rates(const struct fm_fold *fold, struct fm_fold_mode *mode);

/* What a sample stands for. */
double fm_fold_weight(const struct fm_fold *fold, const struct fm_recorded_sample *sample);

/* The part of a list of phases that a place is in. */
size_t fm_fold_phase_at(const struct fm_fold_mode *mode, double place);

#endif
