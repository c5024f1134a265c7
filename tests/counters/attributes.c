/* What we would submit to the kernel, for servers that are not here: names resolved against captured sysfs trees, all
   fields compared with a file. Usage without cmocka: test_attributes --print SERVER NAME... writes such a file. */
#include "check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counters/event.h"
#include "counters/sysfs.h"

static char folder[] = "/tmp/fathom-sysfs-XXXXXX";

static void make_folders(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		mkdir(path, 0700);
		*at = '/';
	}
}

/* A tree is lines of "path value" below bus/event_source/devices. */
static void plant(const char *server)
{
	char line[512], path[1024];
	FILE *tree;

	snprintf(path, sizeof(path), SYSFS "/%s.tree", server);
	tree = fopen(path, "r");
	assert_non_null(tree);
	while (fgets(line, sizeof(line), tree)) {
		char *value = strchr(line, ' ');
		FILE *file;

		if (*line == '#' || !value)
			continue;
		*value++ = 0;
		snprintf(path, sizeof(path), "%s/%s/bus/event_source/devices/%s", folder, server, line);
		make_folders(path);
		file = fopen(path, "w");
		assert_non_null(file);
		fputs(value, file);
		fclose(file);
	}
	fclose(tree);
	snprintf(path, sizeof(path), "%s/%s", folder, server);
	setenv("FATHOM_SYSFS", path, 1);
}

static void attributes_are_these(void **state)
{
	static const char *const servers[] = {"haswell-ep", "icelake-sp", "zen3"};
	unsigned checked = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		char path[512], line[1024], text[1024];
		FILE *golden;

		plant(servers[i]);
		snprintf(path, sizeof(path), SYSFS "/%s.golden", servers[i]);
		golden = fopen(path, "r");
		assert_non_null(golden);
		while (fgets(line, sizeof(line), golden)) {
			char name[512], *end;
			struct fm_event event;
			struct fm_error error;

			line[strcspn(line, "\n")] = 0;
			end = strstr(line, ": pmu=");
			if (!end)
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)(end - line), line);
			if (fm_event_resolve(name, &event, &error))
				fail_msg("%s on %s: %s", name, servers[i], error.message);
			fm_event_describe(&event, text, sizeof(text));
			assert_string_equal(text, line);
			checked++;
		}
		fclose(golden);
	}
	print_message("%u events on three servers\n", checked);
	assert_true(checked >= 40);
}

/* What is wrong in a name is said, with what would be right. */
static void mistakes_are_explained(void **state)
{
	static const struct {
		const char *name, *words;
		int code;
	} cases[] = {
	    {"uncore_imc_0/event=0x04,umsk=3/", "no field \"umsk\"; it has: edge, event", EINVAL},
	    {"uncore_imc_0/event=0x1234/", "larger than the field", EINVAL},
	    {"uncore_imc_0/event=read/", "is not a number", EINVAL},
	    {"uncore_imc_9/event=1/", "no PMU \"uncore_imc_9\"", ENOTSUP},
	    {"cpu/event=1", "end with a slash", EINVAL},
	    {"instrutions", "did you mean \"instructions\"", EINVAL},
	    {"L1-dcache-load-mises", "did you mean \"L1-dcache-load-misses\"", EINVAL},
	    {"cycles:z", "modifiers are", EINVAL},
	    {"cycles:pppp", "most precise modifier", EINVAL},
	    {"mem:0x10/3", "1, 2, 4 or 8 bytes", EINVAL},
	    {"mem:here", "an address is missing", EINVAL},
	    {"../../../etc/passwd", "", EINVAL},
	    {"", "not the name", EINVAL},
	};

	(void)state;
	plant("haswell-ep");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fm_event event;
		struct fm_error error = {0};
		int status = fm_event_resolve(cases[i].name, &event, &error);

		if (!status || !strstr(error.message, cases[i].words))
			fail_msg("%s: %d \"%s\"", cases[i].name, status, error.message);
		if (i != 11)
			assert_int_equal(-status, cases[i].code);
	}
}

static void lists_have_groups(void **state)
{
	struct fm_event events[8];
	struct fm_error error;

	(void)state;
	plant("haswell-ep");
	assert_int_equal(
	    fm_events_parse("cycles,{instructions,uncore_imc_0/event=4,umask=3/},{branches},r3c:u", events, 8, &error),
	    5);
	assert_int_equal(events[0].group, 0);
	assert_int_equal(events[1].group, 1);
	assert_int_equal(events[2].group, 1);
	assert_int_equal(events[2].attributes.config, 0x304);
	assert_int_equal(events[3].group, 2);
	assert_int_equal(events[4].attributes.exclude_kernel, 1);
	assert_int_equal(fm_events_parse("{cycles", events, 8, &error), -EINVAL);
	assert_int_equal(fm_events_parse("cycles}", events, 8, &error), -EINVAL);
	assert_int_equal(fm_events_parse(",", events, 8, &error), -EINVAL);
	assert_int_equal(fm_events_parse("cycles,cycles,cycles", events, 2, &error), -EINVAL);
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(attributes_are_these),
	    cmocka_unit_test(mistakes_are_explained),
	    cmocka_unit_test(lists_have_groups),
	};

	if (!mkdtemp(folder))
		return 1;
	if (argc > 3 && !strcmp(argv[1], "--print")) {
		plant(argv[2]);
		for (int i = 3; i < argc; i++) {
			struct fm_event event;
			struct fm_error error;
			char text[1024];

			if (fm_event_resolve(argv[i], &event, &error))
				snprintf(text, sizeof(text), "# %s: %s", argv[i], error.message);
			else
				fm_event_describe(&event, text, sizeof(text));
			puts(text);
		}
		return tear_down(NULL);
	}
	return cmocka_run_group_tests(tests, NULL, tear_down);
}
