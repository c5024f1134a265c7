#include "stream.h"

.macro update_vector isa, register, offset
	vector_scale_memory \isa, \register, \offset, A
	vector_store \isa, \register, \offset, A
.endm

stream_kernel update, 1, update_vector
