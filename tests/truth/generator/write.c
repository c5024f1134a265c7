/* Writes a plan as a C program and as JSON. In the texts of kinds @name@ is replaced: phase (its number), bytes (of
   each array), lines, chains, stride, spread, work, seed. */
#include "generator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "#define _GNU_SOURCE\n"
    "#include <pthread.h>\n"
    "#include <sched.h>\n"
    "#include <stdint.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "#include <sys/mman.h>\n"
    "\n"
    "/* as written: not inlined, cloned, or made calls of memset and memcpy */\n"
    "#define AS_WRITTEN __attribute__((noipa, optimize(\"no-tree-loop-distribute-patterns\")))\n"
    "#define KEEP(value) __asm__ volatile(\"\" : \"+r\"(value) : : \"memory\")\n"
    "#define KEEP_FLOAT(value) __asm__ volatile(\"\" : \"+x\"(value))\n"
    "\n"
    "enum { TOUCHED = -1 };\n"
    "\n"
    "typedef uint64_t vector __attribute__((vector_size(16)));\n"
    "\n"
    "static uint64_t random_next(uint64_t *state)\n"
    "{\n"
    "\tuint64_t value = *state += 0x9e3779b97f4a7c15;\n"
    "\n"
    "\tvalue = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;\n"
    "\tvalue = (value ^ value >> 27) * 0x94d049bb133111eb;\n"
    "\treturn value ^ value >> 31;\n"
    "}\n"
    "\n"
    "/* Memory in small pages, each touched; filled with the value, but for TOUCHED. */\n"
    "__attribute__((unused)) static void *room(uint64_t bytes, int value)\n"
    "{\n"
    "\tvoid *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n"
    "\n"
    "\tif (memory == MAP_FAILED)\n"
    "\t\texit(1);\n"
    "\tmadvise(memory, bytes, MADV_NOHUGEPAGE);\n"
    "\tif (value != TOUCHED)\n"
    "\t\tmemset(memory, value, bytes);\n"
    "\telse\n"
    "\t\tfor (uint64_t at = 0; at < bytes; at += 4096)\n"
    "\t\t\t*(volatile char *)((char *)memory + at) = 1;\n"
    "\treturn memory;\n"
    "}\n"
    "\n"
    "__attribute__((unused)) static void shuffle(uint16_t *order, unsigned count, uint64_t seed)\n"
    "{\n"
    "\tfor (unsigned i = 0; i < count; i++)\n"
    "\t\torder[i] = (uint16_t)i;\n"
    "\tfor (unsigned i = count - 1; i > 0; i--) {\n"
    "\t\tunsigned other = (unsigned)(random_next(&seed) % (i + 1));\n"
    "\t\tuint16_t kept = order[i];\n"
    "\n"
    "\t\torder[i] = order[other];\n"
    "\t\torder[other] = kept;\n"
    "\t}\n"
    "}\n"
    "\n";

/* How long the name between two @ is; 0: no name. */
static size_t name_length(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz");

	return text[length] == '@' ? length : 0;
}

static void expand(const struct phase *phase, unsigned number, FILE *output)
{
	const struct {
		const char *name;
		uint64_t value;
	} values[] = {
	    {"phase", number},         {"bytes", phase->bytes}, {"lines", phase->lines},   {"chains", phase->chains},
	    {"stride", phase->stride}, {"seed", phase->seed},   {"spread", phase->spread}, {"work", phase->work},
	};

	for (const char *at = phase->kind->text; *at; at++) {
		size_t length = *at == '@' ? name_length(at + 1) : 0;
		unsigned found = 0;

		if (!length) {
			fputc(*at, output);
			continue;
		}
		while (found < sizeof(values) / sizeof(*values) &&
		       (strlen(values[found].name) != length || strncmp(values[found].name, at + 1, length) != 0))
			found++;
		/* a text with a name that there is not is a mistake in the generator */
		if (found == sizeof(values) / sizeof(*values))
			abort();
		fprintf(output, "%" PRIu64, values[found].value);
		at += length + 1;
	}
}

