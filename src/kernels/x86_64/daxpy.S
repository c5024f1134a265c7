#include "stream.h"

.macro daxpy_vector isa, register, offset
	vector_load \isa, \register, \offset, B
	vector_scale_add_memory \isa, \register, \offset, A
	vector_store \isa, \register, \offset, A
.endm

stream_kernel daxpy, 2, daxpy_vector
