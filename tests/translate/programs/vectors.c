/* AVX2 and AVX-512 code mixed with older code, with vzeroupper between them and without. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>

enum { NUMBERS = 4096, ROUNDS = 3000 };

static float numbers[NUMBERS + 16] __attribute__((aligned(64)));
static int indices[NUMBERS];

__attribute__((target("sse2"), noinline)) static float narrow(void)
{
	__m128 sum = _mm_setzero_ps();
	float parts[4];

	for (int i = 0; i < NUMBERS; i += 4)
		sum = _mm_add_ps(sum, _mm_load_ps(numbers + i));
	_mm_storeu_ps(parts, sum);
	return parts[0] + parts[1] + parts[2] + parts[3];
}

__attribute__((target("avx2,fma"), noinline)) static float wide(int clears)
{
	__m256 sum = _mm256_set1_ps(0.5f), product = _mm256_setzero_ps();
	float parts[8], result = 0;

	for (int i = 0; i < NUMBERS; i += 8) {
		__m256i index = _mm256_loadu_si256((const __m256i *)(const void *)(indices + i));

		sum = _mm256_add_ps(sum, _mm256_loadu_ps(numbers + i + 1));
		product = _mm256_fmadd_ps(sum, _mm256_i32gather_ps(numbers, index, 4), product);
		_mm256_maskstore_ps(numbers + i, _mm256_cmpgt_epi32(index, _mm256_set1_epi32(NUMBERS - 3)), sum);
		if (clears && i % 512 == 0)
			_mm256_zeroupper();
	}
	_mm256_storeu_ps(parts, _mm256_add_ps(sum, product));
	for (int i = 0; i < 8; i++)
		result += parts[i];
	return result;
}

__attribute__((target("avx512f"), noinline)) static float widest(void)
{
	__m512 sum = _mm512_setzero_ps();

	for (int i = 0; i < NUMBERS; i += 16) {
		__mmask16 mask = _mm512_cmp_ps_mask(_mm512_load_ps(numbers + i), _mm512_set1_ps(0.5f), _CMP_GT_OQ);

		sum = _mm512_mask_add_ps(sum, mask, sum, _mm512_loadu_ps(numbers + i + 1));
	}
	return _mm512_reduce_add_ps(sum);
}

int main(void)
{
	double sum = 0;

	for (int i = 0; i < NUMBERS; i++) {
		numbers[i] = (float)(i * 37 % 101) / 128.0f;
		indices[i] = i * 1021 % NUMBERS;
	}
	for (int round = 0; round < ROUNDS; round++) {
		sum += narrow();
		if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
			sum += wide(round & 1) + narrow();
		if (__builtin_cpu_supports("avx512f"))
			sum += widest() + narrow();
	}
	printf("%.17g, AVX2 %s, AVX-512 %s\n", sum, __builtin_cpu_supports("avx2") ? "run" : "not there",
	       __builtin_cpu_supports("avx512f") ? "run" : "not there");
	return 0;
}
