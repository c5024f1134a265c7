/* Pointer chases and gathers. The order is random among the lines of a group of 32 pages, and group follows group: no
   prefetcher knows the next line, and translations stay within the first TLB. */
#include "texts.h"

#define GROUPS                                                            \
	"enum {\n"                                                        \
	"\tLINES_@phase@ = @lines@,\n"                                    \
	"\tGROUP_@phase@ = LINES_@phase@ < 2048 ? LINES_@phase@ : 2048\n" \
	"};\n"                                                            \
	"\n"

#define FOLLOW                                                                             \
	"AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n" \
	"{\n"                                                                              \
	"\tvoid **at = start_@phase@[thread];\n"                                           \
	"\n"                                                                               \
	"\tfor (uint64_t r = 0; r < repetitions * 1024 / 16; r++) {\n"                     \
	"\t\tat = *at, at = *at, at = *at, at = *at;\n"                                    \
	"\t\tat = *at, at = *at, at = *at, at = *at;\n"                                    \
	"\t\tat = *at, at = *at, at = *at, at = *at;\n"                                    \
	"\t\tat = *at, at = *at, at = *at, at = *at;\n"                                    \
	"\t}\n"                                                                            \
	"\tstart_@phase@[thread] = at;\n"                                                  \
	"\treturn (uint64_t)((char *)at - data_@phase@[thread]);\n"                        \
	"}\n"

#define MAKE_CHAIN                                                                                       \
	"\tuint16_t order[GROUP_@phase@];\n"                                                             \
	"\tchar *data = room((uint64_t)LINES_@phase@ * 64, 0);\n"                                        \
	"\n"                                                                                             \
	"\tshuffle(order, GROUP_@phase@, @seed@);\n"                                                     \
	"\tfor (uint64_t i = 0; i < LINES_@phase@; i++) {\n"                                             \
	"\t\tuint64_t next = (i + 1) % LINES_@phase@;\n"                                                 \
	"\n"                                                                                             \
	"\t\t*(void **)(data + 64 * (i / GROUP_@phase@ * GROUP_@phase@ + order[i % GROUP_@phase@])) =\n" \
	"\t\t    data + 64 * (next / GROUP_@phase@ * GROUP_@phase@ + order[next % GROUP_@phase@]);\n"    \
	"\t}\n"

const char text_chase[] = GROUPS "static char *data_@phase@[THREADS];\n"
                                 "static void **start_@phase@[THREADS];\n"
                                 "\n"
                                 "static void prepare_@phase@(unsigned thread)\n"
                                 "{\n" MAKE_CHAIN "\tdata_@phase@[thread] = data;\n"
                                 "\tstart_@phase@[thread] = (void **)(data + 64 * order[0]);\n"
                                 "}\n"
                                 "\n" FOLLOW;

/* Several places of one chain, followed at once. */
const char text_chains[] =
    GROUPS "static char *data_@phase@[THREADS];\n"
           "static void **starts_@phase@[THREADS][@chains@];\n"
           "\n"
           "static void prepare_@phase@(unsigned thread)\n"
           "{\n" MAKE_CHAIN "\tdata_@phase@[thread] = data;\n"
           "\tfor (uint64_t k = 0; k < @chains@; k++) {\n"
           "\t\tuint64_t i = LINES_@phase@ / @chains@ * k;\n"
           "\n"
           "\t\tstarts_@phase@[thread][k] =\n"
           "\t\t    (void **)(data + 64 * (i / GROUP_@phase@ * GROUP_@phase@ + order[i % GROUP_@phase@]));\n"
           "\t}\n"
           "}\n"
           "\n"
           "AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n"
           "{\n"
           "\tvoid **at[@chains@];\n"
           "\tuint64_t sum = 0;\n"
           "\n"
           "\tfor (unsigned k = 0; k < @chains@; k++)\n"
           "\t\tat[k] = starts_@phase@[thread][k];\n"
           "\tfor (uint64_t r = 0; r < repetitions * 1024; r++)\n"
           "#pragma GCC unroll @chains@\n"
           "\t\tfor (unsigned k = 0; k < @chains@; k++)\n"
           "\t\t\tat[k] = *at[k];\n"
           "\tfor (unsigned k = 0; k < @chains@; k++) {\n"
           "\t\tstarts_@phase@[thread][k] = at[k];\n"
           "\t\tsum += (uint64_t)((char *)at[k] - data_@phase@[thread]);\n"
           "\t}\n"
           "\treturn sum;\n"
           "}\n";

const char text_gather[] = GROUPS "static uint64_t *data_@phase@[THREADS];\n"
                                  "static uint16_t order_@phase@[GROUP_@phase@];\n"
                                  "\n"
                                  "static void prepare_@phase@(unsigned thread)\n"
                                  "{\n"
                                  "\tdata_@phase@[thread] = room((uint64_t)LINES_@phase@ * 64, 1);\n"
                                  "\tshuffle(order_@phase@, GROUP_@phase@, @seed@);\n"
                                  "}\n"
                                  "\n"
                                  "AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n"
                                  "{\n"
                                  "\tuint64_t sum = 0;\n"
                                  "\n"
                                  "\tfor (uint64_t r = 0; r < repetitions; r++)\n"
                                  "\t\tfor (uint64_t group = 0; group < LINES_@phase@; group += GROUP_@phase@) {\n"
                                  "\t\t\tconst uint64_t *data = data_@phase@[thread] + 8 * group;\n"
                                  "\n"
                                  "\t\t\tfor (unsigned i = 0; i < GROUP_@phase@; i++)\n"
                                  "\t\t\t\tsum += data[8 * (uint64_t)order_@phase@[i]];\n"
                                  "\t\t\tKEEP(data);\n"
                                  "\t\t}\n"
                                  "\treturn sum;\n"
                                  "}\n";

/* Chains of lines `stride` bytes apart, in random order. */
#define FAR_APART(offset)                                                                               \
	"static char *data_@phase@[THREADS];\n"                                                         \
	"static void **start_@phase@[THREADS];\n"                                                       \
	"\n"                                                                                            \
	"static void prepare_@phase@(unsigned thread)\n"                                                \
	"{\n"                                                                                           \
	"\tuint16_t order[@lines@];\n"                                                                  \
	"\tchar *data = room((uint64_t)@lines@ * @stride@, 0);\n"                                       \
	"\n"                                                                                            \
	"\tshuffle(order, @lines@, @seed@);\n"                                                          \
	"\tfor (uint64_t i = 0; i < @lines@; i++) {\n"                                                  \
	"\t\tuint64_t from = order[i], to = order[(i + 1) % @lines@];\n"                                \
	"\n"                                                                                            \
	"\t\t*(void **)(data + from * @stride@ + " offset("from") ") = data + to * @stride@ + " offset( \
	    "to") ";\n"                                                                                 \
	          "\t}\n"                                                                               \
	          "\tdata_@phase@[thread] = data;\n"                                                    \
	          "\tstart_@phase@[thread] = (void **)(data + (uint64_t)order[0] * @stride@ + " offset( \
	              "(uint64_t)order[0]") ");\n"                                                      \
	                                    "}\n"                                                       \
	                                    "\n" FOLLOW

#define SAME_SET(line) "0"

/* another line in each page, by a number that has nothing to do with the page's: every set is used */
#define EVERY_SET(line) "((" line " * 2654435761u >> 20) % 64 * 64)"

const char text_conflict[] = FAR_APART(SAME_SET);

const char text_pages[] = FAR_APART(EVERY_SET);