/* Data is made before, which is no part of what is known. */
static const char region[] = "#ifdef WITH_REGION\n"
                             "#include <fathom.h>\n"
                             "#else\n"
                             "#define fathom_region_begin(name)\n"
                             "#define fathom_region_end(name)\n"
                             "#endif\n"
                             "\n";

static void write_whole(const struct plan *plan, FILE *output)
{
	fprintf(output, "static void prepare(unsigned thread)\n{\n");
	for (unsigned i = 0; i < plan->phase_count; i++)
		fprintf(output, "\tprepare_%u(thread);\n", i);
	fprintf(output, "}\n\n%sstatic uint64_t work(unsigned thread)\n{\n\tuint64_t sum = 0;\n\n", region);
	fprintf(output, "\tfathom_region_begin(\"work\");\n");
	fprintf(output, "\tfor (unsigned round = 0; round < %u; round++) {\n", plan->rounds);
	for (unsigned i = 0; i < plan->phase_count; i++) {
		fprintf(output, "\t\tsum += work_%u(thread, %" PRIu64 ");\n", i, plan->phases[i].repetitions);
		if (plan->options.threads > 1)
			fprintf(output, "\t\tpthread_barrier_wait(&together);\n");
	}
	fprintf(output, "\t}\n\tfathom_region_end(\"work\");\n\treturn sum;\n}\n\n");
}

static const char one_thread[] = "int main(void)\n"
                                 "{\n"
                                 "\tprepare(0);\n"
                                 "\tprintf(\"%016llx\\n\", (unsigned long long)work(0));\n"
                                 "\treturn 0;\n"
                                 "}\n";

static const char for_threads[] = "/* Looks until it is no longer so; gives the processor away if that takes long. */\n"
                                  "#define SPIN(so) \\\n"
                                  "\tfor (unsigned looks = 1; (so); looks++) { \\\n"
                                  "\t\t__builtin_ia32_pause(); \\\n"
                                  "\t\tif (looks % 1024 == 0) \\\n"
                                  "\t\t\tsched_yield(); \\\n"
                                  "\t}\n"
                                  "\n"
                                  "/* Arithmetic that waits for nothing. */\n"
                                  "__attribute__((noipa, unused)) static uint64_t spend(uint64_t iterations)\n"
                                  "{\n"
                                  "\tuint64_t a = iterations, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;\n"
                                  "\n"
                                  "\tfor (uint64_t i = 0; i < iterations; i++) {\n"
                                  "\t\ta += 11; b ^= 12; c += 13; d -= 14; e += 15; f ^= 16; g += 17; h -= 18;\n"
                                  "\t\tKEEP(a); KEEP(b); KEEP(c); KEEP(d); KEEP(e); KEEP(f); KEEP(g); KEEP(h);\n"
                                  "\t}\n"
                                  "\treturn a + b + c + d + e + f + g + h;\n"
                                  "}\n"
                                  "\n"
                                  "static pthread_barrier_t together;\n";

static const char threads[] = "static uint64_t sums[THREADS][8];\n"
                              "\n"
                              "static void *run(void *argument)\n"
                              "{\n"
                              "\tunsigned thread = (unsigned)(uintptr_t)argument;\n"
                              "\n"
                              "\tprepare(thread);\n"
                              "\tpthread_barrier_wait(&together);\n"
                              "\tsums[thread][0] = work(thread);\n"
                              "\treturn NULL;\n"
                              "}\n"
                              "\n"
                              "int main(void)\n"
                              "{\n"
                              "\tpthread_t others[THREADS];\n"
                              "\tuint64_t sum = 0;\n"
                              "\n"
                              "\tpthread_barrier_init(&together, NULL, THREADS);\n"
                              "\tfor (uintptr_t i = 1; i < THREADS; i++)\n"
                              "\t\tif (pthread_create(&others[i], NULL, run, (void *)i))\n"
                              "\t\t\texit(1);\n"
                              "\trun(NULL);\n"
                              "\tfor (unsigned i = 0; i < THREADS; i++) {\n"
                              "\t\tif (i)\n"
                              "\t\t\tpthread_join(others[i], NULL);\n"
                              "\t\tsum += sums[i][0];\n"
                              "\t}\n"
                              "\tprintf(\"%016llx\\n\", (unsigned long long)sum);\n"
                              "\treturn 0;\n"
                              "}\n";

