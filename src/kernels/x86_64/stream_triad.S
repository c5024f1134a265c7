#include "stream.h"

.macro stream_triad_vector isa, register, offset
	vector_load \isa, \register, \offset, B
	vector_scale_add_memory \isa, \register, \offset, C
	vector_store \isa, \register, \offset, A
.endm

stream_kernel stream_triad, 3, stream_triad_vector
