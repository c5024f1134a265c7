/* Kinds for two threads. What each returns depends on no order, so that the checksum is the same in every run. */
#include "texts.h"

#define NOTHING                                          \
	"static void prepare_@phase@(unsigned thread)\n" \
	"{\n"                                            \
	"\t(void)thread;\n"                              \
	"}\n"                                            \
	"\n"

#define WORK "AS_WRITTEN static uint64_t work_@phase@(unsigned thread, uint64_t repetitions)\n"

/* Each thread has a word of its own, in one line. */
const char text_false_sharing[] = "static uint64_t words_@phase@[8] __attribute__((aligned(128)));\n"
                                  "\n" NOTHING WORK "{\n"
                                  "\tvolatile uint64_t *word = &words_@phase@[3 * thread];\n"
                                  "\n"
                                  "\tfor (uint64_t r = 0; r < repetitions * 1024; r++)\n"
                                  "\t\t*word += r ^ @seed@;\n"
                                  "\treturn *word;\n"
                                  "}\n";

const char text_true_sharing[] = "static uint64_t counter_@phase@[16] __attribute__((aligned(128)));\n"
                                 "\n" NOTHING WORK "{\n"
                                 "\tfor (uint64_t r = 0; r < repetitions * 1024; r++)\n"
                                 "\t\t__atomic_fetch_add(&counter_@phase@[0], r ^ @seed@, __ATOMIC_RELAXED);\n"
                                 "\t(void)thread;\n"
                                 "\treturn repetitions;\n"
                                 "}\n";

/* All of the work is done under the lock. */
const char text_mutex[] = "static pthread_mutex_t lock_@phase@ = PTHREAD_MUTEX_INITIALIZER;\n"
                          "static uint64_t total_@phase@;\n"
                          "\n" NOTHING WORK "{\n"
                          "\tfor (uint64_t r = 0; r < repetitions; r++) {\n"
                          "\t\tpthread_mutex_lock(&lock_@phase@);\n"
                          "\t\ttotal_@phase@ += spend(@work@);\n"
                          "\t\tpthread_mutex_unlock(&lock_@phase@);\n"
                          "\t}\n"
                          "\t(void)thread;\n"
                          "\treturn repetitions;\n"
                          "}\n";

const char text_spin_lock[] = "static int lock_@phase@[32] __attribute__((aligned(128)));\n"
                              "static uint64_t total_@phase@;\n"
                              "\n" NOTHING WORK "{\n"
                              "\tfor (uint64_t r = 0; r < repetitions; r++) {\n"
                              "\t\twhile (__atomic_exchange_n(&lock_@phase@[0], 1, __ATOMIC_ACQUIRE))\n"
                              "\t\t\tSPIN(__atomic_load_n(&lock_@phase@[0], __ATOMIC_RELAXED));\n"
                              "\t\ttotal_@phase@ += spend(@work@);\n"
                              "\t\t__atomic_store_n(&lock_@phase@[0], 0, __ATOMIC_RELEASE);\n"
                              "\t\t/* lets the other thread have it */\n"
                              "\t\tspend(@work@ / 8 + 16);\n"
                              "\t}\n"
                              "\t(void)thread;\n"
                              "\treturn repetitions;\n"
                              "}\n";

/* The second thread has a quarter of the work. */
const char text_barrier[] = "static pthread_barrier_t barrier_@phase@;\n"
                            "\n"
                            "static void prepare_@phase@(unsigned thread)\n"
                            "{\n"
                            "\tif (!thread)\n"
                            "\t\tpthread_barrier_init(&barrier_@phase@, NULL, THREADS);\n"
                            "}\n"
                            "\n" WORK "{\n"
                            "\tuint64_t sum = 0;\n"
                            "\n"
                            "\tfor (uint64_t r = 0; r < repetitions; r++) {\n"
                            "\t\tsum += spend(thread ? @work@ / 4 : @work@);\n"
                            "\t\tpthread_barrier_wait(&barrier_@phase@);\n"
                            "\t}\n"
                            "\treturn sum;\n"
                            "}\n";

/* One thread is done long before the other. */
const char text_imbalance[] = NOTHING WORK "{\n"
                                           "\tuint64_t sum = 0;\n"
                                           "\n"
                                           "\tfor (uint64_t r = 0; r < repetitions; r++)\n"
                                           "\t\tsum += spend(thread ? @work@ : @work@ / 5);\n"
                                           "\treturn sum;\n"
                                           "}\n";

/* The first thread makes items of a line each, the second one takes them; `taking` is what it does with one. */
#define QUEUE(taking)                                                                                              \
	"static uint64_t items_@phase@[256][8] __attribute__((aligned(128)));\n"                                   \
	"static uint64_t made_@phase@[16] __attribute__((aligned(128)));\n"                                        \
	"static uint64_t taken_@phase@[16] __attribute__((aligned(128)));\n"                                       \
	"\n" NOTHING WORK "{\n"                                                                                    \
	"\tuint64_t count = repetitions, sum = 0;\n"                                                               \
	"\tuint64_t first = __atomic_load_n(thread ? &taken_@phase@[0] : &made_@phase@[0], __ATOMIC_RELAXED);\n"   \
	"\n"                                                                                                       \
	"\tfor (uint64_t i = first; i < first + count; i++) {\n"                                                   \
	"\t\tuint64_t *item = items_@phase@[i % 256];\n"                                                           \
	"\n"                                                                                                       \
	"\t\tif (thread) {\n"                                                                                      \
	"\t\t\tSPIN(__atomic_load_n(&made_@phase@[0], __ATOMIC_ACQUIRE) == i);\n"                                  \
	"\t\t\tfor (unsigned k = 0; k < 8; k++)\n"                                                                 \
	"\t\t\t\tsum += item[k];\n" taking "\t\t\t__atomic_store_n(&taken_@phase@[0], i + 1, __ATOMIC_RELEASE);\n" \
	"\t\t} else {\n"                                                                                           \
	"\t\t\tSPIN(i - __atomic_load_n(&taken_@phase@[0], __ATOMIC_ACQUIRE) == 256);\n"                           \
	"\t\t\tfor (unsigned k = 0; k < 8; k++)\n"                                                                 \
	"\t\t\t\titem[k] = i ^ k;\n"                                                                               \
	"\t\t\t__atomic_store_n(&made_@phase@[0], i + 1, __ATOMIC_RELEASE);\n"                                     \
	"\t\t}\n"                                                                                                  \
	"\t}\n"                                                                                                    \
	"\treturn sum;\n"                                                                                          \
	"}\n"

const char text_queue[] = QUEUE("");

const char text_slow_queue[] = QUEUE("\t\t\tsum += spend(@work@);\n");
