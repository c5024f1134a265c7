/* Names of functions, variables and inlined calls in programs that are compiled here, and separate debug files. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/symbols.h"

enum { BASE = 0x10000000 };

static char folder[] = "/tmp/fathom-symbols-XXXXXX";

/* A command in the folder; true when it succeeds. */
static bool shell(const char *format, ...)
{
	char command[2048];
	va_list arguments;
	int used = snprintf(command, sizeof(command), "cd %s && ", folder);

	va_start(arguments, format);
	vsnprintf(command + used, sizeof(command) - (size_t)used, format, arguments);
	va_end(arguments);
	return system(command) == 0;
}

static void build(const char *compiler, const char *options, const char *source, const char *program)
{
	if (!shell("%s -g -fPIE -pie -Wl,--build-id %s %s/%s -o %s", compiler, options, PROGRAMS, source, program))
		fail_msg("%s cannot compile %s", compiler, source);
}

static struct fm_symbols *open_program(const char *program)
{
	struct fm_symbols *symbols;
	struct fm_error error;
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, program);
	assert_int_equal(fm_symbols_create(&symbols, &error), 0);
	fm_symbols_add(symbols, path, BASE, BASE + 0x100000, 0);
	fm_symbols_ready(symbols);
	return symbols;
}

/* Where a symbol lies, by nm of a program that has its symbols. */
static void find_symbol(const char *program, const char *name, uint64_t *ret_begin, uint64_t *ret_end)
{
	char command[512];
	unsigned long begin = 0, size = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "nm -S %s/%s | awk '$4 == \"%s\" { print $1, $2 }'", folder, program, name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	if (fscanf(pipe, "%lx %lx", &begin, &size) != 2)
		fail_msg("%s has no symbol %s", program, name);
	pclose(pipe);
	*ret_begin = BASE + begin;
	*ret_end = BASE + begin + size;
}

/* One that has no size. */
static void find_table(const char *program, const char *name, uint64_t *ret_address)
{
	char command[512];
	unsigned long address = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "nm %s/%s | awk '$3 == \"%s\" { print $1 }'", folder, program, name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	assert_int_equal(fscanf(pipe, "%lx", &address), 1);
	pclose(pipe);
	*ret_address = BASE + address;
}

/* The line of a source that says so in a comment. */
static int marked_line(const char *source, const char *what)
{
	char path[512], mark[64], line[512];
	FILE *file;
	int number = 0;

	snprintf(path, sizeof(path), "%s/%s", PROGRAMS, source);
	snprintf(mark, sizeof(mark), "/* line of %s */", what);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		number++;
		if (strstr(line, mark))
			break;
	}
	fclose(file);
	return number;
}

static bool ends_with(const char *text, const char *end)
{
	return strlen(text) >= strlen(end) && !strcmp(text + strlen(text) - strlen(end), end);
}

/* Every address of step belongs to step; some lie in add in twice in step. Returns how many of them. */
static unsigned count_chains(struct fm_symbols *symbols, const char *program)
{
	uint64_t begin, end;
	unsigned chains = 0;

	find_symbol(program, "step", &begin, &end);
	for (uint64_t address = begin; address < end; address++) {
		struct fm_location_names names;

		fm_symbols_find(symbols, address, &names);
		assert_string_equal(names.function, "step");
		assert_string_equal(names.full_function, "step");
		assert_int_equal(names.entry, begin);
		if (strcmp(names.inlined, "add") != 0)
			continue;
		assert_int_equal(names.frame_count, 3);
		assert_true(ends_with(names.file, "/kernel.h"));
		assert_int_equal(names.line, names.frames[0].line);
		assert_string_equal(names.file, names.frames[0].file);
		assert_string_equal(names.frames[0].function, "add");
		assert_string_equal(names.frames[1].function, "twice");
		assert_string_equal(names.frames[2].function, "step");
		assert_int_equal(names.frames[1].line, marked_line("inlined.c", "twice"));
		assert_int_equal(names.frames[2].line, marked_line("inlined.c", "step"));
		assert_true(ends_with(names.frames[1].file, "/inlined.c"));
		assert_true(ends_with(names.frames[2].file, "/inlined.c"));
		if (names.line == marked_line("kernel.h", "add")) {
			char chain[256], expected[256];

			snprintf(expected, sizeof(expected),
			         "kernel.h:%d (add) inlined into inlined.c:%d (twice) inlined into inlined.c:%d (step)",
			         names.line, names.frames[1].line, names.frames[2].line);
			assert_string_equal(fm_symbols_chain(&names, chain, sizeof(chain)), expected);
			chains++;
		}
	}
	return chains;
}

