/* Which programs can be recorded: ELF headers and scripts made for the purpose. */
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/preloadable.h"

static char folder[] = "/tmp/fathom-preloadable-XXXXXX";

struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segments[2];
	char interpreter[64];
};

static struct image image_of(const char *interpreter)
{
	struct image image = {.head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
	                               .e_type = ET_DYN,
	                               .e_machine = EM_X86_64,
	                               .e_phoff = offsetof(struct image, segments),
	                               .e_phentsize = sizeof(Elf64_Phdr),
	                               .e_phnum = 2},
	                      .segments = {{.p_type = PT_LOAD}}};

	if (interpreter) {
		image.segments[1] = (Elf64_Phdr){.p_type = PT_INTERP,
		                                 .p_offset = offsetof(struct image, interpreter),
		                                 .p_filesz = strlen(interpreter) + 1};
		snprintf(image.interpreter, sizeof(image.interpreter), "%s", interpreter);
	}
	return image;
}

static const char *write_file(const char *name, const void *bytes, size_t size, mode_t mode)
{
	static char path[200];
	int file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
	file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0755);
	assert_true(file >= 0 && write(file, bytes, size) == (ssize_t)size && !fchmod(file, mode));
	close(file);
	return path;
}

static const char glibc[] = "/lib64/ld-linux-x86-64.so.2";

static void check(int expected, const char *words, const char *path)
{
	struct fm_error error = {0};
	int r = fm_preloadable_check(path, "--sampler exact", &error);

	if (r != expected || (expected && !strstr(error.message, words)))
		fail_msg("%s: %d instead of %d, \"%s\" without \"%s\"", path, r, expected, error.message, words);
}

static void programs(void **state)
{
	struct image image = image_of(glibc);

	(void)state;
	check(0, "", write_file("good", &image, sizeof(image), 0755));
	check(0, "", "/bin/sh");
	check(-ENOTSUP, "runs programs in an emulator", write_file("valgrind", &image, sizeof(image), 0755));
	image = image_of(NULL);
	check(-ENOTSUP, "--sampler exact", write_file("static", &image, sizeof(image), 0755));
	check(-ENOTSUP, "statically", write_file("static", &image, sizeof(image), 0755));
	check(0, "", write_file("ld-linux-x86-64.so.2", &image, sizeof(image), 0755));
	image = image_of("/lib/ld-musl-x86_64.so.1");
	check(-ENOTSUP, "musl", write_file("musl", &image, sizeof(image), 0755));
	image = image_of(glibc);
	image.head.e_machine = EM_AARCH64;
	check(-ENOTSUP, "64-bit ARM", write_file("arm", &image, sizeof(image), 0755));
	image.head.e_machine = EM_386;
	image.head.e_ident[EI_CLASS] = ELFCLASS32;
	check(-ENOTSUP, "32-bit x86", write_file("old", &image, sizeof(image), 0755));
}

static void scripts(void **state)
{
	struct image image = image_of(glibc), fixed = image_of(NULL);
	char text[300];

	(void)state;
	write_file("interpreter", &image, sizeof(image), 0755);
	snprintf(text, sizeof(text), "#! %s/interpreter -x\necho\n", folder);
	check(0, "", write_file("script", text, strlen(text), 0755));
	snprintf(text, sizeof(text), "#!%s/script\n", folder);
	check(0, "", write_file("second", text, strlen(text), 0755));
	write_file("interpreter", &fixed, sizeof(fixed), 0755);
	snprintf(text, sizeof(text), "%s/second", folder);
	check(-ENOTSUP, "interpreter is linked statically", text);
	check(-EACCES, "no such interpreter", write_file("lost", "#!/nowhere/sh\n", 14, 0755));
	snprintf(text, sizeof(text), "#!%s/circle\n", folder);
	check(-EACCES, "too many", write_file("circle", text, strlen(text), 0755));
	check(-EACCES, "neither", write_file("text", "hello, world", 12, 0755));
	check(-EACCES, "neither", write_file("empty", "", 0, 0755));
}

static void damaged_files(void **state)
{
	struct image image = image_of(glibc);

	(void)state;
	check(-EACCES, "damaged", write_file("short", &image, sizeof(image.head), 0755));
	image.segments[1].p_filesz = 1 << 20;
	check(-EACCES, "damaged", write_file("long", &image, sizeof(image), 0755));
	image = image_of(glibc);
	image.head.e_phentsize = 7;
	check(-EACCES, "damaged", write_file("odd", &image, sizeof(image), 0755));
	image = image_of(glibc);
	image.head.e_phoff = UINT64_MAX - 10;
	check(-EACCES, "damaged", write_file("far", &image, sizeof(image), 0755));
}

static void rights(void **state)
{
	struct image image = image_of(glibc);
	const char *path = write_file("own", &image, sizeof(image), 04755);

	(void)state;
	/* to become oneself is no change */
	check(0, "", path);
	if (geteuid()) {
		print_message("not root: programs of other users are not tried\n");
		return;
	}
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(chmod(path, 04755), 0);
	check(-ENOTSUP, "setuid", path);
	assert_int_equal(chmod(path, 02755), 0);
	check(-ENOTSUP, "setgid", path);
	assert_int_equal(chmod(path, 02745), 0); /* without x it is something else */
	check(0, "", path);
}

static void names(void **state)
{
	struct image image = image_of(glibc);
	char found[300], expected[300], search[300];
	struct fm_error error;

	(void)state;
	write_file("tool", &image, sizeof(image), 0755);
	write_file("plain", &image, sizeof(image), 0644);
	snprintf(search, sizeof(search), "/nowhere:%s:/usr/bin", folder);
	setenv("PATH", search, 1);
	snprintf(expected, sizeof(expected), "%s/tool", folder);
	assert_int_equal(fm_program_resolve("tool", found, sizeof(found), &error), 0);
	assert_string_equal(found, expected);
	assert_int_equal(fm_program_resolve(expected, found, sizeof(found), &error), 0);
	assert_int_equal(fm_program_resolve("no-such-tool", found, sizeof(found), &error), -ENOENT);
	assert_int_equal(fm_program_resolve("/no/such/tool", found, sizeof(found), &error), -ENOENT);
	assert_int_equal(fm_program_resolve("plain", found, sizeof(found), &error), -EACCES);
	assert_int_equal(fm_program_resolve(folder, found, sizeof(found), &error), -EACCES);
	assert_int_equal(fm_program_resolve("", found, sizeof(found), &error), -ENOENT);
}

static int set_up(void **state)
{
	(void)state;
	return !mkdtemp(folder);
}

static int tear_down(void **state)
{
	char command[100];

	(void)state;
	setenv("PATH", "/usr/bin:/bin", 1);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(programs), cmocka_unit_test(scripts), cmocka_unit_test(damaged_files),
	    cmocka_unit_test(rights),   cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
