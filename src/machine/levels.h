/* Finding the levels of the memory hierarchy in a curve of latency against data-set size. Pure arithmetic: it takes any
   curve, measured or invented. */
#ifndef FATHOM_MACHINE_LEVELS_H
#define FATHOM_MACHINE_LEVELS_H

#include <stdbool.h>
#include <stddef.h>

enum { FM_LEVELS_MAX = 8 };

struct fm_curve_point {
	double bytes;
	double ns;
	double low; /* interval of ns */
	double high;
};

struct fm_plateau {
	double ns;          /* typical latency */
	double first_bytes; /* smallest and largest measured size that belongs to it */
	double last_bytes;
	double
	    capacity; /* where the latency has climbed half-way (in proportion) to the next plateau; 0 for the last */
	double capacity_low; /* the capacity lies between these measured sizes */
	double capacity_high;
};

/* Points sorted by size. At most `most` plateaus are found, each at least 1.25 times slower than the one before.
   advertised (NULL when not known) holds most-1 capacities: no cache can hold much more than it has.
   Returns the number of plateaus, 0 when there are too few points. */
unsigned fm_levels_find(const struct fm_curve_point *points, unsigned count, unsigned most, const double *advertised,
                        struct fm_plateau *ret_plateaus);

/* Sizes where more points would help: in every gap between neighbours wider than `finest` octaves across which the
   latency rises by more than a fifth. Returns how many were written, at most `room`. */
unsigned fm_levels_refine(const struct fm_curve_point *points, unsigned count, double finest, double *ret_bytes,
                          unsigned room);

#endif