void write_program(const struct plan *plan, FILE *output)
{
	fprintf(output, "/* Made by fathom-truth-generator, seed %" PRIu64 ". Build: gcc -O2 -pthread %s.c -lm */\n",
	        plan->options.seed, plan->name);
	fputs(head, output);
	fprintf(output, "enum { THREADS = %u };\n", plan->options.threads);
	if (plan->options.threads > 1)
		fprintf(output, "\n%s", for_threads);
	for (unsigned i = 0; i < plan->phase_count; i++) {
		const struct phase *phase = &plan->phases[i];

		fprintf(output, "\n/* phase %u: %s, %s, %.0f %% of the time as meant */\n", i, phase->kind->name,
		        level_names[phase->level], 100 * phase->share);
		expand(phase, i, output);
	}
	fputc('\n', output);
	write_whole(plan, output);
	fputs(plan->options.threads > 1 ? threads : one_thread, output);
}

/* JSON */

/* "a|b" as "a" and ["a", "b"] */
static void write_causes(const char *causes, const char *indent, FILE *output)
{
	fprintf(output, "%s\"cause\": \"%.*s\",\n%s\"accept\": [\"", indent, (int)strcspn(causes, "|"), causes, indent);
	for (const char *at = causes; *at; at++) {
		if (*at == '|')
			fputs("\", \"", output);
		else
			fputc(*at, output);
	}
	fputs("\"]", output);
}

void write_truth(const struct plan *plan, FILE *output)
{
	const struct options *options = &plan->options;
	const struct phase *dominant = plan->dominant < 0 ? NULL : &plan->phases[plan->dominant];

	fprintf(output, "{\n \"name\": \"%s\",\n \"seed\": %" PRIu64 ",\n \"threads\": %u,\n \"seconds\": %g,\n",
	        plan->name, options->seed, options->threads, options->seconds);
	fprintf(output, " \"levels\": {");
	for (unsigned i = 0; i < LEVELS; i++)
		fprintf(output, "%s\"%s\": %" PRIu64, i ? ", " : "", level_names[i], options->bytes[i]);
	fprintf(output, "},\n \"rounds\": %u,\n \"phases\": [", plan->rounds);
	for (unsigned i = 0; i < plan->phase_count; i++) {
		const struct phase *phase = &plan->phases[i];
		const struct at_level *at = &phase->kind->at[phase->level];

		fprintf(output, "%s\n  {\n   \"kind\": \"%s\",\n   \"level\": \"%s\",\n   \"share\": %.3f,\n",
		        i ? "," : "", phase->kind->name, level_names[phase->level], phase->share);
		fprintf(output,
		        "   \"bytes\": %" PRIu64 ",\n   \"lines\": %" PRIu64 ",\n   \"repetitions\": %" PRIu64 ",\n",
		        phase->bytes * phase->kind->arrays, phase->lines, phase->repetitions);
		fprintf(output,
		        "   \"chains\": %u,\n   \"stride\": %u,\n   \"spread\": %u,\n   \"work\": %" PRIu64
		        ",\n   \"stalled\": %.2f,\n",
		        phase->chains, phase->stride, phase->spread, phase->work, at->stalled);
		write_causes(at->causes, "   ", output);
		fputs("\n  }", output);
	}
	fputs("\n ],\n", output);
	write_causes(dominant ? dominant->kind->at[dominant->level].causes : "none", " ", output);
	fputs("\n}\n", output);
}
