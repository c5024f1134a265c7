/* Growth of arrays by doubling. */
#ifndef FATHOM_BASE_ARRAY_H
#define FATHOM_BASE_ARRAY_H

#include <stdlib.h>

/* Makes room for an element after the first `count`. False without memory; the array is then unchanged. `array` and
   `room` are lvalues, initially NULL and 0. New elements are not cleared. */
#define fm_array_grow(array, count, room)                                                        \
	((count) < (room) || ({                                                                  \
		 __typeof__(room) larger_ = (room) ? 2 * (room) : 16;                            \
		 __typeof__(array) moved_ =                                                      \
		     larger_ > (room) ? reallocarray((array), larger_, sizeof(*(array))) : NULL; \
		 if (moved_) {                                                                   \
			 (array) = moved_;                                                       \
			 (room) = larger_;                                                       \
		 }                                                                               \
		 moved_ != NULL;                                                                 \
	 }))

#endif
