/* Machine files: those that come with Fathom, and hostile ones. */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "simulator/description.h"
#include "simulator/hierarchy.h"

#define HEAD "machine sockets=1 cores=2 frequency=3GHz\n"
#define CACHE "cache L1 size=32KiB ways=8 latency=4\n"
#define MEMORY "memory latency=200 gbs=10\n"
#define CORE                                                                                                    \
	"core width=4 window=192 load_buffers=72 store_buffers=42 fill_buffers=10 super_queue=16 load_ports=2 " \
	"store_ports=1 multiply_ports=1 ports=8\n"

static void ours_are_right(void **state)
{
	static const char *const names[] = {"haswell-ep", "xeon-e5-2670", "icelake-sp", "zen3"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct fm_machine_description description;
		struct fm_hierarchy *hierarchy;
		struct fm_error error;
		char path[512];

		snprintf(path, sizeof(path), MACHINES "/%s.machine", names[i]);
		if (fm_description_read(path, &description, &error))
			fail_msg("%s", error.message);
		assert_string_equal(description.name, names[i]);
		assert_int_equal(description.cache_count, 3);
		assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
		assert_non_null(fm_hierarchy_core(hierarchy, 0));
		fm_hierarchy_destroy(hierarchy);
	}
	setenv("FATHOM_MACHINES", MACHINES, 1);
	{
		struct fm_machine_description description;
		struct fm_error error;

		assert_int_equal(fm_description_find("haswell-ep", &description, &error), 0);
		assert_int_equal(fm_description_find("haswell", &description, &error), -ENOENT);
		assert_non_null(strstr(error.message, "haswell-ep, icelake-sp"));
	}
}

/* Whether string stores read the lines they overwrite: yes unless it says no, and kept when it is written down. */
static void string_stores_are_kept(void **state)
{
	static const char *const texts[] = {
	    "machine sockets=1 cores=2 frequency=3GHz string_allocates=0\n" CACHE MEMORY CORE, HEAD CACHE MEMORY CORE};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct fm_machine_description description, again;
		struct fm_error error;
		char path[64];

		assert_int_equal(fm_description_parse(texts[i], "test", &description, &error), 0);
		assert_int_equal(description.string_allocates, i);
		snprintf(path, sizeof(path), "/tmp/fathom-test-%d-%u.machine", (int)getpid(), i);
		unlink(path);
		assert_int_equal(fm_description_write(&description, path, &error), 0);
		assert_int_equal(fm_description_read(path, &again, &error), 0);
		assert_int_equal(again.string_allocates, i);
		unlink(path);
	}
}

/* Operations that are given are kept, others are as usual; an interval may be a part of a cycle. */
static void operations_are_kept(void **state)
{
	static const char text[] = HEAD CACHE MEMORY CORE "operation float_add latency=6 interval=0.75\n"
	                                                  "operation divide latency=31\n";
	struct fm_machine_description description, again;
	struct fm_error error;
	char *written;

	(void)state;
	assert_int_equal(fm_description_parse(text, "test", &description, &error), 0);
	assert_int_equal(description.core.operations[FM_OPERATION_float_add].latency, 6);
	assert_int_equal(description.core.operations[FM_OPERATION_float_add].interval, 75);
	assert_true(description.core.operations[FM_OPERATION_divide].given);
	assert_false(description.core.operations[FM_OPERATION_multiply].given);
	assert_int_equal(fm_description_check(&description, &error), 0);
	assert_int_equal(fm_description_text(&description, &written, &error), 0);
	assert_int_equal(fm_description_parse(written, "test", &again, &error), 0);
	assert_memory_equal(again.core.operations, description.core.operations, sizeof(again.core.operations));
	free(written);
	assert_int_equal(fm_operation_find("float_root"), FM_OPERATION_float_root);
	assert_int_equal(fm_operation_find("nonsense"), FM_OPERATION_COUNT);
}

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} cases[] = {
	    {"", "m:0: the file needs"},
	    {HEAD, "m:1: the file needs"},
	    {CACHE, "m:1: the machine line must come first"},
	    {HEAD "cash L1 size=1KiB\n", "m:2: \"cash\" is not known"},
	    {HEAD "cache L1 size=32KB ways=8 latency=4\n", "m:2: size: \"KB\" is not a unit"},
	    {HEAD "cache L1 size=32KiB ways=0 latency=4\n", "m:2: ways is out of range"},
	    {HEAD "cache L1 size=32KiB ways=8\n", "m:2: latency is missing"},
	    {HEAD "cache L1 size=32KiB ways=8 latency=4 latency=5\n", "m:2: latency is given twice"},
	    {HEAD "cache L1 size=32KiB ways=7 latency=4\n", "m:2: L1: the size is no multiple"},
	    {HEAD "cache L1 size=-1 ways=8 latency=4\n", "m:2: size is out of range"},
	    {HEAD "cache L1 size=nan ways=8 latency=4\n", "m:2: size needs a number"},
	    {HEAD "cache L1 size=1e300 ways=8 latency=4\n", "m:2: size is out of range"},
	    {HEAD "cache L1 size=32KiB ways=8 latency=4 colour=red\n", "m:2: there is no \"colour\" here"},
	    {HEAD "cache L1 size=32KiB ways=8 latency=4 replacement=fifo\n",
	     "m:2: replacement is one of: lru tree random"},
	    {HEAD "cache L1 size=24KiB ways=6 latency=4 replacement=tree\n", "m:2: L1: tree replacement needs"},
	    {HEAD "cache L1 size=32KiB ways=8 latency=4 shared=3\n", "m:2: L1: shared by 3 cores, but a socket has 2"},
	    {HEAD "cache L1 size=32KiB ways=8 latency=4 shared=2\n", "m:2: L1: the first cache cannot be shared"},
	    {HEAD "cache L1 size=32KiB ways=8 latency=4 available=64KiB\n", "m:2: L1: more available than there is"},
	    {HEAD "cache L1 size=32KiB ways=8 latency=4 available=16KiB replacement=tree\n",
	     "m:2: L1: tree replacement uses all"},
	    {"machine sockets=1 cores=2 frequency=1GHz physical=maybe\n", "m:1: physical needs a number"},
	    {"machine sockets=2 cores=64 threads=4 frequency=1GHz\n", "m:1: more than 256 hardware threads"},
	    {HEAD "cache L1 size=32KiB ways=8 latency=4 inclusion=victim\n", "m:2: L1: only a shared cache"},
	    {HEAD "cache size=32KiB ways=8\n", "m:2: a cache needs a name"},
	    {HEAD "cache L1 fast\n", "m:2: \"fast\" is not key=value"},
	    {HEAD CACHE "cache L2 size=1MiB ways=8 latency=3\n", "m:3: L2 must be slower than L1"},
	    {HEAD HEAD, "m:2: a second machine line"},
	    {"machine sockets=8 cores=200 frequency=3GHz\n", "m:1: more than 256 hardware threads"},
	    {"machine sockets=1 cores=1 frequency=3GHz line=48\n", "m:1: line and page must be powers of two"},
	    {HEAD CACHE CORE "memory latency=4 gbs=1\n", "memory must be slower"},
	    {HEAD "tlb entries=10 ways=4 penalty=1\n", "m:2: entries is no multiple of ways"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_machine_description description;
		struct fm_error error;

		assert_int_equal(fm_description_parse(cases[i].text, "m", &description, &error), -EBADMSG);
		if (!strstr(error.message, cases[i].message))
			fail_msg("\"%s\" instead of \"%s\"", error.message, cases[i].message);
	}
}

