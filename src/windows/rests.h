/* Memory traffic of programs with native rests (trace/rest.h). After a rest, the contents of the last cache are
   unknown, so the first request for a line has an unknown outcome. The size of the program's data bounds the share of
   misses among these requests. */
#ifndef FATHOM_WINDOWS_RESTS_H
#define FATHOM_WINDOWS_RESTS_H

struct fm_after_rests {
	double hits, misses; /* requests with unknown outcome, as simulated */
	double reads;        /* lines read from memory, simulated, including `misses` */
	double cold;         /* lines touched for the first time */
	double rested;       /* instructions of the whole run over those outside of rests, at least 1 */
	double seen;         /* data touched outside of rests, bytes */
	double resident;     /* most memory that the program had, bytes; 0: unknown */
	double capacity;     /* of the last cache, bytes */
	double life;         /* us until neighbours evict an unused line; 0: never */
};

/* Lines from memory in the whole run, over the simulated ones outside of rests. */
struct fm_rest_factor {
	double low, value, high;
};

struct fm_rest_factor fm_rests_factor(const struct fm_after_rests *after);

#endif
