#include "stream.h"

.macro copy_nt_vector isa, register, offset
	vector_load_for_nontemporal \isa, \register, \offset, B
	vector_store_nontemporal \isa, \register, \offset, A
.endm

.macro copy_nt_finish
	sfence
.endm

stream_kernel copy_nt, 2, copy_nt_vector, copy_nt_finish
