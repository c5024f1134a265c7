/* Arithmetic: chains in which each operation waits for the one before, and one without chains to speak of. KEEP makes
   the compiler forget what it knows of a value. */
#include "texts.h"

#define CHAIN(type, first, before, step)                                                                              \
	"static void prepare_@phase@(unsigned thread)\n"                                                              \
	"{\n"                                                                                                         \
	"\t(void)thread;\n"                                                                                           \
	"}\n"                                                                                                         \
	"\n"                                                                                                          \
	"AS_WRITTEN " before "static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n"                  \
	"{\n"                                                                                                         \
	"\t" type " value = " first ";\n"                                                                             \
	"\n"                                                                                                          \
	"\tfor (uint64_t r = 0; r < repetitions * 1024 / 8; r++) {\n" step step step step step step step step "\t}\n" \
	"\t(void)thread;\n"                                                                                           \
	"\treturn (uint64_t)value;\n"                                                                                 \
	"}\n"

const char text_integer_multiply[] = CHAIN("uint64_t", "@seed@ | 1", "", "\t\tvalue *= @seed@ | 1; KEEP(value);\n");

const char text_float_add[] = CHAIN("double", "@seed@ % 7", "", "\t\tvalue += 0.125; KEEP_FLOAT(value);\n");

const char text_float_multiply[] =
    CHAIN("double", "1.5 + @seed@ % 7", "", "\t\tvalue *= 1.0000000001; KEEP_FLOAT(value);\n");

const char text_fused_multiply_add[] = CHAIN("double", "@seed@ % 7", "__attribute__((target(\"fma\"))) ",
                                             "\t\tvalue = __builtin_fma(value, 0.999, 0.25); KEEP_FLOAT(value);\n");

/* The dividend stays large: dividers are faster with small numbers. */
const char text_integer_divide[] =
    CHAIN("uint64_t", "@seed@ | 1ull << 62", "",
          "\t\tvalue = (uint64_t)1 << 62 | ((value | 1) / (@seed@ % 1000 + 3 + r % 2)); KEEP(value);\n");

const char text_float_divide[] =
    CHAIN("double", "1.5 + @seed@ % 7", "", "\t\tvalue = 3.7 / value; KEEP_FLOAT(value);\n");

const char text_square_root[] =
    CHAIN("double", "1.5 + @seed@ % 7", "", "\t\t__asm__ volatile(\"sqrtsd %0, %0\" : \"+x\"(value)); value += 0.7;\n");

const char text_independent[] = "static void prepare_@phase@(unsigned thread)\n"
                                "{\n"
                                "\t(void)thread;\n"
                                "}\n"
                                "\n"
                                "AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n"
                                "{\n"
                                "\tuint64_t a = @seed@, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;\n"
                                "\n"
                                "\tfor (uint64_t r = 0; r < repetitions * 1024; r++) {\n"
                                "\t\ta += 11; b ^= 12; c += 13; d -= 14; e += 15; f ^= 16; g += 17; h -= 18;\n"
                                "\t\tKEEP(a); KEEP(b); KEEP(c); KEEP(d); KEEP(e); KEEP(f); KEEP(g); KEEP(h);\n"
                                "\t}\n"
                                "\t(void)thread;\n"
                                "\treturn a + b + c + d + e + f + g + h;\n"
                                "}\n";

/* Each branch hangs on a new random bit; the empty statements keep the compiler from doing without the branch. */
const char text_branches[] = "static void prepare_@phase@(unsigned thread)\n"
                             "{\n"
                             "\t(void)thread;\n"
                             "}\n"
                             "\n"
                             "AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n"
                             "{\n"
                             "\tuint64_t state = @seed@ | 1, a = 0, b = 0;\n"
                             "\n"
                             "\tfor (uint64_t r = 0; r < repetitions * 1024; r++) {\n"
                             "\t\tstate ^= state << 13;\n"
                             "\t\tstate ^= state >> 7;\n"
                             "\t\tstate ^= state << 17;\n"
                             "\t\tif (state & 1 << 20) {\n"
                             "\t\t\ta += 3;\n"
                             "\t\t\tKEEP(a);\n"
                             "\t\t} else {\n"
                             "\t\t\tb ^= 5;\n"
                             "\t\t\tKEEP(b);\n"
                             "\t\t}\n"
                             "\t}\n"
                             "\t(void)thread;\n"
                             "\treturn a + b;\n"
                             "}\n";

#define FORWARD(step)                                                                      \
	"static uint64_t *data_@phase@[THREADS];\n"                                        \
	"\n"                                                                               \
	"static void prepare_@phase@(unsigned thread)\n"                                   \
	"{\n"                                                                              \
	"\tdata_@phase@[thread] = room(4096, 0);\n"                                        \
	"}\n"                                                                              \
	"\n"                                                                               \
	"AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n" \
	"{\n"                                                                              \
	"\tvolatile uint64_t *data = data_@phase@[thread];\n"                              \
	"\tuint64_t value = @seed@;\n"                                                     \
	"\n"                                                                               \
	"\tfor (uint64_t r = 0; r < repetitions * 1024; r++) {\n" step "\t}\n"             \
	"\treturn value;\n"                                                                \
	"}\n"

/* Stored, its upper half loaded at once, which no core of today does by renaming. */
const char text_forwarding[] = FORWARD("\t\tdata[r % 64] = value << 32;\n"
                                       "\t\tvalue = ((volatile uint32_t *)&data[r % 64])[1] + 1ull;\n");

/* The same word is stored and loaded: some cores guess that and wait for nothing. */
const char text_reload[] = FORWARD("\t\tdata[r % 64] = value;\n"
                                   "\t\tvalue = data[r % 64] + 1;\n");