/* What a reader shows is text: neither control characters nor half a character where the title is cut. */
static void titles_are_text(void **state)
{
	static const char long_title[] = "title "
	                                 "0123456789012345678901234567890123456789012345678901234567890123456789"
	                                 "012345678901234567890123\xc3\xa9\n" HEAD CACHE MEMORY CORE;
	struct fm_machine_description description;
	struct fm_error error;

	(void)state;
	assert_int_equal(fm_description_parse("title \x1b[2J\n" HEAD CACHE MEMORY CORE, "m", &description, &error),
	                 -EBADMSG);
	assert_int_equal(fm_description_parse("title \xff\n" HEAD CACHE MEMORY CORE, "m", &description, &error),
	                 -EBADMSG);
	assert_int_equal(fm_description_parse(long_title, "m", &description, &error), 0);
	assert_int_equal(strlen(description.title), 94);
}

/* Random damage to a right file: refused or simulated, never more. */
static void hostile_files(void **state)
{
	static const char right[] =
	    "# x\n" HEAD CACHE "cache L2 size=64KiB ways=8 latency=12 shared=2 inclusion=inclusive\n"
	    "tlb entries=16 ways=4 penalty=7\n" MEMORY CORE;
	struct fm_random random;
	unsigned accepted = 0, refused = 0;

	(void)state;
	fm_random_seed(&random, 1);
	for (unsigned round = 0; round < 20000; round++) {
		struct fm_machine_description description;
		struct fm_error error;
		char text[sizeof(right)];

		memcpy(text, right, sizeof(right));
		for (unsigned i = 0; i < 1 + round % 4; i++)
			/* any byte, or one that text is made of */
			text[fm_random_below(&random, sizeof(right) - 1)] =
			    (char)(round & 4 ? 1 + fm_random_below(&random, 255) : ' ' + fm_random_below(&random, 95));
		if (fm_description_parse(text, "m", &description, &error)) {
			refused++;
			assert_true(error.message[0]);
			continue;
		}
		accepted++;
		if (accepted % 16 == 0 && description.sockets * description.cores <= 8 &&
		    description.caches[0].bytes < 1 << 24) {
			struct fm_hierarchy *hierarchy;

			assert_int_equal(fm_hierarchy_create(&description, &hierarchy, &error), 0);
			if (fm_hierarchy_core(hierarchy, 0))
				for (unsigned i = 0; i < 100; i++)
					fm_hierarchy_access(hierarchy, fm_hierarchy_core(hierarchy, 0),
					                    fm_random_below(&random, 1 << 20), 8,
					                    (enum fm_access)(i % 3));
			fm_hierarchy_destroy(hierarchy);
		}
	}
	assert_true(refused > 5000 && accepted > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(ours_are_right),      cmocka_unit_test(string_stores_are_kept),
	    cmocka_unit_test(operations_are_kept), cmocka_unit_test(mistakes_are_named),
	    cmocka_unit_test(titles_are_text),     cmocka_unit_test(hostile_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