static unsigned chains_of(const char *program, const char *with_symbols)
{
	struct fm_symbols *symbols = open_program(program);
	unsigned chains = count_chains(symbols, with_symbols);

	fm_symbols_destroy(symbols);
	return chains;
}

static void inlined_calls_are_a_chain(void **state)
{
	struct fm_location_names names;
	struct fm_symbols *symbols;
	uint64_t begin, end;
	char text[128];

	(void)state;
	build(COMPILER, "-O2", "inlined.c", "inlined");
	assert_true(chains_of("inlined", "inlined") > 0);
	build(COMPILER, "-O2 -gdwarf-4", "inlined.c", "inlined4");
	assert_true(chains_of("inlined4", "inlined4") > 0);
	if (shell("command -v clang >/dev/null")) {
		/* has no .debug_aranges */
		build("clang", "-O2", "inlined.c", "inlined_clang");
		assert_true(chains_of("inlined_clang", "inlined_clang") > 0);
	}
	symbols = open_program("inlined");
	find_symbol("inlined", "main", &begin, &end);
	fm_symbols_find(symbols, begin, &names);
	assert_string_equal(names.function, "main");
	assert_string_equal(names.inlined, "");
	assert_string_equal(names.module, "inlined");
	assert_int_equal(names.frame_count, 0);
	assert_true(ends_with(fm_symbols_chain(&names, text, sizeof(text)), " (main)"));
	assert_memory_equal(text, "inlined.c:", 10);
	/* nothing is known of an address outside */
	fm_symbols_find(symbols, 0x1000, &names);
	assert_string_equal(names.function, "?");
	assert_string_equal(names.full_function, "?");
	assert_int_equal(names.frame_count, 0);
	fm_symbols_destroy(symbols);
}

static void long_chains_keep_both_ends(void **state)
{
	struct fm_symbols *symbols;
	uint64_t begin, end;
	unsigned found = 0;

	(void)state;
	build(COMPILER, "-O2", "inlined.c", "deep");
	symbols = open_program("deep");
	find_symbol("deep", "deep", &begin, &end);
	for (uint64_t address = begin; address < end; address++) {
		struct fm_location_names names;

		fm_symbols_find(symbols, address, &names);
		assert_string_equal(names.function, "deep");
		if (strcmp(names.inlined, "add") != 0)
			continue;
		assert_int_equal(names.frame_count, FM_SYMBOLS_FRAMES_MAX);
		assert_string_equal(names.frames[1].function, "level1");
		assert_string_equal(names.frames[FM_SYMBOLS_FRAMES_MAX - 1].function, "deep");
		found++;
	}
	assert_true(found > 0);
	fm_symbols_destroy(symbols);
}

static void separate_debug_files(void **state)
{
	char path[64];

	(void)state;
	build(COMPILER, "-O2", "inlined.c", "whole");
	assert_true(shell("objcopy --only-keep-debug whole whole.debug && strip -o bare whole"));
	unsetenv("FATHOM_DEBUG_PATH");
	{
		struct fm_symbols *symbols = open_program("bare");
		struct fm_location_names names;
		uint64_t begin, end;

		find_symbol("whole", "step", &begin, &end);
		fm_symbols_find(symbols, begin, &names);
		assert_string_equal(names.function, "?");
		assert_string_equal(names.file, "");
		assert_string_equal(names.module, "bare");
		fm_symbols_destroy(symbols);
	}
	/* by build-id, in the second of two folders */
	assert_true(shell("id=$(readelf -n whole | sed -n 's/.*Build ID: //p') && rest=${id#??} && two=${id%%$rest} && "
	                  "mkdir -p store/.build-id/$two && cp whole.debug store/.build-id/$two/$rest.debug"));
	snprintf(path, sizeof(path), "/nowhere::%s/store", folder);
	setenv("FATHOM_DEBUG_PATH", path, 1);
	assert_true(chains_of("bare", "whole") > 0);
	/* with compressed sections */
	assert_true(
	    shell("for file in store/.build-id/*/*.debug; do objcopy --compress-debug-sections=zlib $file; done && "
	          "readelf -SW store/.build-id/*/*.debug | grep -q ' C '"));
	assert_true(chains_of("bare", "whole") > 0);
	/* a file of another program in its place */
	build(COMPILER, "-O1 -DOTHER", "inlined.c", "other");
	assert_true(shell("for file in store/.build-id/*/*.debug; do cp other $file; done"));
	{
		struct fm_symbols *symbols = open_program("bare");
		struct fm_location_names names;
		uint64_t begin, end;

		find_symbol("whole", "step", &begin, &end);
		fm_symbols_find(symbols, begin, &names);
		assert_string_equal(names.file, "");
		fm_symbols_destroy(symbols);
	}
	unsetenv("FATHOM_DEBUG_PATH");
}

