/* What instructions are taken to compute, by their bytes. */
#include "check.h"

#include "engine/account/decode.h"

static const struct {
	const char *text;
	enum fm_operation operation;
	const char *bytes;
	unsigned length;
} cases[] = {
    {"sha256rnds2 xmm1,xmm2,xmm0", FM_OPERATION_digest, "\x0f\x38\xcb\xca", 4},
    {"aesenc xmm1,xmm2", FM_OPERATION_cipher, "\x66\x0f\x38\xdc\xca", 5},
    {"pclmullqlqdq xmm1,xmm2", FM_OPERATION_carryless, "\x66\x0f\x3a\x44\xca\x00", 6},
    {"cpuid", FM_OPERATION_identify, "\x0f\xa2", 2},
    {"lock add [rdi],rax", FM_OPERATION_atomic, "\xf0\x48\x01\x07", 4},
    {"xchg [rdi],rax", FM_OPERATION_atomic, "\x48\x87\x07", 3},
    {"xchg rdx,rax", FM_OPERATION_simple, "\x48\x92", 2},
    {"movd eax,xmm0", FM_OPERATION_vector_out, "\x66\x0f\x7e\xc0", 4},
    {"movd xmm0,eax", FM_OPERATION_vector_out, "\x66\x0f\x6e\xc0", 4},
    {"movd xmm0,[rdi]", FM_OPERATION_none, "\x66\x0f\x6e\x07", 4},
    {"vpmovzxbw ymm0,xmm1", FM_OPERATION_vector_far, "\xc4\xe2\x7d\x30\xc1", 5},
    {"pmovzxbw xmm0,xmm1", FM_OPERATION_vector_far, "\x66\x0f\x38\x30\xc1", 5},
    {"vpermq ymm0,ymm1,0x1", FM_OPERATION_vector_far, "\xc4\xe3\xfd\x00\xc1\x01", 6},
    {"pshufb xmm0,xmm1", FM_OPERATION_vector_shuffle, "\x66\x0f\x38\x00\xc1", 5},
    {"pslldq xmm0,0x4", FM_OPERATION_vector_shuffle, "\x66\x0f\x73\xf8\x04", 5},
    {"psrlw xmm0,0x4", FM_OPERATION_vector, "\x66\x0f\x71\xd0\x04", 5},
    {"pmulld xmm0,xmm1", FM_OPERATION_vector_multiply_long, "\x66\x0f\x38\x40\xc1", 5},
    {"pmaddwd xmm0,xmm1", FM_OPERATION_vector_multiply, "\x66\x0f\xf5\xc1", 4},
    {"vpaddd ymm0,ymm1,ymm2", FM_OPERATION_vector, "\xc5\xf5\xfe\xc2", 4},
    {"pextrw eax,xmm0,0x1", FM_OPERATION_vector_out, "\x66\x0f\xc5\xc0\x01", 5},
    {"pext rax,rdx,rcx", FM_OPERATION_count_bits, "\xc4\xe2\xea\xf5\xc1", 5},
    {"addsd xmm0,xmm1", FM_OPERATION_float_add, "\xf2\x0f\x58\xc1", 4},
    {"vaddps ymm0,ymm1,ymm2", FM_OPERATION_float_add, "\xc5\xf4\x58\xc2", 4},
    {"add rax,rdx", FM_OPERATION_simple, "\x48\x01\xd0", 3},
    {"mul rdx", FM_OPERATION_multiply_wide, "\x48\xf7\xe2", 3},
    {"mulsd xmm0,xmm1", FM_OPERATION_float_multiply, "\xf2\x0f\x59\xc1", 4},
    {"imul rax,rdx", FM_OPERATION_multiply, "\x48\x0f\xaf\xc2", 4},
    {"fmul st,st(1)", FM_OPERATION_float_multiply, "\xd8\xc9", 2},
    {"fsin", FM_OPERATION_float_function, "\xd9\xfe", 2},
    {"pop rax", FM_OPERATION_none, "\x58", 1},
    {"por xmm0,xmm1", FM_OPERATION_vector, "\x66\x0f\xeb\xc1", 4},
    {"popcnt rax,rdx", FM_OPERATION_count_bits, "\xf3\x48\x0f\xb8\xc2", 5},
    {"ucomisd xmm0,xmm1", FM_OPERATION_vector_out, "\x66\x0f\x2e\xc1", 4},
    {"vbroadcastss ymm0,xmm1", FM_OPERATION_vector_far, "\xc4\xe2\x7d\x18\xc1", 5},
    {"vbroadcastss ymm0,[rdi]", FM_OPERATION_none, "\xc4\xe2\x7d\x18\x07", 5},
    {"endbr64", FM_OPERATION_none, "\xf3\x0f\x1e\xfa", 4},
};

static void operations(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_decoded decoded;

		assert_true(fm_decode(cases[i].bytes, cases[i].length, &decoded));
		assert_int_equal(decoded.length, cases[i].length);
		if (decoded.instruction.operation != cases[i].operation)
			fail_msg("%s is %s instead of %s", cases[i].text,
			         fm_operation_name((enum fm_operation)decoded.instruction.operation),
			         fm_operation_name(cases[i].operation));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(operations)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
