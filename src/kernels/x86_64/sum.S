#include "stream.h"

/* Eight partial sums, alternating between registers 0-3 and 4-7: an addition takes three to four cycles and two can
   start in each, so four sums would wait for the adder instead of the memory. The odd rounds are those in which the
   quarter-block index is odd. */
.macro sum_vector isa, register, offset
.if (\offset / 4 / SUM_WIDTH_\isa) & 1
	sum_upper_\register \isa, \offset
.else
	vector_add_memory \isa, \register, \offset, A
.endif
.endm

.macro sum_upper_0 isa, offset
	vector_add_memory \isa, 4, \offset, A
.endm
.macro sum_upper_1 isa, offset
	vector_add_memory \isa, 5, \offset, A
.endm
.macro sum_upper_2 isa, offset
	vector_add_memory \isa, 6, \offset, A
.endm
.macro sum_upper_3 isa, offset
	vector_add_memory \isa, 7, \offset, A
.endm

.set SUM_WIDTH_scalar, 8
.set SUM_WIDTH_sse, 16
.set SUM_WIDTH_avx2, 32
.set SUM_WIDTH_avx512, 64

stream_kernel sum, 1, sum_vector
