/* Where files that come with Fathom are found. A copy of this program is put into trees as they are installed and
   built, and asked what it finds; the current folder is full of traps. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/installed.h"

static const struct {
	const char *name;
	enum fm_installed_kind kind;
} kinds[] = {{"program", FM_INSTALLED_program},
             {"library", FM_INSTALLED_library},
             {"machine", FM_INSTALLED_machine},
             {"group", FM_INSTALLED_group}};

static char self[PATH_MAX], root[] = "/tmp/fathom-test-XXXXXX";

/* An empty file that may be executed, with the folders it needs. */
static void make(const char *name)
{
	char path[PATH_MAX];
	int file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root); (slash = strchr(slash + 1, '/'));) {
		*slash = 0;
		mkdir(path, 0755);
		*slash = '/';
	}
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	assert_true(file >= 0);
	close(file);
}

static void copy_self(const char *name)
{
	char command[2 * PATH_MAX + 64];

	make(name);
	snprintf(command, sizeof(command), "cp '%s' '%s/%s'", self, root, name);
	assert_int_equal(system(command), 0);
}

/* What the copy says, with the root taken away; environment "NAME=value" or NULL. */
static const char *ask(const char *program, const char *environment, const char *kind, const char *name)
{
	static char said[PATH_MAX];
	char path[PATH_MAX], folder[PATH_MAX], resolved[PATH_MAX];
	int ends[2], status;
	ssize_t length;
	pid_t child;

	snprintf(path, sizeof(path), "%s/%s", root, program);
	snprintf(folder, sizeof(folder), "%s/traps", root);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		dup2(ends[1], 1);
		unsetenv("FATHOM_MACHINES");
		unsetenv("FATHOM_GROUPS");
		if (environment)
			putenv((char *)environment);
		if (!chdir(folder))
			execl(path, path, kind, name, NULL);
		_exit(127);
	}
	close(ends[1]);
	length = read(ends[0], path, sizeof(path) - 1);
	close(ends[0]);
	path[length > 0 ? length : 0] = 0;
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
		fail_msg("%s ended with %d", program, status);
	if (WEXITSTATUS(status))
		return "";
	assert_non_null(realpath(path, resolved));
	snprintf(said, sizeof(said), "%s", resolved + strlen(root) + 1);
	return said;
}

static void installed(void **state)
{
	(void)state;
	assert_string_equal(ask("prefix/bin/copy", NULL, "program", "tool"), "prefix/lib/fathom/tool");
	assert_string_equal(ask("prefix/bin/copy", NULL, "library", "plugin.so"), "prefix/lib/fathom/plugin.so");
	assert_string_equal(ask("prefix/bin/copy", NULL, "machine", "x.machine"),
	                    "prefix/share/fathom/machines/x.machine");
	assert_string_equal(ask("prefix/bin/copy", NULL, "group", "family/L2.txt"),
	                    "prefix/share/fathom/groups/family/L2.txt");
}

static void in_a_build_tree(void **state)
{
	static const char *const copies[] = {"source/build/copy", "source/build/tests/copy"};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_string_equal(ask(copies[i], NULL, "program", "tool"), "source/build/tool");
		assert_string_equal(ask(copies[i], NULL, "library", "plugin.so"), "source/build/plugin.so");
		assert_string_equal(ask(copies[i], NULL, "machine", "x.machine"), "source/machines/x.machine");
		assert_string_equal(ask(copies[i], NULL, "group", "family/L2.txt"), "source/groups/family/L2.txt");
	}
}

static void where_the_environment_says(void **state)
{
	char machines[PATH_MAX], groups[PATH_MAX];

	(void)state;
	snprintf(machines, sizeof(machines), "FATHOM_MACHINES=%s/mine", root);
	snprintf(groups, sizeof(groups), "FATHOM_GROUPS=%s/mine", root);
	assert_string_equal(ask("prefix/bin/copy", machines, "machine", "x.machine"), "mine/x.machine");
	assert_string_equal(ask("prefix/bin/copy", groups, "group", "family/L2.txt"), "mine/family/L2.txt");
	/* there and nowhere else */
	assert_string_equal(ask("prefix/bin/copy", machines, "machine", "installed.machine"), "");
	assert_string_equal(ask("prefix/bin/copy", "FATHOM_MACHINES=/nonexistent", "machine", "x.machine"), "");
	/* empty is not set */
	assert_string_equal(ask("prefix/bin/copy", "FATHOM_MACHINES=", "machine", "x.machine"),
	                    "prefix/share/fathom/machines/x.machine");
}

static void not_in_the_current_folder(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		assert_string_equal(ask("prefix/bin/copy", NULL, kinds[i].name, "trap"), "");
		assert_string_equal(ask("prefix/bin/copy", NULL, kinds[i].name, "./trap"), "");
		assert_string_equal(ask("prefix/bin/copy", NULL, kinds[i].name, "family/trap"), "");
		assert_string_equal(ask("prefix/bin/copy", NULL, kinds[i].name, "../fathom/../../lib/fathom/tool"), "");
		assert_string_equal(ask("prefix/bin/copy", NULL, kinds[i].name, "/etc/passwd"), "");
		assert_string_equal(ask("prefix/bin/copy", NULL, kinds[i].name, ""), "");
	}
	/* a folder is no file */
	assert_string_equal(ask("prefix/bin/copy", NULL, "group", "family"), "");
}

static void rooms_too_small(void **state)
{
	char path[8] = "before";

	(void)state;
	setenv("FATHOM_MACHINES", root, 1);
	assert_int_equal(fm_installed_find(FM_INSTALLED_machine, "traps/trap", path, sizeof(path)), -ENAMETOOLONG);
	assert_int_equal(fm_installed_folder(FM_INSTALLED_machine, path, sizeof(path)), -ENAMETOOLONG);
	assert_string_equal(path, "before");
	assert_int_equal(fm_installed_find(FM_INSTALLED_machine, "../x", path, sizeof(path)), -EINVAL);
	assert_string_equal(fm_installed_variable(FM_INSTALLED_group), "FATHOM_GROUPS");
}

static int set_up(void **state)
{
	static const char *const files[] = {"prefix/lib/fathom/tool",
	                                    "prefix/lib/fathom/plugin.so",
	                                    "prefix/share/fathom/machines/x.machine",
	                                    "prefix/share/fathom/machines/installed.machine",
	                                    "prefix/share/fathom/groups/family/L2.txt",
	                                    "source/build/tool",
	                                    "source/build/plugin.so",
	                                    "source/machines/x.machine",
	                                    "source/groups/family/L2.txt",
	                                    "mine/x.machine",
	                                    "mine/family/L2.txt",
	                                    "traps/trap",
	                                    "traps/family/trap"};

	(void)state;
	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		make(files[i]);
	copy_self("prefix/bin/copy");
	copy_self("source/build/copy");
	copy_self("source/build/tests/copy");
	return 0;
}

static int remove_one(const char *path, const struct stat *what, int flag, struct FTW *where)
{
	(void)what, (void)flag, (void)where;
	return remove(path);
}

static int tear_down(void **state)
{
	(void)state;
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(installed),
	    cmocka_unit_test(in_a_build_tree),
	    cmocka_unit_test(where_the_environment_says),
	    cmocka_unit_test(not_in_the_current_folder),
	    cmocka_unit_test(rooms_too_small),
	};
	char path[PATH_MAX];

	for (unsigned i = 0; argc == 3 && i < 4; i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			if (fm_installed_find(kinds[i].kind, argv[2], path, sizeof(path)))
				return 1;
			printf("%s", path);
			return 0;
		}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
