/* Streams: every line of arrays in order. 16 bytes an access, whatever the compiler thinks of vectors; `spread`
   accesses of 16 bytes apart, 4 is one in each line. */
#include "texts.h"

#define STREAM(arrays, more, body)                                                         \
	"static vector *data_@phase@[THREADS][" #arrays "];\n"                             \
	"\n"                                                                               \
	"static void prepare_@phase@(unsigned thread)\n"                                   \
	"{\n"                                                                              \
	"\tfor (unsigned i = 0; i < " #arrays "; i++)\n"                                   \
	"\t\tdata_@phase@[thread][i] = room(@bytes@, i + 1);\n"                            \
	"}\n"                                                                              \
	"\n"                                                                               \
	"AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n" \
	"{\n"                                                                              \
	"\tvector sum[4] = {{0}};\n"                                                       \
	"\n"                                                                               \
	"\tfor (uint64_t r = 0; r < repetitions; r++) {\n"                                 \
	"\t\tvector *restrict a = data_@phase@[thread][0]" more ";\n"                      \
	"\n"                                                                               \
	"\t\tfor (uint64_t i = 0; i < @bytes@ / 16; i += 4 * @spread@)\n"                  \
	"#pragma GCC unroll 4\n"                                                           \
	"\t\t\tfor (unsigned k = 0; k < 4; k++)\n"                                         \
	"\t\t\t\t" body ";\n"                                                              \
	"\t\tKEEP(a);\n"                                                                   \
	"\t}\n"                                                                            \
	"\tfor (unsigned k = 0; k < 4; k++)\n"                                             \
	"\t\tsum[k] += data_@phase@[thread][0][k];\n"                                      \
	"\treturn sum[0][0] + sum[1][1] + sum[2][0] + sum[3][1];\n"                        \
	"}\n"

const char text_stream_read[] = STREAM(1, "", "sum[k] += a[i + k * @spread@]");

const char text_stream_write[] = STREAM(1, "", "a[i + k * @spread@] = (vector){@seed@, r}");

const char text_stream_copy[] =
    STREAM(2, ", *restrict b = data_@phase@[thread][1]", "a[i + k * @spread@] = b[i + k * @spread@]");

const char text_stream_triad[] =
    STREAM(3, ", *restrict b = data_@phase@[thread][1], *restrict c = data_@phase@[thread][2]",
           "a[i + k * @spread@] = b[i + k * @spread@] + (c[i + k * @spread@] ^ (vector){@seed@, r})");

/* One word of every `stride` bytes; lines between are never touched, so the area is larger than what it holds in
   caches. */
const char text_stride[] = "static char *data_@phase@[THREADS];\n"
                           "\n"
                           "static void prepare_@phase@(unsigned thread)\n"
                           "{\n"
                           "\tdata_@phase@[thread] = room((uint64_t)@lines@ * @stride@, TOUCHED);\n"
                           "}\n"
                           "\n"
                           "AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n"
                           "{\n"
                           "\tuint64_t sum = 0;\n"
                           "\n"
                           "\tfor (uint64_t r = 0; r < repetitions; r++) {\n"
                           "\t\tconst char *data = data_@phase@[thread];\n"
                           "\n"
                           "\t\tfor (uint64_t i = 0; i < @lines@; i++)\n"
                           "\t\t\tsum += *(const uint64_t *)(data + i * @stride@);\n"
                           "\t\tKEEP(data);\n"
                           "\t}\n"
                           "\treturn sum;\n"
                           "}\n";

/* The C library's own copies: one large block after the other. */
const char text_memcpy[] = "static char *data_@phase@[THREADS][2];\n"
                           "\n"
                           "static void prepare_@phase@(unsigned thread)\n"
                           "{\n"
                           "\tfor (unsigned i = 0; i < 2; i++)\n"
                           "\t\tdata_@phase@[thread][i] = room(@bytes@, i + 1);\n"
                           "}\n"
                           "\n"
                           "AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n"
                           "{\n"
                           "\tchar *target = data_@phase@[thread][0], *source = data_@phase@[thread][1];\n"
                           "\n"
                           "\tfor (uint64_t r = 0; r < repetitions; r++) {\n"
                           "\t\tsource[r % @bytes@] = (char)r;\n"
                           "\t\tmemcpy(target, source, @bytes@);\n"
                           "\t\tKEEP(target);\n"
                           "\t}\n"
                           "\treturn (unsigned char)target[@bytes@ / 2] + (uint64_t)(unsigned char)target[1];\n"
                           "}\n";

const char text_memset[] = "static char *data_@phase@[THREADS];\n"
                           "\n"
                           "static void prepare_@phase@(unsigned thread)\n"
                           "{\n"
                           "\tdata_@phase@[thread] = room(@bytes@, 1);\n"
                           "}\n"
                           "\n"
                           "AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n"
                           "{\n"
                           "\tchar *target = data_@phase@[thread];\n"
                           "\n"
                           "\tfor (uint64_t r = 0; r < repetitions; r++) {\n"
                           "\t\tmemset(target, (int)(r & 127), @bytes@);\n"
                           "\t\tKEEP(target);\n"
                           "\t}\n"
                           "\treturn (uint64_t)target[@bytes@ / 2];\n"
                           "}\n";
