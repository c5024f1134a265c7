/* Levels of the memory hierarchy in a curve of latency against data-set size. Pure arithmetic on any curve. */
#ifndef FATHOM_PROFILE_LEVELS_H
#define FATHOM_PROFILE_LEVELS_H

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
	double first_bytes; /* smallest and largest measured size of the plateau */
	double last_bytes;
	double capacity;     /* half-way (in proportion) up to the next plateau; 0 for the last */
	double capacity_low; /* measured sizes around the capacity */
	double capacity_high;
};

/* Points are sorted by size. Finds at most `most` plateaus, each at least LEVEL_RATIO slower than the one before.
   `advertised` (NULL if unknown) has most-1 capacities, which a plateau may exceed by BEYOND_ADVERTISED.

   Returns the number of plateaus, 0 with too few points. */
unsigned fm_levels_find(const struct fm_curve_point *points, unsigned count, unsigned most, const double *advertised,
                        struct fm_plateau *ret_plateaus);

/* Shape of a cache in the curve. */
enum fm_level_shape {
	FM_SHAPE_PLATEAU, /* constant latency */
	FM_SHAPE_CLIMB,   /* latencies between the neighbouring levels, without a flat part */
	FM_SHAPE_HIDDEN,  /* not visible */
};

struct fm_found_level {
	enum fm_level_shape shape;
	struct fm_plateau plateau; /* unset if hidden; of a climb: its two ends */
	double ns_low;             /* of a climb: latencies of most of its sizes */
	double ns_high;
	char why[160]; /* reason if hidden */
};

/* One level per advertised cache and, last, memory. Like fm_levels_find(), but each plateau belongs to the nearest
   cache. A cache without a plateau has the sizes between its neighbours if these are a climb of an octave or more.
   Returns the number of visible levels, 0 with too few points. */
unsigned fm_levels_assign(const struct fm_curve_point *points, unsigned count, unsigned caches,
                          const double *advertised, struct fm_found_level *ret_levels);

/* The latency at a size, interpolated on the monotone curve. */
double fm_levels_ns_at(const struct fm_curve_point *points, unsigned count, double bytes);

/* The smallest size with latency `ns`. */
double fm_levels_bytes_at(const struct fm_curve_point *points, unsigned count, double ns);

/* Sizes that would refine the curve: in gaps wider than `finest` octaves with a rise above REFINED_RISE. Returns their
   number, at most `room`. */
unsigned fm_levels_refine(const struct fm_curve_point *points, unsigned count, double finest, double *ret_bytes,
                          unsigned room);

#endif
