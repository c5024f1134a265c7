#include "stream.h"

.macro store_vector isa, register, offset
	vector_store \isa, SCALAR, \offset, A
.endm

stream_kernel store, 1, store_vector
