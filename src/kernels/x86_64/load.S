#include "stream.h"

.macro load_vector isa, register, offset
	vector_load \isa, \register, \offset, A
.endm

stream_kernel load, 1, load_vector
