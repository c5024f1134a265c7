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

/* What the curve shows of a cache. */
enum fm_level_shape {
	FM_SHAPE_PLATEAU, /* sizes over which the latency stays the same */
	FM_SHAPE_CLIMB,   /* sizes slower than the level above and faster than the one below, but none of them flat */
	FM_SHAPE_HIDDEN,  /* nothing */
};

struct fm_found_level {
	enum fm_level_shape shape;
	struct fm_plateau plateau; /* not for hidden ones; a climb's first and last size are its two ends */
	double ns_low;             /* of a climb: the latencies of most of its sizes */
	double ns_high;
	char why[160]; /* why a level is hidden */
};

/* One level for every advertised cache and, last, memory. As fm_levels_find(), but each plateau is given to the cache
   it is nearest to, and a cache that is left over gets the sizes between its neighbours' plateaus if they are a climb
   of an octave or more. Returns how many levels can be seen, 0 when there are too few points. */
unsigned fm_levels_assign(const struct fm_curve_point *points, unsigned count, unsigned caches,
                          const double *advertised, struct fm_found_level *ret_levels);

/* The latency at a size: between points, in proportion; made to rise with the size, as in the functions above. */
double fm_levels_ns_at(const struct fm_curve_point *points, unsigned count, double bytes);

/* The smallest size with that latency. */
double fm_levels_bytes_at(const struct fm_curve_point *points, unsigned count, double ns);

/* Sizes where more points would help: in every gap between neighbours wider than `finest` octaves across which the
   latency rises by more than a fifth. Returns how many were written, at most `room`. */
unsigned fm_levels_refine(const struct fm_curve_point *points, unsigned count, double finest, double *ret_bytes,
                          unsigned room);

#endif
