/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/qemu/execute.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/qemu/guest.h"
#include "engine/qemu/samples.h"
#include "engine/qemu/state.h"
#include "engine/program.h"

enum { TEXT = 131072, /* the kernel's limit for one */ LIST = 65536, OPTIONS = 4096 };

static char options[OPTIONS]; /* as given, without the result file */

void fm_execute_remember(int argc, char **argv)
{
	size_t used = 0;

	for (int i = 0; i < argc && used < sizeof(options); i++)
		if (strncmp(argv[i], "out=", 4) && strncmp(argv[i], "first=", 6) && strncmp(argv[i], "executed=", 9))
			used += (size_t)snprintf(options + used, sizeof(options) - used, ",%s", argv[i]);
	if (used >= sizeof(options))
		options[0] = 0;
}

static char *copy_text(uint64_t address)
{
	char *text = malloc(TEXT + 1), *exact;
	size_t length = 0;

	/* in growing parts: most are short */
	for (size_t part = 256; text && length < TEXT; part = 4096) {
		size_t got;

		if (part > TEXT - length)
			part = TEXT - length;
		got = fm_guest_copy(text + length, part, address + length);
		if (memchr(text + length, 0, got)) {
			exact = realloc(text, strlen(text) + 1);
			return exact ? exact : text;
		}
		if (got < part)
			break;
		length += got;
	}
	free(text);
	return NULL;
}

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): see fm_execute_follow() */
/* A list of texts ended by NULL, with room for `before` more in front. What is not readable: NULL. */
static char **copy_list(uint64_t address, unsigned before, size_t *ret_count)
{
	char **list = calloc(before + 16, sizeof(*list));
	size_t room = 15, count = 0;

	if (!list)
		return NULL;
	for (; address; count++) {
		uint64_t text;

		if (count == LIST || fm_guest_copy(&text, sizeof(text), address + 8 * count) != sizeof(text))
			return NULL;
		if (!text)
			break;
		if (count == room) {
			char **larger = realloc(list, (before + 2 * room + 1) * sizeof(*list));

			if (!larger)
				return NULL;
			list = larger;
			room *= 2;
		}
		list[before + count] = copy_text(text);
		if (!list[before + count])
			return NULL;
	}
	list[before + count] = NULL;
	*ret_count = count;
	return list;
}

/* Takes LD_PRELOAD out of the list: it is for the program, with Fathom's own library in it, and not for QEMU. QEMU's
   option -E passes it on, in which a comma is the end. NULL: there is none. */
static char *take_preload(char **variables)
{
	char *preload = NULL;

	for (; *variables; variables++) {
		if (!preload && !strncmp(*variables, "LD_PRELOAD=", 11) && !strchr(*variables, ','))
			preload = *variables;
		if (preload)
			variables[0] = variables[1];
		if (!*variables)
			break;
	}
	return preload;
}

/* The process is about to become another one, or to go on in a path of no return: what is allocated here is not given
   back. */
void fm_execute_follow(uint64_t path, uint64_t arguments, uint64_t environment)
{
	static unsigned executions;
	enum { BEFORE = 10 + 2 * FM_PROGRAM_INTERPRETERS };
	struct fm_program how;
	struct fm_error error;
	struct stat information;
	Dl_info ourselves;
	char emulator[FM_PROGRAM_PATH], plugin[2 * FM_PROGRAM_PATH + OPTIONS];
	char *program = copy_text(path), **list, **variables, **at;
	char *preload;
	const char *name;
	size_t count, variable_count;
	ssize_t length = readlink("/proc/self/exe", emulator, sizeof(emulator) - 1);

	/* to the kernel that is QEMU */
	if (program && (!strcmp(program, "/proc/self/exe") || !strcmp(program, "/proc/thread-self/exe")))
		program = strdup(fm_engine.account->results->program);
	if (!program || length <= 0 || !*options || !dladdr(fm_execute_follow, &ourselves) ||
	    stat(program, &information) || !S_ISREG(information.st_mode) || access(program, X_OK) ||
	    fm_program_inspect(program, &how, &error))
		return;
	emulator[length] = 0;
	name = strrchr(emulator, '/');
	/* a privilege would be lost, and another processor's program needs another QEMU */
	if (information.st_mode & (S_ISUID | S_ISGID) || strcmp(name ? name + 1 : emulator, how.emulator))
		return;
	list = copy_list(arguments, BEFORE, &count);
	variables = copy_list(environment, 0, &variable_count);
	if (!list || !variables)
		return;
	preload = fm_engine.every ? take_preload(variables) : NULL;
	snprintf(plugin, sizeof(plugin), "%s,out=%s.%d.%u,first=%s,executed=1%s", ourselves.dli_fname,
	         fm_engine.results_path, (int)getpid(), executions++, fm_engine.first_path, options);
	/* from the back: the program's own first argument is a name, which -0 keeps */
	at = list + BEFORE;
	name = count && !how.interpreters ? at[0] : program;
	at += count ? 1 : 0;
	*--at = program;
	for (unsigned i = 0; i < how.interpreters; i++) {
		if (*how.argument[i])
			*--at = how.argument[i];
		*--at = how.interpreter[i];
	}
	if (!how.interpreters) {
		*--at = (char *)name;
		*--at = "-0";
	}
	if (preload) {
		*--at = preload;
		*--at = "-E";
	}
	*--at = plugin;
	*--at = "-plugin";
	*--at = "max";
	*--at = "-cpu";
	*--at = emulator;
	/* not among those that were not followed */
	fm_engine.account->results->exec_count--;
	fm_samples_end();
	execve(emulator, at, variables);
	fm_samples_go_on();
	fm_engine.account->results->exec_count++;
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */
