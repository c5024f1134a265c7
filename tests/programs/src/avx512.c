/* AVX-512: masks, gathers, 32 registers. Compiled with -mavx512f; run only where the processor has it. */
#include "counted.h"
#include <immintrin.h>

int main(void)
{
	static int table[65536];
	__m512i sum = _mm512_setzero_si512(),
	        index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	int lanes[16];
	unsigned long total = 0;

	counted();
	for (int i = 0; i < 65536; i++)
		table[i] = i * 7 % 1000;
	for (int i = 0; i < 20000000; i++) {
		__m512i values = _mm512_i32gather_epi32(_mm512_and_si512(index, _mm512_set1_epi32(65535)), table, 4);
		__mmask16 mask = _mm512_cmpgt_epi32_mask(values, _mm512_set1_epi32(500));

		sum = _mm512_mask_add_epi32(sum, mask, sum, values);
		index = _mm512_add_epi32(_mm512_mullo_epi32(index, _mm512_set1_epi32(5)), _mm512_set1_epi32(i));
	}
	_mm512_storeu_si512(lanes, sum);
	for (int i = 0; i < 16; i++)
		total = total * 31 + (unsigned)lanes[i];
	printf("%lu\n", total);
	return 0;
}
