#include "stream.h"

.macro vector_triad_vector isa, register, offset
	vector_load \isa, \register, \offset, B
	vector_multiply_add_memory \isa, \register, 1\register, \offset, C, D
	vector_store \isa, \register, \offset, A
.endm

stream_kernel vector_triad, 4, vector_triad_vector
