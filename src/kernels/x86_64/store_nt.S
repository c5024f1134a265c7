#include "stream.h"

.macro store_nt_vector isa, register, offset
	vector_store_nontemporal \isa, SCALAR, \offset, A
.endm

/* The fence makes the write-combining buffers part of what is timed. */
.macro store_nt_finish
	sfence
.endm

stream_kernel store_nt, 1, store_nt_vector, store_nt_finish
