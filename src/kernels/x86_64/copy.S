#include "stream.h"

.macro copy_vector isa, register, offset
	vector_load \isa, \register, \offset, B
	vector_store \isa, \register, \offset, A
.endm

stream_kernel copy, 2, copy_vector