static void debug_files_by_name(void **state)
{
	static const char *const places[] = {".", ".debug"};
	struct fm_location_names names;
	struct fm_symbols *symbols;
	uint64_t begin, end;
	char path[64];

	(void)state;
	build(COMPILER, "-O2 -Wl,--build-id=none", "inlined.c", "linked_whole");
	assert_true(
	    shell("objcopy --only-keep-debug linked_whole linked.debug && strip -o linked linked_whole && "
	          "objcopy --add-gnu-debuglink=linked.debug linked && mkdir -p .debug && mv linked.debug kept"));
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		assert_true(shell("cp kept %s/linked.debug", places[i]));
		assert_true(chains_of("linked", "linked_whole") > 0);
		assert_true(shell("rm %s/linked.debug", places[i]));
	}
	assert_true(shell("mkdir -p links && cp kept links/linked.debug"));
	snprintf(path, sizeof(path), "%s/links", folder);
	setenv("FATHOM_DEBUG_PATH", path, 1);
	assert_true(chains_of("linked", "linked_whole") > 0);
	/* the same path below the folder */
	assert_true(shell("mkdir -p links%s && mv links/linked.debug links%s/", folder, folder));
	assert_true(chains_of("linked", "linked_whole") > 0);
	/* one with another checksum is another file */
	assert_true(shell("printf x >> links%s/linked.debug", folder));
	symbols = open_program("linked");
	find_symbol("linked_whole", "step", &begin, &end);
	fm_symbols_find(symbols, begin, &names);
	assert_string_equal(names.file, "");
	fm_symbols_destroy(symbols);
	/* a pipe of that name does not block */
	assert_true(shell("rm -f links%s/linked.debug && mkfifo links/linked.debug", folder));
	symbols = open_program("linked");
	fm_symbols_find(symbols, begin, &names);
	assert_string_equal(names.file, "");
	fm_symbols_destroy(symbols);
	unsetenv("FATHOM_DEBUG_PATH");
}

/* dwz moves what two files have in common into a third. */
static void common_debug_files(void **state)
{
	(void)state;
	if (!shell("command -v dwz >/dev/null"))
		skip();
	build(COMPILER, "-O2 -gdwarf-4", "inlined.c", "first");
	build(COMPILER, "-O2 -gdwarf-4 -DOTHER", "inlined.c", "second");
	assert_true(shell("cp first first_whole && dwz -m common.debug first second 2>/dev/null && "
	                  "readelf -SW first | grep -q gnu_debugaltlink"));
	assert_true(chains_of("first", "first_whole") > 0);
}

static void network_is_not_asked(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct fm_location_names names;
	socklen_t size = sizeof(address);
	struct fm_symbols *symbols;
	uint64_t begin, end;
	char url[64];

	(void)state;
	assert_true(server >= 0);
	assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(server, 4), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&address, &size), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_TIMEOUT", "1", 1);
	setenv("DEBUGINFOD_CACHE_PATH", folder, 1);
	build(COMPILER, "-O2 -DNETWORK", "inlined.c", "network_whole");
	assert_true(shell("strip -o network network_whole"));
	symbols = open_program("network");
	find_symbol("network_whole", "step", &begin, &end);
	fm_symbols_find(symbols, begin, &names);
	assert_string_equal(names.file, "");
	fm_symbols_destroy(symbols);
	assert_int_equal(accept(server, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	close(server);
	unsetenv("DEBUGINFOD_URLS");
}

static void names_of_cxx(void **state)
{
	static const char smooth[] = "_ZN4mesh6smoothIdLi4EEET_NS_5fieldIS1_EEm";
	struct fm_symbols *symbols;
	struct fm_location_names names;
	uint64_t begin, end;
	unsigned inlined = 0;
	char text[128];

	(void)state;
	if (!shell("command -v g++ >/dev/null") || !fm_symbols_can_demangle())
		skip();
	build("g++", "-O2", "names.cc", "names");
	symbols = open_program("names");
	find_symbol("names", smooth, &begin, &end);
	for (uint64_t address = begin; address < end; address++) {
		fm_symbols_find(symbols, address, &names);
		assert_string_equal(names.function, "mesh::smooth<double, 4>(mesh::field<double>, unsigned long)");
		assert_string_equal(names.full_function, names.function);
		if (!*names.inlined)
			continue;
		assert_string_equal(names.inlined, "mesh::field<double>::operator[]");
		assert_int_equal(names.frame_count, 2);
		assert_string_equal(names.frames[1].function, "mesh::smooth<double, 4>");
		assert_int_equal(names.frames[1].line, marked_line("names.cc", "smooth"));
		inlined++;
	}
	assert_true(inlined > 0);
	find_symbol("names", "_ZZ7throughPdlENKUllE_clEl", &begin, &end);
	inlined = 0;
	for (uint64_t address = begin; address < end; address++) {
		fm_symbols_find(symbols, address, &names);
		assert_string_equal(names.function, "through(double*, long)::{lambda(long)#1}::operator()(long) const");
		inlined += !strcmp(names.inlined, "mesh::field<double>::operator[]") &&
		           names.frames[1].line == marked_line("names.cc", "inside");
	}
	assert_true(inlined > 0);
	/* no Fortran: the underscore is part of the name */
	find_symbol("names", "plain_", &begin, &end);
	fm_symbols_find(symbols, begin, &names);
	assert_string_equal(names.function, "plain_");
	/* data: bases have no name of their own, static members take no room */
	assert_true(fm_symbols_field(symbols, "_ZN4mesh5cellsE", 0, text, sizeof(text)));
	assert_string_equal(text, "mesh::cells[0].first");
	assert_true(fm_symbols_field(symbols, "_ZN4mesh5cellsE", 48 + 8 + 2 * 8, text, sizeof(text)));
	assert_string_equal(text, "mesh::cells[1].weights[2]");
	assert_true(fm_symbols_field(symbols, "_ZN4mesh5cellsE", 48 + 8 + 4 * 8 + 4, text, sizeof(text)));
	assert_string_equal(text, "mesh::cells[1].at.column");
	assert_true(fm_symbols_field(symbols, "_ZN4mesh4base6sharedE", 0, text, sizeof(text)));
	assert_string_equal(text, "mesh::base::shared");
	assert_false(fm_symbols_field(symbols, "_ZN4mesh7unknownE", 0, text, sizeof(text)));
	assert_string_equal(text, "mesh::unknown");
	assert_false(fm_symbols_field(symbols, "unknown", 0, text, sizeof(text)));
	assert_string_equal(text, "unknown");
	fm_symbols_destroy(symbols);
}

static void names_of_fortran(void **state)
{
	static const struct {
		const char *symbol, *name;
	} functions[] = {{"__grid_MOD_relax", "grid::relax"}, {"outside_", "outside"}, {"MAIN__", "erosion"}};
	struct fm_symbols *symbols;
	char text[128];

	(void)state;
	if (!shell("command -v gfortran >/dev/null"))
		skip();
	build("gfortran", "-O1 -fno-inline -J.", "names.f90", "fortran");
	symbols = open_program("fortran");
	for (unsigned i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		struct fm_location_names names;
		uint64_t begin, end;

		find_symbol("fortran", functions[i].symbol, &begin, &end);
		fm_symbols_find(symbols, begin, &names);
		assert_string_equal(names.function, functions[i].name);
		assert_true(ends_with(names.file, "/names.f90"));
	}
	fm_symbols_field(symbols, "__grid_MOD_heights", 16, text, sizeof(text));
	assert_memory_equal(text, "grid::heights[", 14);
	fm_symbols_destroy(symbols);
}

/* Bytes of a program's file are changed at random: names may be wrong, but nothing may crash or hang. */
static void broken_files(void **state)
{
	uint64_t begin, end;

	(void)state;
	build(COMPILER, "-O2", "inlined.c", "sound");
	find_symbol("sound", "step", &begin, &end);
	for (unsigned seed = 0; seed < BROKEN_FILES; seed++) {
		struct fm_location_names names;
		struct fm_symbols *symbols;
		uint64_t random = seed * 0x9e3779b97f4a7c15u + 1;
		struct stat status;
		char path[256];
		int file;

		assert_true(shell("cp sound broken"));
		snprintf(path, sizeof(path), "%s/broken", folder);
		file = open(path, O_RDWR);
		assert_int_equal(fstat(file, &status), 0);
		for (unsigned i = 0; i < 64; i++) {
			unsigned char byte;

			random = random * 6364136223846793005u + 1442695040888963407u;
			byte = (unsigned char)(random >> 56);
			/* the headers stay: without them there is nothing to read */
			assert_int_equal(pwrite(file, &byte, 1,
			                        0x1000 + (off_t)((random >> 20) % ((uint64_t)status.st_size - 0x1000))),
			                 1);
		}
		close(file);
		symbols = open_program("broken");
		for (uint64_t address = BASE + 0x1000; address < BASE + 0x2000; address += 7)
			fm_symbols_find(symbols, address, &names);
		fm_symbols_destroy(symbols);
	}
}

static int remove_folder(void **state)
{
	(void)state;
	return shell("cd / && rm -rf %s", folder) ? 0 : -1;
}

/* Lines of headers are given as the line that uses them, in any layout of the file. */
static void lines_of_libraries(void **unused)
{
	static const char *const layouts[] = {"-O2", "-O2 -Wl,--section-start=.text=0x400000"};

	(void)unused;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		struct fm_symbols *symbols;
		struct fm_location_names names;
		struct fm_error error;
		uint64_t begin, end, table;
		unsigned inside = 0;
		unsigned long address, offset;
		char path[256], command[512];
		FILE *pipe;

		build("g++", layouts[i], "library.cc", "library");
		snprintf(path, sizeof(path), "%s/library", folder);
		/* the segment of .text, as a process maps it */
		snprintf(command, sizeof(command), "readelf -lW %s | awk '$1 == \"LOAD\" && / E / { print $3, $2 }'",
		         path);
		pipe = popen(command, "r");
		assert_non_null(pipe);
		assert_int_equal(fscanf(pipe, "%lx %lx", &address, &offset), 2);
		pclose(pipe);
		find_symbol("library", "_Z5totalRKSt6vectorIlSaIlEE", &begin, &end);
		find_table("library", "an_unsized_table", &table);
		assert_int_equal(fm_symbols_create(&symbols, &error), 0);
		fm_symbols_add(symbols, path, BASE + address / 4096 * 4096, BASE + 0x800000, offset / 4096 * 4096);
		fm_symbols_ready(symbols);
		for (uint64_t at = begin; at < end; at++) {
			fm_symbols_find(symbols, at, &names);
			assert_memory_equal(names.function, "total(", 6);
			assert_true(ends_with(names.file, "/library.cc"));
			assert_string_equal(names.inlined, "");
			inside += names.frame_count > 1 && names.line == marked_line("library.cc", "total");
		}
		assert_in_range(inside, 1, end - begin);
		fm_symbols_find(symbols, table + 8, &names);
		assert_string_not_equal(names.function, "an_unsized_table");
		fm_symbols_destroy(symbols);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(inlined_calls_are_a_chain),
	    cmocka_unit_test(long_chains_keep_both_ends),
	    cmocka_unit_test(separate_debug_files),
	    cmocka_unit_test(debug_files_by_name),
	    cmocka_unit_test(common_debug_files),
	    cmocka_unit_test(network_is_not_asked),
	    cmocka_unit_test(names_of_cxx),
	    cmocka_unit_test(lines_of_libraries),
	    cmocka_unit_test(names_of_fortran),
	    cmocka_unit_test(broken_files),
	};

	if (!mkdtemp(folder))
		return 1;
	return cmocka_run_group_tests(tests, NULL, remove_folder);
}
